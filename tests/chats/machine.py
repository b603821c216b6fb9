"""The pure machine: a store in memory, small enough to be trusted. It keeps the same rows as the real ones,
writes a change row by row, and builds every view again from rows: the view that a change predicts is compared
with what its rows give."""

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from holdfast.chats.change import Change, Refusal
from holdfast.chats.commands import Acquire, Command, DeliveryKey, Fence
from holdfast.chats.decide import decide
from holdfast.chats.facts import NOTHING, Facts, ForkPoint, Needs, Target, may_need_facts, needs
from holdfast.chats.view import Call, Delivery, Execution, InboxNotice, Queued, View
from holdfast.core.chats import Settings
from holdfast.core.clock import EPOCH, Clock
from holdfast.core.ids import CallId, ChatId, Ids, MessageId, NoticeId, QueueItemId, UserId, WorkerId
from holdfast.core.messages import Message
from holdfast.core.steps import Step, Turn
from holdfast.core.usage import Usage
from holdfast.store.interface import Applied, Once, Replayed
from holdfast.store.turn_times import TurnTimes

ONE_DAY = timedelta(hours=24)
BUSY = ("running", "interrupting", "requires_action")


class Machine:
    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids
        # As on disk: a lease is who has it and its number, when it ends is on the worker's row.
        self.chats: dict[ChatId, Execution] = {}
        self.settings: dict[ChatId, Settings] = {}
        self.messages: dict[tuple[ChatId, MessageId], Message] = {}
        self.queue: dict[tuple[ChatId, QueueItemId], Queued] = {}
        # With the version that took it into history.
        self.inbox: dict[tuple[ChatId, NoticeId], tuple[InboxNotice, int | None]] = {}
        self.calls: dict[tuple[ChatId, CallId], Call] = {}
        self.outputs: dict[tuple[ChatId, CallId, int], str] = {}
        self.steps: dict[tuple[ChatId, int, int], Step] = {}
        self.turns: dict[tuple[ChatId, int], Turn] = {}
        # With whether somebody took it.
        self.deliveries: dict[DeliveryKey, tuple[Delivery, bool]] = {}
        self.keys: dict[tuple[str, ...], tuple[str, int, bytes, datetime]] = {}
        self.workers: dict[WorkerId, datetime] = {}
        self._times = TurnTimes(self._clock)

    # --- the interface of a store ---

    async def transition(
        self,
        chat_id: ChatId,
        *commands: Command,
        fence: Fence | None = None,
        view: View | None = None,
        once: Once | None = None,
    ) -> Applied | Refusal | Replayed:
        now = self._clock.now()
        if view is not None and once is None and not may_need_facts(commands):
            change = decide(chat_id, view, commands, fence=fence, now=now, ids=self._ids)
            # A refusal, or nothing to do, is only believed when it was decided on the present state.
            if isinstance(change, Change) and not change.is_empty and self._version(chat_id) == change.before:
                change = self._times.measured(change)
                self._write(change)
                return Applied(change)
        if once is not None and (earlier := self._answered(once, now)):
            return earlier
        before = self._view(chat_id)
        known = self._facts(chat_id, needs(commands, before), before)
        change = decide(chat_id, before, commands, fence=fence, facts=known, now=now, ids=self._ids)
        if isinstance(change, Refusal):
            return change
        if change.created is not None and change.after is not None:
            parent_id = change.after.chat.parent_id
            if parent_id is not None and parent_id not in self.chats:
                return Refusal(code="not_found", text="The parent of this chat no longer exists.")
        if not change.is_empty:
            change = self._times.measured(change)
            self._write(change)
        applied = Applied(change)
        if once is not None:
            self.keys[_scope(once)] = (once.fingerprint, *once.respond(applied), now)
        return applied

    async def acquire(
        self,
        worker_id: WorkerId,
        *,
        limit: int,
        agents_limit: int,
        skip_owners: Collection[UserId] = (),
    ) -> list[View]:
        now = self._clock.now()
        expires_at = self.workers.get(worker_id, EPOCH)
        if expires_at <= now:
            return []
        taken: list[View] = []
        for chat_id in list(self._free(now, limit, agents_limit, skip_owners)):
            command = Acquire(worker_id=worker_id, expires_at=expires_at)
            change = decide(chat_id, self._view(chat_id), (command,), now=now, ids=self._ids)
            assert isinstance(change, Change), change
            assert change.after is not None
            self._write(change)
            taken.append(change.after)
        return taken

    async def register_worker(self, name: str, lease_seconds: float) -> WorkerId:
        del name
        now = self._clock.now()
        worker_id = WorkerId(self._ids.uuid7(now))
        self.workers[worker_id] = now + timedelta(seconds=lease_seconds)
        return worker_id

    def renew(self, worker_id: WorkerId, lease_seconds: float) -> bool:
        now = self._clock.now()
        if self.workers.get(worker_id, EPOCH) <= now:
            return False
        self.workers[worker_id] = now + timedelta(seconds=lease_seconds)
        return True

    async def retire(self, worker_id: WorkerId) -> None:
        self.workers[worker_id] = EPOCH

    async def view(self, chat_id: ChatId) -> View | None:
        return self._view(chat_id)

    async def close(self) -> None:
        pass

    # --- reading rows ---

    def _version(self, chat_id: ChatId) -> int:
        return self.chats[chat_id].version if chat_id in self.chats else 0

    def _view(self, chat_id: ChatId) -> View | None:
        chat = self.chats.get(chat_id)
        if chat is None:
            return None
        if chat.lease is not None:
            ends = self.workers.get(chat.lease.worker_id, EPOCH)
            chat = replace(chat, lease=replace(chat.lease, expires_at=ends))
        waiting = (item for (of, _), item in self.queue.items() if of == chat_id)
        notices = (
            notice for (of, _), (notice, taken) in self.inbox.items() if of == chat_id and taken is None
        )
        open_calls = (
            call for (of, _), call in self.calls.items() if of == chat_id and call.state != "answered"
        )
        return View(
            chat=chat,
            queue=tuple(sorted(waiting, key=lambda item: item.place)),
            inbox=tuple(sorted(notices, key=lambda notice: notice.id)),
            calls=tuple(sorted(open_calls, key=lambda call: (call.message_id, call.position))),
        )

    def _views(self, chat_ids: Collection[ChatId]) -> tuple[View, ...]:
        found = (self._view(chat_id) for chat_id in sorted(chat_ids))
        return tuple(view for view in found if view is not None)

    def _facts(self, chat_id: ChatId, wanted: Needs, before: View | None) -> Facts:
        if wanted is NOTHING:
            return Facts()
        history = [message for (of, _), message in sorted(self.messages.items()) if of == chat_id]
        target = next((message for message in history if message.id == wanted.edited), None)
        return Facts(
            sent={
                item_id: message.id
                for item_id in wanted.items
                for message in history
                if message.queue_item_id == item_id
            },
            answered=frozenset(
                call_id
                for call_id in wanted.calls
                if (chat_id, call_id) in self.calls and self.calls[chat_id, call_id].state == "answered"
            ),
            target=None
            if target is None
            else Target(role=target.role, removed=target.removed, hidden=target.visibility == "model"),
            started_there=() if wanted.edited is None else self._started_from(chat_id, wanted.edited),
            key_seen=any(
                of == chat_id and notice.key == wanted.notice_key
                for (of, _), (notice, _) in self.inbox.items()
            ),
            over_budget=wanted.notice_key is not None and self._over_budget(chat_id),
            stopped=wanted.notice_key is not None and self._stopped(chat_id),
            deliveries=frozenset(
                key for key in wanted.deliveries if key in self.deliveries and not self.deliveries[key][1]
            ),
            family=self._family(before) if wanted.family and before is not None else (),
            subtree=self._below(chat_id) if wanted.subtree else (),
            history=None if wanted.fork is None else self._forked(wanted.fork),
        )

    def _started_from(self, chat_id: ChatId, message_id: MessageId) -> tuple[View, ...]:
        started: list[ChatId] = []
        for child in self.chats.values():
            call = self.calls.get((chat_id, child.parent_call_id)) if child.parent_call_id else None
            if child.parent_id == chat_id and call is not None and call.message_id >= message_id:
                started += [child.id, *self._below(child.id)]
        found = self._views(started)
        return tuple(each for each in found if each.chat.status in BUSY or each.queue)

    def _below(self, chat_id: ChatId) -> tuple[ChatId, ...]:
        found: list[ChatId] = []
        for child in self.chats.values():
            if child.parent_id == chat_id:
                found += [child.id, *self._below(child.id)]
        return tuple(found)

    def _family(self, member: View) -> tuple[View, ...]:
        root_id = member.chat.root_id
        others = (chat.id for chat in self.chats.values() if chat.root_id == root_id)
        return self._views([chat_id for chat_id in others if chat_id != member.chat.id])

    def _forked(self, point: ForkPoint) -> tuple[Message, ...] | None:
        if point.source_id not in self.chats:
            return None
        history = self.history(point.source_id)
        if point.up_to is None:
            return history
        ids = [message.id for message in history]
        if point.up_to not in ids:
            return None
        end = ids.index(point.up_to) + 1
        if history[end - 1].compaction:
            while end < len(history) and (history[end].compaction or history[end].visibility == "model"):
                end += 1
        return history[:end]

    def history(self, chat_id: ChatId) -> tuple[Message, ...]:
        """What was not removed, in order."""
        of_chat = (message for (of, _), message in sorted(self.messages.items()) if of == chat_id)
        return tuple(message for message in of_chat if not message.removed)

    def _stopped(self, chat_id: ChatId) -> bool:
        chat = self.chats.get(chat_id)
        if chat is None or chat.parent_id is None:
            return False
        return self.turns[chat_id, chat.turn].outcome == "interrupted"

    def _over_budget(self, chat_id: ChatId) -> bool:
        above: ChatId | None = chat_id
        while above is not None and above in self.chats:
            budget = self.settings[above].budget
            spent = Usage()
            for member in (above, *self._below(above)):
                spent += self.chats[member].usage
            if budget is not None and budget.tokens is not None and spent.total >= budget.tokens:
                return True
            above = self.chats[above].parent_id
        return False

    def _answered(self, once: Once, now: datetime) -> Replayed | Refusal | None:
        if _scope(once) not in self.keys:
            return None
        fingerprint, status, body, at = self.keys[_scope(once)]
        if at <= now - ONE_DAY:
            return None
        if fingerprint != once.fingerprint:
            return Refusal(
                code="idempotency_mismatch",
                text="This idempotency key was used for another request. Use a new key for a new request.",
            )
        return Replayed(status, body)

    def _free(
        self, now: datetime, limit: int, agents_limit: int, skip_owners: Collection[UserId]
    ) -> Iterator[ChatId]:
        """Those that are interrupting whatever the limits are; then by kind, longest waiting first."""
        waiting = [
            chat
            for chat in sorted(self.chats.values(), key=lambda chat: (chat.active_at, chat.id))
            if chat.status in ("running", "interrupting")
            and (chat.lease is None or self.workers.get(chat.lease.worker_id, EPOCH) <= now)
        ]
        runnable = [chat for chat in waiting if chat.status == "running" and chat.owner_id not in skip_owners]
        agents = [chat for chat in runnable if chat.is_agent]
        top_level = [chat for chat in runnable if chat not in agents]
        for chat in (
            *(chat for chat in waiting if chat.status == "interrupting"),
            *top_level[:limit],
            *agents[:agents_limit],
        ):
            yield chat.id

    # --- writing rows ---

    def _write(self, change: Change) -> None:
        """Each row by itself; then the view made of rows must be the one that was decided."""
        if change.after is None:
            self._delete(change.deleted)
        elif change.after.chat.version != change.before:
            chat, chat_id = change.after.chat, change.chat_id
            assert self._version(chat_id) == change.before, "the guard missed"
            self.chats[chat_id] = chat
            if change.created is not None:
                assert change.before == 0
                self.settings[chat_id] = change.created
            self._write_rows(change, chat.version)
        for delivery in change.deliveries:
            _insert(
                self.deliveries,
                DeliveryKey(child_id=delivery.child_id, turn=delivery.turn),
                (delivery, False),
            )
        for key in change.deliveries_taken:
            delivery, taken = self.deliveries[key]
            assert not taken, "a child's end was handed over twice"
            self.deliveries[key] = (delivery, True)
        for other in change.others:
            self._write(other)
        assert _timeless(self._view(change.chat_id)) == _timeless(change.after)

    def _write_rows(self, change: Change, version: int) -> None:
        chat_id = change.chat_id
        if change.removed_from is not None:
            for key, message in self.messages.items():
                if key[0] == chat_id and message.id >= change.removed_from and not message.removed:
                    self.messages[key] = replace(message, removed=True, revision=version)
        for message in change.messages:
            _insert(self.messages, (chat_id, message.id), message)
        for item_id in change.queue_dropped:
            del self.queue[chat_id, item_id]
        for item in change.queue_put:
            self.queue[chat_id, item.id] = item
        for notice in change.inbox_put:
            assert all(of != chat_id or known.key != notice.key for (of, _), (known, _) in self.inbox.items())
            _insert(self.inbox, (chat_id, notice.id), (notice, None))
        for notice_id in change.inbox_taken:
            notice, taken = self.inbox[chat_id, notice_id]
            assert taken is None, "a notice entered history twice"
            self.inbox[chat_id, notice_id] = (notice, version)
        for call in change.calls_put:
            known = self.calls.get((chat_id, call.call_id))
            assert known is None or known.state != "answered", "a call that was answered is open again"
            self.calls[chat_id, call.call_id] = call
        for output in change.full_outputs:
            self.outputs[chat_id, output.call_id, output.run] = output.text
        for step in change.steps:
            _insert(self.steps, (chat_id, step.turn, step.number), step)
        for turn in change.turns:
            _insert(self.turns, (chat_id, turn.number), turn)
        for end in change.turns_ended:
            turn = self.turns[chat_id, end.number]
            assert turn.outcome is None, "a turn ended twice"
            self.turns[chat_id, end.number] = replace(
                turn,
                finished_at=end.finished_at,
                outcome=end.outcome,
                failure=end.failure,
                revision=end.revision,
            )

    def _delete(self, gone: Collection[ChatId]) -> None:
        _drop(self.messages, gone)
        _drop(self.queue, gone)
        _drop(self.inbox, gone)
        _drop(self.calls, gone)
        _drop(self.outputs, gone)
        _drop(self.steps, gone)
        _drop(self.turns, gone)
        for chat_id in gone:
            del self.chats[chat_id], self.settings[chat_id]
        for key, (delivery, taken) in list(self.deliveries.items()):
            if delivery.parent_id in gone and not taken:
                del self.deliveries[key]


def _drop(table: dict[Any, Any], gone: Collection[ChatId]) -> None:
    for key in [key for key in table if key[0] in gone]:
        del table[key]


def _insert(table: dict[Any, Any], key: object, row: object) -> None:
    assert key not in table, f"{key} is there already"
    table[key] = row


def _timeless(view: View | None) -> View | None:
    """Without the end of the lease: an owner may have decided on a view from before it renewed."""
    if view is None or view.chat.lease is None:
        return view
    return replace(view, chat=replace(view.chat, lease=replace(view.chat.lease, expires_at=EPOCH)))


def _scope(once: Once) -> tuple[str, ...]:
    return (once.user_id, once.method, once.path, once.key)
