"""Drives the pure machine, and any number of stores beside it, with the same commands, ids and clock: the
same answers, the same rows, and the invariants after every step."""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, fields
from dataclasses import replace as replaced
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from holdfast.chats.change import Change, Refusal
from holdfast.chats.commands import BeginAttempt, Command, Delete, Fence, name_of
from holdfast.chats.view import Lease, View
from holdfast.core.clock import EPOCH
from holdfast.core.ids import ChatId, WorkerId
from holdfast.store.interface import Applied, Once, Replayed
from tests.chats.invariants import (
    Ledger,
    Tables,
    check_chat,
    check_counters,
    check_message_ids,
    check_queue,
    tables_of,
)
from tests.chats.machine import Machine
from tests.chats.making import NOW, CountedIds
from tests.store.world import renewed

T = TypeVar("T")
Answer = Applied | Refusal | Replayed
LEASE_SECONDS = 15.0
# As SQLite writes it.
FOR_EVER = datetime(9999, 1, 1, tzinfo=UTC)
COMPARE_EVERY = 7


class ManualClock:
    def __init__(self, moment: datetime = NOW, *, only_forward: bool = False) -> None:
        self.moment = moment
        self.only_forward = only_forward

    def now(self) -> datetime:
        return self.moment

    def elapsed(self) -> float:
        return self.moment.timestamp()

    def advance(self, seconds: float) -> None:
        """SQLite judges leases by a clock that is never set back, the machine by this one: for both, time
        only goes forward. Otherwise see `store/test_leases` and `worker/test_clocks`."""
        if seconds > 0 or not self.only_forward:
            self.moment += timedelta(seconds=seconds)


class Driven(Protocol):
    """What a store must offer to be driven."""

    async def transition(
        self,
        chat_id: ChatId,
        *commands: Command,
        fence: Fence | None = None,
        view: View | None = None,
        once: Once | None = None,
    ) -> Answer: ...

    async def acquire(self, worker_id: WorkerId, *, limit: int, agents_limit: int) -> list[View]: ...

    async def register_worker(self, name: str, lease_seconds: float) -> WorkerId: ...

    def renew(self, worker_id: WorkerId, lease_seconds: float) -> bool: ...

    async def retire(self, worker_id: WorkerId) -> None: ...


@dataclass(frozen=True)
class Peer:
    """A store that is driven beside the pure machine. `tables` reads all its rows."""

    name: str
    store: Driven
    ids: CountedIds
    tables: Callable[[], Coroutine[Any, Any, Tables]]


def finished(work: Coroutine[Any, Any, T]) -> T:
    """The answer of a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("the pure machine waited for something")


class Driver:
    def __init__(
        self,
        clock: ManualClock,
        peers: Sequence[Peer] = (),
        run: Callable[[Coroutine[Any, Any, Any]], Any] = finished,
        first_number: int = 1,
    ) -> None:
        self.clock = clock
        self.ledger = Ledger()
        # Counts what was asked. Ids, texts and keys are made of it: no two runs on one store share any.
        self.number = self.started = first_number
        self._ids = CountedIds()
        self.pure = Machine(clock, self._ids)
        self._known: set[ChatId] = set()
        self._peers = peers
        self._run = run

    # --- the same for all ---

    def ask(
        self,
        chat_id: ChatId,
        *commands: Command,
        fence: Fence | None = None,
        view: View | None = None,
        once: Once | None = None,
    ) -> Answer:
        """Asks everybody, compares, checks."""
        self._known.add(chat_id)
        before = tables_of(self.pure)
        answer = self._all(
            lambda store: store.transition(chat_id, *commands, fence=fence, view=view, once=once),
            f"{', '.join(name_of(command) for command in commands)} of {chat_id}",
        )
        if isinstance(answer, Applied):
            self._check(before, answer.change, commands)
        else:
            assert tables_of(self.pure) == before
        return answer

    def acquire(self, worker_id: WorkerId, limit: int, agents_limit: int) -> list[View]:
        before = tables_of(self.pure)
        taken = self._all(lambda store: _acquired(store, worker_id, limit, agents_limit), "acquire")
        for view in taken:
            old = before["chats"][view.chat.id]
            assert view.chat.version == old.version + 1
            assert view.chat.history_version == old.history_version
            assert view.chat.attempt == old.attempt
            assert view.chat.lease is not None
            assert view.chat.lease.number == view.chat.lease_number == old.lease_number + 1
            assert not any(call.state == "started" for call in view.calls)
            self._check_chat(view.chat.id)
        return taken

    def register_worker(self) -> WorkerId:
        return self._all(lambda store: store.register_worker("worker", LEASE_SECONDS), "register")

    def renew(self, worker_id: WorkerId) -> bool:
        return self._all(lambda store: _renewed(store, worker_id), "renew")

    def retire(self, worker_id: WorkerId) -> None:
        self._all(lambda store: store.retire(worker_id), "retire")

    def view(self, chat_id: ChatId) -> View | None:
        return finished(self.pure.view(chat_id))

    def clean_up(self) -> None:
        """Leaves nothing behind in stores that live on."""
        for peer in self._peers:
            self._compare(peer)
        for chat_id in list(self.pure.chats):
            if chat_id in self.pure.chats:
                self.ask(chat_id, Delete())
        for worker_id in self.pure.workers:
            self.retire(worker_id)

    def _all(self, ask: Callable[[Driven], Coroutine[Any, Any, T]], what: str) -> T:
        self.number += 1
        self._ids.restart(self.number)
        answer = finished(ask(self.pure))
        for peer in self._peers:
            peer.ids.restart(self.number)
            theirs = self._run(ask(peer.store))
            if peer.name == "sqlite":
                theirs = self._judged(theirs)
            assert theirs == answer, f"{peer.name} answers {what} differently: {theirs}, not {answer}"
            # Reading everything costs far more than asking. What went wrong stays wrong until it is seen.
            if self.number % COMPARE_EVERY == 0:
                self._compare(peer)
        return answer

    def _compare(self, peer: Peer) -> None:
        """The same rows, of what this run made: a store may hold more."""
        ours, theirs = tables_of(self.pure), self._run(peer.tables())
        for chat_id in ours["chats"]:
            view = self.view(chat_id)
            assert view is not None
            # With the end of its lease, which is on the worker's row.
            ours["chats"][chat_id] = view.chat
        for name, table in ours.items():
            found = self._of_this_run(name, theirs[name])
            if peer.name == "sqlite":
                found = {
                    key: self._judged(self._end(key, row) if name == "workers" else row)
                    for key, row in found.items()
                }
            wrong = {key: (table.get(key), found.get(key)) for key in table.keys() | found.keys()}
            wrong = {key: rows for key, rows in wrong.items() if rows[0] != rows[1]}
            assert not wrong, f"{name} of {peer.name} differ: {wrong}"

    def _judged(self, value: Any) -> Any:
        """SQLite judges leases in its process: in its rows a living worker lives for ever, and one whose
        lease ran out has none."""
        match value:
            case Lease(worker_id=worker_id, expires_at=ends):
                return replace(value, expires_at=self._end(worker_id, ends))
            case Struct():
                changed = self._changed(value, value.__struct_fields__)
                return replace(value, **changed) if changed else value
            case Applied():
                changed = self._changed(value, [field.name for field in fields(value)])
                return replaced(value, **changed) if changed else value
            case list() | tuple():
                items = [self._judged(item) for item in cast(Sequence[Any], value)]
                same = all(new is old for new, old in zip(items, cast(Sequence[Any], value), strict=True))
                return cast(Any, value) if same else type(cast(Any, value))(items)
            case _:
                return value

    def _changed(self, value: Any, names: Sequence[str]) -> dict[str, Any]:
        old = {name: getattr(value, name) for name in names}
        new = {name: self._judged(field) for name, field in old.items()}
        return {name: field for name, field in new.items() if field is not old[name]}

    def _end(self, worker_id: WorkerId, ends: datetime) -> datetime:
        meant = self.pure.workers[worker_id]
        agrees = ends == FOR_EVER or (ends == EPOCH and meant <= self.clock.now())
        return meant if agrees else ends

    def _of_this_run(self, name: str, table: dict[Any, Any]) -> dict[Any, Any]:
        match name:
            case "chats" | "settings":
                return {key: row for key, row in table.items() if key in self._known}
            case "deliveries":
                return {key: row for key, row in table.items() if key.child_id in self._known}
            case "workers":
                return {key: row for key, row in table.items() if key in self.pure.workers}
            case "keys":
                return {key: row for key, row in table.items() if key[3].startswith(f"{self.started}-")}
            case _:
                return {key: row for key, row in table.items() if key[0] in self._known}

    # --- invariants ---

    def _check(self, before: Tables, change: Change, commands: Sequence[Command]) -> None:
        after = tables_of(self.pure)
        if change.after is None:
            for chat_id in change.deleted:
                assert chat_id not in self.pure.chats
            return
        if change.is_empty:
            assert {name: table for name, table in after.items() if name != "keys"} == {
                name: table for name, table in before.items() if name != "keys"
            }
            return
        check_counters(before, after, change, commands)
        check_message_ids(before, change)
        check_queue(before, after, change, commands)
        if any(isinstance(command, BeginAttempt) for command in commands):
            # A model is called now: nothing may be without its result.
            assert not [call for call in change.after.calls if not call.abandoned]
        self.ledger.note(before, change, commands)
        self._check_chat(change.chat_id)
        for other in change.others:
            check_counters(before, after, other, ())
            self._check_chat(other.chat_id)
        untouched = {change.chat_id, *(other.chat_id for other in change.others)}
        for chat_id, chat in after["chats"].items():
            assert chat_id in untouched or before["chats"][chat_id] == chat

    def _check_chat(self, chat_id: ChatId) -> None:
        view = self.view(chat_id)
        assert view is not None
        check_chat(self.pure, view)
        self.ledger.check(self.pure, chat_id)


async def _acquired(store: Driven, worker_id: WorkerId, limit: int, agents_limit: int) -> list[View]:
    """Which they are matters, not in what order they are told."""
    taken = await store.acquire(worker_id, limit=limit, agents_limit=agents_limit)
    return sorted(taken, key=lambda view: view.chat.id)


async def _renewed(store: Driven, worker_id: WorkerId) -> bool:
    if isinstance(store, Machine):
        return store.renew(worker_id, LEASE_SECONDS)
    return await renewed(store, worker_id, LEASE_SECONDS)
