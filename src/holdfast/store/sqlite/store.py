"""The store on SQLite."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, Unpack

from holdfast.chats.change import Change, Refusal
from holdfast.chats.commands import CallFence, Command, Fence
from holdfast.chats.decide import decide
from holdfast.chats.facts import NO_FACTS, NOTHING, founds_alone, founds_at_length, may_need_facts, needs
from holdfast.chats.view import View
from holdfast.core.chats import Settings
from holdfast.core.clock import Clock, to_micros
from holdfast.core.errors import Bug, CallOver
from holdfast.core.events import BusEvent, Hint
from holdfast.core.ids import ChatId, Ids, UserId, WorkerId
from holdfast.core.text import clean
from holdfast.store import calls, idempotency_keys, integrity, settings_rules
from holdfast.store.chats import LISTED_ONLY, Only
from holdfast.store.facts import facts
from holdfast.store.fold import may_follow
from holdfast.store.hints import Announcer, hints_of, present, waited_for
from holdfast.store.interface import Applied, Choices, NewChat, Once, OnceOf, Publish, Replayed, SearchPage
from holdfast.store.outbox import EventOutbox
from holdfast.store.query import Query, Statement
from holdfast.store.sqlite import search, upkeep, worker_rows
from holdfast.store.sqlite.apply import PARENT_DEPTH, apply, run, statements_of, write_settings
from holdfast.store.sqlite.connection import Connection, spoken
from holdfast.store.sqlite.lock import FileLock
from holdfast.store.sqlite.pending_changes import Unwritten
from holdfast.store.sqlite.readers import Readers
from holdfast.store.sqlite.writer import JobResult, Writer
from holdfast.store.turn_times import TurnTimes
from holdfast.store.views import view as view_query

T = TypeVar("T")
Answered = JobResult[Applied | Refusal | Replayed]

# A renewal that takes longer has failed: the worker must know in time to stop.
RENEW_SECONDS = 5.0


class SqliteStore:
    def __init__(
        self,
        file: Path,
        *,
        connect: Callable[[bool], Connection],
        lock: FileLock | None,
        publish: Publish,
        clock: Clock,
        ids: Ids,
    ) -> None:
        """With a lock it is the server's store; without one it only reads."""
        self.file = file
        self._lock = lock
        self._announcer = Announcer(publish)
        self._clock = clock
        self._ids = ids
        self._readers = Readers(lambda: connect(False), file)
        self._unwritten = Unwritten()
        self._leases = worker_rows.Leases(clock)
        self._times = TurnTimes(clock)
        self.outbox = EventOutbox()
        self._writer_or_none = Writer(connect(True), file, self._unwritten, self._committed) if lock else None
        # Chats whose history may be ahead of the search index. Only a memory of where to look: the chat's row
        # says whether it is ahead, and a newly opened store checks all of them once.
        self._unsearched: search.Unsearched = search.Unsearched()

    @property
    def engine(self) -> Literal["sqlite"]:
        return "sqlite"

    @property
    def _writer(self) -> Writer:
        if self._writer_or_none is None:
            raise Bug("this store was opened for reading only")
        return self._writer_or_none

    def _committed(self, hints: Sequence[BusEvent]) -> None:
        for hint in hints:
            if isinstance(hint, Hint):
                self._unsearched.note(hint)
        self._announcer.committed(hints)

    # --- execution state ---

    async def transition(
        self,
        chat_id: ChatId,
        *commands: Command,
        fence: Fence | None = None,
        view: View | None = None,
        once: Once | None = None,
        on_behalf: CallFence | None = None,
    ) -> Applied | Refusal | Replayed:
        prepared: tuple[Change, list[Statement]] | None = None
        outside = founds_alone(commands) if view is None else not may_need_facts(commands)
        if outside and once is None and on_behalf is None:
            prepared = self._prepared(chat_id, view, commands, fence)
        elif founds_at_length(commands):
            prepared = await asyncio.to_thread(self._prepared, chat_id, None, commands, fence)

        def work(connection: Connection) -> Answered:
            if on_behalf is not None and not connection.ask(calls.goes_on(on_behalf)):
                return JobResult(calls.CALL_OVER)
            if once is not None and (earlier := connection.ask(idempotency_keys.stored(once))) is not None:
                return JobResult(earlier)
            # Decisions about this chat in the same transaction come first.
            overtaken = self._unwritten.view(chat_id) is not None
            if prepared is not None and not overtaken and run(connection, prepared[1]):
                done = self._done(connection, prepared[0])
            else:
                done = self._decide(connection, chat_id, commands, fence)
            if once is not None and isinstance(done.answer, Applied):
                self._remember(connection, once, done.answer)
            return done

        return await self._writer.do(work, looks_at_rows=once is not None or on_behalf is not None)

    def _prepared(
        self, chat_id: ChatId, view: View | None, commands: Sequence[Command], fence: Fence | None
    ) -> tuple[Change, list[Statement]] | None:
        """A decision before its transaction. A refusal, or an empty change, is only trusted if it was decided
        on the current state."""
        change = decide(chat_id, view, commands, fence=fence, now=self._clock.now(), ids=self._ids)
        if isinstance(change, Refusal) or change.is_empty:
            return None
        change = self.outbox.kept(self._times.measured(change))
        return change, statements_of(change, view.chat if view else None)

    def _decide(
        self, connection: Connection, chat_id: ChatId, commands: Sequence[Command], fence: Fence | None
    ) -> Answered:
        """On the writer's thread, on the current state: nothing can come between."""
        view = self._unwritten.view(chat_id) or connection.ask(view_query(chat_id))
        known = NO_FACTS
        if (wanted := needs(commands, view)) is not NOTHING:
            self._unwritten.write(connection)
            known = connection.ask(facts(chat_id, wanted, view))
        change = decide(
            chat_id, view, commands, fence=fence, facts=known, now=self._clock.now(), ids=self._ids
        )
        if isinstance(change, Refusal):
            return JobResult(change)
        change = self.outbox.kept(self._times.measured(change))
        if view is not None and may_follow(change):
            if not change.is_empty:
                self._unwritten.add(view, change)
            return self._done(connection, change)
        self._unwritten.write(connection)
        depth = 0
        if (
            change.created is not None
            and change.after is not None
            and change.after.chat.parent_id is not None
        ):
            parent = connection.rows(PARENT_DEPTH, (change.after.chat.parent_id,))
            if not parent:
                return JobResult(Refusal(code="not_found", text="The parent of this chat no longer exists."))
            depth = parent[0][0] + 1
        if not change.is_empty:
            apply(connection, change, view.chat if view else None, depth)
        return self._done(connection, change)

    def _done(self, connection: Connection, change: Change) -> Answered:
        """The answer, with the hints for every chat that moved and for parents that have a delivery."""
        hints = tuple(hints_of(change))
        if change.deliveries or change.others:
            self._unwritten.write(connection)
            told = (connection.ask(present(parent, delivery=True)) for parent in waited_for(change))
            hints += tuple(hint for hint in told if hint is not None)
        return JobResult(Applied(change), hints)

    def _remember(self, connection: Connection, once: OnceOf[T], answer: T) -> None:
        now = to_micros(self._clock.now())
        connection.run(spoken(idempotency_keys.STORE), idempotency_keys.kept(once, answer, now))

    async def acquire(
        self,
        worker_id: WorkerId,
        *,
        limit: int,
        agents_limit: int,
        skip_owners: Collection[UserId] = (),
    ) -> list[View]:
        def work(connection: Connection) -> JobResult[list[View]]:
            self._leases.bury_dead(connection)
            return worker_rows.acquire(
                connection,
                worker_id,
                limit=limit,
                agents_limit=agents_limit,
                skip_owners=skip_owners,
                now=self._clock.now(),
                ids=self._ids,
            )

        return await self._writer.do(work)

    # --- settings ---

    async def update_settings(self, chat_id: ChatId, **chosen: Unpack[Choices]) -> Settings | None:
        return await self._writer.do(lambda connection: _choose(connection, chat_id, chosen))

    async def update_settings_once(
        self, chat_id: ChatId, once: OnceOf[Settings], **chosen: Unpack[Choices]
    ) -> Settings | Refusal | Replayed | None:
        def work(connection: Connection) -> JobResult[Settings | Refusal | Replayed | None]:
            if (earlier := connection.ask(idempotency_keys.stored(once))) is not None:
                return JobResult(earlier)
            done = _choose(connection, chat_id, chosen)
            if done.answer is not None:
                self._remember(connection, once, done.answer)
            return JobResult(done.answer, done.hints)

        return await self._writer.do(work)

    # --- everything that is not execution state ---

    async def write(self, query: Query[T], *, on_behalf: CallFence | None = None) -> T:
        def work(connection: Connection) -> JobResult[T]:
            if on_behalf is not None and not connection.ask(calls.goes_on(on_behalf)):
                raise CallOver(calls.CALL_OVER.text)
            if query.judges_leases:
                self._leases.bury_dead(connection)
            return JobResult(*connection.ask_and_hint(query))

        return await self._writer.do(work)

    async def write_and_create(
        self, query: Query[T], chats: Sequence[NewChat]
    ) -> tuple[T, list[Applied | Refusal]]:
        now = self._clock.now()
        decided = [decide(chat_id, None, commands, now=now, ids=self._ids) for chat_id, commands in chats]
        decided = [
            one if isinstance(one, Refusal) else self.outbox.kept(self._times.measured(one))
            for one in decided
        ]
        prepared = [(one, [] if isinstance(one, Refusal) else statements_of(one, None)) for one in decided]

        def work(connection: Connection) -> JobResult[tuple[T, list[Applied | Refusal]]]:
            answer, (*hints,) = connection.ask_and_hint(query)
            made: list[Applied | Refusal] = []
            for change, statements in prepared:
                if isinstance(change, Refusal):
                    made.append(change)
                elif run(connection, statements):
                    made.append(Applied(change))
                    hints += hints_of(change)
                else:
                    made.append(Refusal(code="wrong_state", text="There is already a chat with this id."))
            return JobResult((answer, made), tuple(hints))

        return await self._writer.do(work)

    async def write_once(self, query: Query[T], once: OnceOf[T]) -> T | Refusal | Replayed:
        def work(connection: Connection) -> JobResult[T | Refusal | Replayed]:
            if (earlier := connection.ask(idempotency_keys.stored(once))) is not None:
                return JobResult(earlier)
            answer, hints = connection.ask_and_hint(query)
            self._remember(connection, once, answer)
            return JobResult(answer, hints)

        return await self._writer.do(work)

    # --- workers ---

    async def register_worker(self, name: str, lease_seconds: float) -> WorkerId:
        now = self._clock.now()
        worker_id = WorkerId(self._ids.uuid7(now))
        row = (worker_id, clean(name), to_micros(now), worker_rows.FOR_EVER)

        def work(connection: Connection) -> JobResult[WorkerId]:
            self._leases.give(worker_id, lease_seconds)
            connection.run(worker_rows.REGISTER, row)
            return JobResult(worker_id)

        return await self._writer.do(work)

    def renew(self, worker_id: WorkerId, lease_seconds: float) -> bool:
        """Uses the writer's thread, which no event loop can block: a separate connection would wait for the
        writer's lock, and under load might never get it."""

        def work(connection: Connection) -> JobResult[bool]:
            return JobResult(self._leases.renew(worker_id, lease_seconds))

        return self._writer.do_from_thread(work, RENEW_SECONDS)

    async def bury_absent(self, worker_id: WorkerId, lease_seconds: float) -> bool:
        return False  # only one process uses the file

    async def retire(self, worker_id: WorkerId) -> None:
        def work(connection: Connection) -> JobResult[None]:
            self._leases.end(worker_id)
            connection.run(worker_rows.RETIRE, (worker_id,))
            return JobResult(None, worker_rows.freed(connection, worker_id))

        await self._writer.do(work)

    # --- reads ---

    async def view(self, chat_id: ChatId) -> View | None:
        return await self._readers.do(lambda connection: connection.ask(view_query(chat_id)))

    async def read(self, *queries: Query[Any]) -> Any:
        if self._writer_or_none is not None and any(query.judges_leases for query in queries):
            await self._writer.do(lambda connection: JobResult(self._leases.bury_dead(connection)))
        if len(queries) == 1:
            return await self._readers.do(
                lambda connection: connection.ask(queries[0]), snapshot=len(queries[0].statements) > 1
            )
        return await self._readers.do(lambda connection: tuple([connection.ask(query) for query in queries]))

    async def search(
        self,
        owner_id: UserId,
        text: str,
        *,
        only: Only = LISTED_ONLY,
        limit: int = 50,
        cursor: str | None = None,
    ) -> SearchPage:
        return await self._readers.do(
            lambda connection: search.chats(connection, owner_id, text, only, limit, cursor)
        )

    async def search_chat(
        self, chat_id: ChatId, text: str, *, limit: int = 50, cursor: str | None = None
    ) -> SearchPage:
        return await self._readers.do(
            lambda connection: search.in_chat(connection, chat_id, text, limit, cursor)
        )

    # --- upkeep ---

    async def index_pending(self, limit: int = 200) -> int:
        return await search.index(self._unsearched, self._readers, self._writer, limit)

    async def discard_expired(self) -> None:
        now = to_micros(self._clock.now())
        await self._writer.do(lambda connection: JobResult(upkeep.discard_expired(connection, now)))

    async def backup(self, path: Path) -> None:
        await asyncio.to_thread(upkeep.backup, self.file, path)

    async def check(self) -> list[str]:
        found = await self._readers.do(upkeep.integrity, snapshot=False)
        return found or await integrity.examine(self)

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        # The writer last: the last one to close the file with write access moves the log into it.
        self._readers.close()
        if self._writer_or_none is not None:
            self._writer_or_none.close()
        if self._lock is not None:
            self._lock.release()


def _choose(connection: Connection, chat_id: ChatId, chosen: Choices) -> JobResult[Settings | None]:
    before, hint = connection.ask(settings_rules.settings(chat_id)), connection.ask(present(chat_id))
    if before is None or hint is None:
        return JobResult(None)
    after = settings_rules.chosen(before, chosen)
    if after == before:
        return JobResult(after)
    write_settings(connection, chat_id, hint.owner_id, after)
    return JobResult(after, (hint,))
