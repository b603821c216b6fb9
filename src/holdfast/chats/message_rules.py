"""Rules for what a person says to a chat: send, interrupt, stop, compact, retry, edit."""

from holdfast.chats.change import Refusal
from holdfast.chats.commands import Compact, Edit, Interrupt, RetryTurn, Send, Stop
from holdfast.chats.draft import Draft
from holdfast.chats.queue_rules import append, insert_interrupt
from holdfast.chats.view import Queued
from holdfast.core.ids import QueueItemId

_EMPTY = Refusal(code="invalid_input", text="A message needs at least one part.", field="content")


def send(draft: Draft, command: Send) -> Refusal | None:
    if not command.parts:
        return _EMPTY
    if command.busy == "steer" and (command.model or command.effort):
        return Refusal(
            code="invalid_input",
            text="A steer joins the running turn and cannot change its model or effort.",
            field="model" if command.model else "effort",
        )
    match draft.chat.status:
        case "idle":
            # Held items block the queue; `send now` skips them.
            return _enter(draft, command)
        case "error":
            if not draft.queue or draft.queue[0].held or command.busy == "interrupt":
                return _enter(draft, command)
            return _queue(draft, command) or _start_head(draft)
        case "requires_action" if command.busy == "interrupt":
            draft.settle("replaced")
            draft.end_turn("interrupted")
            return _enter(draft, command)
        case "running" if command.busy == "interrupt":
            draft.put(status="interrupting")
            return _queue(draft, command)
        case _:
            return _queue(draft, command)


def _enter(draft: Draft, command: Send) -> None:
    draft.answer = draft.enter(
        command.parts,
        command.created_by,
        command.model,
        command.effort,
        trace_parent=command.trace_parent,
    )


def _start_head(draft: Draft) -> None:
    draft.enter_item(draft.queue[0])


def _queue(draft: Draft, command: Send) -> Refusal | None:
    limit = command.queue_limit
    if len(draft.queue) >= limit:
        return Refusal(
            code="queue_full",
            text=f"{limit} messages wait already. Delete one, or wait until the next turn starts.",
        )
    # There is no turn to join while it is being interrupted or has failed: a steer then becomes a plain item.
    joins = draft.chat.status in ("running", "requires_action")
    item = Queued(
        id=QueueItemId(draft.ids.uuid7(draft.now, max((item.id for item in draft.queue), default=None))),
        parts=command.parts,
        busy="queue" if command.busy == "steer" and not joins else command.busy,
        place=0,
        model=command.model,
        effort=command.effort,
        created_by=command.created_by,
        created_at=draft.now,
        trace_parent=command.trace_parent,
    )
    draft.answer = insert_interrupt(draft, item) if command.busy == "interrupt" else append(draft, item)
    return None


def interrupt(draft: Draft, _: Interrupt) -> None:
    match draft.chat.status:
        case "running":
            draft.put(status="interrupting")
        case "requires_action":
            draft.settle("interrupted")
            draft.end_turn("interrupted")
            draft.rest()
        case _:
            pass


def stop(draft: Draft, _: Stop) -> None:
    draft.queue = []
    if draft.chat.status in ("running", "requires_action"):
        interrupt(draft, Interrupt())


def compact(draft: Draft, command: Compact) -> None:
    chat = draft.chat
    draft.start_turn("compaction", chat.turn_model, chat.turn_effort, command.trace_parent)
    draft.put(compaction="manual")


def retry(draft: Draft, command: RetryTurn) -> None:
    """A new turn without a new message. It is delivered to the parent like any other."""
    if draft.chat.turn_kind == "compaction":
        return compact(draft, Compact(trace_parent=command.trace_parent))
    chat = draft.chat
    draft.start_turn("retry", chat.turn_model, chat.turn_effort, command.trace_parent)
    return None


def edit(draft: Draft, command: Edit) -> Refusal | None:
    if (refusal := not_a_target(draft, "Only a message of a user can be edited.")) is not None:
        return refusal
    if not command.parts:
        return _EMPTY
    busy = draft.chat.status not in ("idle", "error")
    draft.settle("edited", removed=True)
    draft.removed_from = command.message_id
    draft.queue = []
    if busy:
        draft.end_turn("interrupted")
    draft.answer = draft.enter(
        command.parts,
        command.created_by,
        command.model,
        command.effort,
        trace_parent=command.trace_parent,
    )
    stop_children(draft)
    return None


def not_a_target(draft: Draft, only_users: str) -> Refusal | None:
    """Why history cannot be cut at the message that was named."""
    target = draft.facts.target
    if target is None:
        return Refusal(code="not_found", text="There is no such message in this chat.")
    if target.role != "user" or target.hidden:
        return Refusal(code="invalid_input", text=only_users, field="message_id")
    if target.removed:
        return Refusal(code="wrong_state", text="This message was removed before, by an edit or a rewind.")
    return None


def stop_children(draft: Draft) -> None:
    """Those that were started in the history that is removed."""
    for child in draft.facts.started_there:
        below = Draft(child.chat.id, child, draft.facts, draft.now, draft.ids)
        stop(below, Stop())
        if not (stopped := below.finish()).is_empty:
            draft.others += (stopped,)
