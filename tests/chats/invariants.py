"""What must hold after every transition, checked from rows alone: nothing here uses the code under test."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.chats.change import Change
from holdfast.chats.commands import (
    BeginAttempt,
    Command,
    Create,
    Decide,
    DeleteQueued,
    Edit,
    EditQueued,
    FinishCall,
    MoveQueued,
    Promote,
    Send,
    Stop,
)
from holdfast.chats.states import State, state_of
from holdfast.chats.view import Queued, View
from holdfast.core.ids import CallId, ChatId, QueueItemId
from holdfast.core.messages import Message
from holdfast.core.parts import Notice, Parts, Text, ToolCall, ToolResult
from tests.chats.machine import BUSY, Machine

TABLES = (
    "chats",
    "settings",
    "messages",
    "queue",
    "inbox",
    "calls",
    "outputs",
    "steps",
    "turns",
    "deliveries",
    "keys",
    "workers",
)
Tables = dict[str, dict[Any, Any]]


def tables_of(machine: Machine) -> Tables:
    """A copy of all rows."""
    return {name: dict(getattr(machine, name)) for name in TABLES}


def rows(tables: Tables, name: str, chat_id: ChatId) -> dict[Any, Any]:
    return {key: row for key, row in tables[name].items() if key[0] == chat_id}


# --- of one transition ---


def check_counters(before: Tables, after: Tables, change: Change, commands: Sequence[Command]) -> None:
    """Counters move as the table in the design says and never otherwise."""
    chat_id = change.chat_id
    old, new = before["chats"].get(chat_id), after["chats"][chat_id]
    history_moved = rows(before, "messages", chat_id) != rows(after, "messages", chat_id)
    queue_moved = rows(before, "queue", chat_id) != rows(after, "queue", chat_id)
    if change.is_empty:
        assert before == after
        return
    if new.version == change.before:
        # Only others of the family moved.
        assert old == new
        return
    assert new.version == (old.version if old else 0) + 1
    assert (new.history_version == new.version) == history_moved
    assert (new.queue_version == new.version) == queue_moved
    assert (new.retry_version == new.version) == ((old.retry if old else None) != new.retry)
    for name in ("messages", "calls", "steps", "turns"):
        for key, row in rows(after, name, chat_id).items():
            assert (row.revision == new.version) == (before[name].get(key) != row)
    begun = sum(isinstance(command, BeginAttempt) for command in commands)
    assert new.attempt == begun + (0 if history_moved or old is None else old.attempt)
    if old is not None and old.attempt != new.attempt:
        assert new.retry is None


def check_message_ids(before: Tables, change: Change) -> None:
    known = [message.id for message in rows(before, "messages", change.chat_id).values()]
    ids = [*sorted(known)[-1:], *(message.id for message in change.messages)]
    assert ids == sorted(set(ids))


def check_queue(before: Tables, after: Tables, change: Change, commands: Sequence[Command]) -> None:
    """First in, first out, except where somebody moved, promoted, interrupted or deleted."""
    chat_id = change.chat_id
    old, new = _queue(before, chat_id), _queue(after, chat_id)
    old_ids, new_ids = [item.id for item in old], [item.id for item in new]
    entered = [message.queue_item_id for message in change.messages if message.queue_item_id is not None]
    assert len(set(entered)) == len(entered)
    cleared = any(isinstance(command, (Edit, Stop)) for command in commands)
    deleted = [command.item_id for command in commands if isinstance(command, DeleteQueued)]
    gone = [item_id for item_id in old_ids if item_id not in new_ids]
    assert all(item_id in entered or item_id in deleted or cleared for item_id in gone)
    assert all(item_id in gone for item_id in entered)
    moved = [command.item_id for command in commands if isinstance(command, (MoveQueued, Promote))]
    assert _without(old_ids, [*gone, *moved]) == _without(new_ids, [*moved, *_added(old_ids, new_ids)])
    _check_added(old_ids, new, commands)
    _check_entered(old, entered, [*deleted, *moved], commands)


def _queue(tables: Tables, chat_id: ChatId) -> list[Queued]:
    return sorted(rows(tables, "queue", chat_id).values(), key=lambda item: item.place)


def _without(ids: Sequence[QueueItemId], left_out: Sequence[QueueItemId]) -> list[QueueItemId]:
    return [item_id for item_id in ids if item_id not in left_out]


def _added(old: Sequence[QueueItemId], new: Sequence[QueueItemId]) -> list[QueueItemId]:
    return [item_id for item_id in new if item_id not in old]


def _check_added(old: Sequence[QueueItemId], new: Sequence[Queued], commands: Sequence[Command]) -> None:
    for position, item in enumerate(new):
        if item.id in old:
            continue
        sent = [command for command in commands if isinstance(command, Send)]
        assert len(sent) == 1
        if sent[0].busy == "interrupt":
            assert all(earlier.busy == "interrupt" for earlier in new[:position])
            assert all(later.busy != "interrupt" for later in new[position + 1 : position + 2])
        else:
            assert position == len(new) - 1
    assert len(new) <= 20


def _check_entered(
    old: Sequence[Queued],
    entered: Sequence[QueueItemId],
    named: Sequence[QueueItemId],
    commands: Sequence[Command],
) -> None:
    """Who enters is the head, or a steer in its order, or was named by the command."""
    if any(isinstance(command, BeginAttempt) and command.admit for command in commands):
        assert entered == [item.id for item in old if item.busy == "steer" and not item.held]
    elif entered:
        waiting = _without([item.id for item in old], named)
        assert entered[0] in (*waiting[:1], *named)
        assert len(entered) == 1


# --- of a chat ---


def check_chat(machine: Machine, view: View) -> None:
    chat = view.chat
    assert state_of(view) is not State.INVALID
    assert (chat.last_error is not None) == (chat.status == "error")
    if chat.status in ("idle", "error"):
        assert chat.retry is None
        assert chat.compaction is None
    if chat.status not in ("running", "interrupting"):
        assert not view.calls or chat.status == "requires_action"
        assert not any(call.abandoned for call in view.calls)
        assert not any(item.busy == "steer" for item in view.queue) or chat.status == "requires_action"
    turns = [turn for (of, _), turn in machine.turns.items() if of == chat.id]
    unfinished = [turn.number for turn in turns if turn.outcome is None]
    assert unfinished == ([chat.turn] if chat.status in BUSY else [])
    messages = [message for (of, _), message in sorted(machine.messages.items()) if of == chat.id]
    assert len(messages) == chat.message_count
    assert max((message.id for message in messages), default=None) == chat.last_message_id
    check_history(messages, view)
    check_deliveries(machine, view)


def check_history(messages: Sequence[Message], view: View) -> None:
    """Each call has exactly one result, right after the message that asked, before anything else follows.
    Only the newest message of a busy chat may still wait for results, and exactly for its open calls'."""
    waiting: list[CallId] = []
    for message in messages:
        if message.removed:
            continue
        answers = [part.call_id for part in message.parts if isinstance(part, ToolResult)]
        if waiting or answers:
            assert message.role == "tool"
            assert sorted(answers) == sorted(waiting)
        waiting = calls_of(message.parts)
        assert not (waiting and message.role != "assistant")
    open_calls = [call.call_id for call in view.calls if not call.abandoned]
    assert sorted(waiting) == sorted(open_calls)
    results = Counter(
        part.call_id for message in messages for part in message.parts if isinstance(part, ToolResult)
    )
    asked = Counter(call_id for message in messages for call_id in calls_of(message.parts))
    assert all(count == 1 for count in asked.values())
    assert all(count == 1 for count in results.values())
    assert asked.keys() - results.keys() == set(open_calls)
    assert results.keys() <= asked.keys()


def calls_of(parts: Parts) -> list[CallId]:
    return [part.call_id for part in parts if isinstance(part, ToolCall) and not part.provider_executed]


def check_deliveries(machine: Machine, view: View) -> None:
    """A parent is told of every end of a turn, compactions aside, once."""
    chat = view.chat
    told = sorted(key.turn for key in machine.deliveries if key.child_id == chat.id)
    ended = sorted(
        turn.number
        for (of, _), turn in machine.turns.items()
        if of == chat.id and turn.outcome is not None and turn.kind != "compaction"
    )
    assert told == (ended if chat.parent_id is not None else [])


# --- over a whole run ---


@dataclass
class Ledger:
    """What was promised: everything accepted is somewhere exactly once, an unsafe call starts once unless a
    person said to run it again, a notice enters once."""

    accepted: dict[ChatId, set[str]] = field(default_factory=dict[ChatId, set[str]])
    dropped: dict[ChatId, set[str]] = field(default_factory=dict[ChatId, set[str]])
    retried: Counter[tuple[ChatId, CallId]] = field(default_factory=Counter[tuple[ChatId, CallId]])
    # Keys of notices that a call told of before they entered.
    withdrawn: set[tuple[ChatId, str]] = field(default_factory=set[tuple[ChatId, str]])

    def note(self, before: Tables, change: Change, commands: Sequence[Command]) -> None:
        chat_id = change.chat_id
        accepted = self.accepted.setdefault(chat_id, set())
        dropped = self.dropped.setdefault(chat_id, set())
        for command in commands:
            match command:
                case Create(parts=parts) | Send(parts=parts):
                    accepted.add(said(parts))
                case Edit(parts=parts):
                    dropped.update(said(item.parts) for item in _queue(before, chat_id))
                    accepted.add(said(parts))
                case EditQueued(item_id=item_id, parts=parts):
                    dropped.add(said(before["queue"][chat_id, item_id].parts))
                    accepted.add(said(parts))
                case DeleteQueued(item_id=item_id):
                    dropped.add(said(before["queue"][chat_id, item_id].parts))
                case Stop():
                    dropped.update(said(item.parts) for item in _queue(before, chat_id))
                case FinishCall(consumes=consumes):
                    told = {key.notice_key for key in consumes}
                    waiting = [
                        notice
                        for (of, _), (notice, taken) in before["inbox"].items()
                        if of == chat_id and taken is None
                    ]
                    self.withdrawn |= {(chat_id, notice.key) for notice in waiting if notice.key in told}
                case Decide(call_id=call_id, verdict="retry"):
                    self.retried[chat_id, call_id] += 1
                case _:
                    pass
        for other in change.others:
            # An edit stops children; nothing else of another chat's queue is touched.
            stopped = [said(item.parts) for item in _queue(before, other.chat_id)]
            if any(isinstance(command, Edit) for command in commands):
                self.dropped.setdefault(other.chat_id, set()).update(stopped)

    def check(self, machine: Machine, chat_id: ChatId) -> None:
        messages = [message for (of, _), message in machine.messages.items() if of == chat_id]
        places = Counter(
            [
                *(said(message.parts) for message in messages if message.role == "user"),
                *(said(item.parts) for (of, _), item in machine.queue.items() if of == chat_id),
            ]
        )
        dropped = self.dropped.get(chat_id, set())
        for content in self.accepted.get(chat_id, set()):
            assert places[content] == (0 if content in dropped else 1), content
        for (of, call_id), call in machine.calls.items():
            if of == chat_id and call.effect == "unsafe":
                assert call.run <= 1 + self.retried[chat_id, call_id]
        notices = Counter(
            part.text for message in messages for part in message.parts if isinstance(part, Notice)
        )
        for (of, _), (notice, taken) in machine.inbox.items():
            if of == chat_id:
                out = taken is None or (chat_id, notice.key) in self.withdrawn
                assert notices[notice.text] == (0 if out else 1)


def said(parts: Parts) -> str:
    """The text of a user's message: in these tests each says something else."""
    return "".join(part.text for part in parts if isinstance(part, Text))
