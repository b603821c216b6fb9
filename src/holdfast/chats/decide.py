"""The one way a chat's execution state changes: `decide(view, commands) -> change | refusal`. Pure: the same
view, commands, facts, moment and ids give the same answer."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from holdfast.chats import (
    action_rules,
    family_rules,
    hook_rules,
    message_rules,
    queue_rules,
    rewind_rules,
    worker_rules,
)
from holdfast.chats.change import Change, Refusal
from holdfast.chats.commands import Command, Fence, Import, ItemCommand, name_of
from holdfast.chats.draft import Draft
from holdfast.chats.facts import NO_FACTS, Facts
from holdfast.chats.states import State
from holdfast.chats.table import TABLE
from holdfast.chats.view import View
from holdfast.core.errors import Bug
from holdfast.core.ids import ChatId, Ids
from holdfast.core.text import clean_deep

RULES: dict[str, Callable[[Draft, Any], Refusal | None]] = {
    "create": family_rules.create,
    "fork": family_rules.fork,
    "import": family_rules.import_chat,
    "send_queue": message_rules.send,
    "send_interrupt": message_rules.send,
    "send_steer": message_rules.send,
    "promote": queue_rules.promote,
    "move_queued": queue_rules.move,
    "edit_queued": queue_rules.edit_queued,
    "hold_queued": queue_rules.hold,
    "release_queued": queue_rules.release,
    "delete_queued": queue_rules.delete_queued,
    "interrupt": message_rules.interrupt,
    "stop": message_rules.stop,
    "submit_results": action_rules.submit_results,
    "decide": action_rules.decide,
    "compact": message_rules.compact,
    "retry": message_rules.retry,
    "edit": message_rules.edit,
    "rewind": rewind_rules.rewind,
    "restore": rewind_rules.restore,
    "set_mode": action_rules.set_mode,
    "archive": family_rules.archive,
    "unarchive": family_rules.unarchive,
    "reconcile": family_rules.reconcile,
    "delete": family_rules.delete,
    "lapse_holds": queue_rules.lapse_holds,
    "expire_calls": action_rules.expire_calls,
    "notify": family_rules.notify,
    "acquire": worker_rules.acquire,
    "release": worker_rules.release,
    "begin_attempt": worker_rules.begin_attempt,
    "note_retry": worker_rules.note_retry,
    "request_compaction": worker_rules.request_compaction,
    "note_step": worker_rules.note_step,
    "commit_step": worker_rules.commit_step,
    "judge_calls": hook_rules.judge_calls,
    "block_prompt": hook_rules.block_prompt,
    "start_calls": worker_rules.start_calls,
    "finish_call": worker_rules.finish_call,
    "require_action": worker_rules.require_action,
    "finish_turn": worker_rules.finish_turn,
    "finish_interrupt": worker_rules.finish_interrupt,
    "fail_turn": worker_rules.fail_turn,
}


def decide(
    chat_id: ChatId,
    view: View | None,
    commands: Sequence[Command],
    *,
    fence: Fence | None = None,
    facts: Facts = NO_FACTS,
    now: datetime,
    ids: Ids,
) -> Change | Refusal:
    """All commands or none. The fence is compared with the view before the first command. Texts are cleaned
    here, once: rules and stores only see text that every engine can carry."""
    if fence is not None and (broken := _broken(fence, view)):
        return Refusal(code="stale", text=f"The work is out of date: {broken}.")
    draft = Draft(chat_id, view, facts, now, ids)
    state = draft.state
    for command in _cleaned(commands):
        reached = _decide_one(draft, command, state)
        if isinstance(reached, Refusal):
            return reached
        state = reached
    return draft.finish()


def _cleaned(commands: Sequence[Command]) -> tuple[Command, ...]:
    """An import was cleaned piece by piece where it was read: doing it here would be one long step."""
    if any(isinstance(command, Import) for command in commands):
        return tuple(commands)
    return clean_deep(tuple(commands))


def _decide_one(draft: Draft, command: Command, state: State) -> State | Refusal:
    """The state the command leads to."""
    name = name_of(command)
    if isinstance(command, ItemCommand):
        if state is State.NONE:
            return _no_chat()
        if refusal := queue_rules.missing(draft, command):
            return refusal
    targets = TABLE[name].get(state)
    if targets is None:
        return _no_chat() if state is State.NONE else _wrong_state(name, state)
    if refusal := RULES[name](draft, command):
        return refusal
    reached = draft.state
    if reached not in targets:
        raise Bug(f"{name} led from {state.value!r} to {reached.value!r}, which the table does not list")
    return reached


def _broken(fence: Fence, view: View | None) -> str | None:
    if view is None:
        return "the chat is gone"
    chat = view.chat
    if chat.lease is None or chat.lease.number != fence.lease_number:
        return "another worker holds the lease"
    if fence.history_version is not None and chat.history_version != fence.history_version:
        return "the history has changed"
    if fence.status is not None and chat.status != fence.status:
        return f"the chat is {chat.status}"
    if fence.attempt is not None and chat.attempt != fence.attempt:
        return "another attempt has begun"
    return None


def _no_chat() -> Refusal:
    return Refusal(code="not_found", text="There is no such chat.")


def _wrong_state(name: str, state: State) -> Refusal:
    advice = " Take it out of the archive first." if "archived" in state.value else ""
    return Refusal(
        code="wrong_state",
        text=f"{name} is not possible while the chat is {state.value}.{advice}",
        data={"command": name, "state": state.value},
    )
