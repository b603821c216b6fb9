"""The store on PostgreSQL. Any number of replicas may use one database; leases and deadlines are judged by
its clock."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, Unpack

from holdfast.chats.change import Change, Refusal
from holdfast.chats.commands import CallFence, Command, Fence, RequireAction
from holdfast.chats.decide import decide
from holdfast.chats.facts import founds_alone, founds_at_length, may_need_facts
from holdfast.chats.view import View
from holdfast.core.chats import Settings
from holdfast.core.clock import Clock, SystemClock, to_micros
from holdfast.core.errors import Bug, CallOver, HoldfastError, TryAgain
from holdfast.core.events import BusEvent
from holdfast.core.ids import ChatId, Ids, UserId, WorkerId
from holdfast.core.text import clean
from holdfast.store import calls, idempotency_keys, integrity, tokens
from holdfast.store.chats import LISTED_ONLY, Only
from holdfast.store.hints import Announcer, hints_of, present
from holdfast.store.interface import Applied, Choices, NewChat, Once, OnceOf, Publish, Replayed, SearchPage
from holdfast.store.outbox import EventOutbox
from holdfast.store.postgres import chat_import, presence, search, upkeep, worker_rows
from holdfast.store.postgres.batching import LANES, Combiner
from holdfast.store.postgres.change_writer import Carrier
from holdfast.store.postgres.command_requests import Answer, CommandRequest, Doubtful
from holdfast.store.postgres.connect import DatabaseAddress, Purpose
from holdfast.store.postgres.database_clock import AlignedClock
from holdfast.store.postgres.errors import ANY, OVERTAKEN, is_undone, translated
from holdfast.store.postgres.pool import ANSWER_SECONDS, Connection, Pool, fetch
from holdfast.store.postgres.renewal import Renewal
from holdfast.store.postgres.settings_writer import Chosen, choose, choose_once, remember
from holdfast.store.postgres.transaction import Transaction
from holdfast.store.postgres.worker_rows import AcquireRequest, Taken
from holdfast.store.query import Query, Rows
from holdfast.store.turn_times import TurnTimes
from holdfast.store.views import view as view_query

T = TypeVar("T")

SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# Nothing that a transaction read, in any table, was changed before it is committed: otherwise it is rolled
# back.
ALONE = "BEGIN ISOLATION LEVEL SERIALIZABLE; SET LOCAL idle_in_transaction_session_timeout = '15s'"
# The same on behalf of a call, whose chat is locked meanwhile: a process that goes silent must not keep
# others from taking that chat over.
ALONE_FOR_CALL = "BEGIN ISOLATION LEVEL SERIALIZABLE"
ALONE_ATTEMPTS = 20
CLOSE_SECONDS = 5.0
# For tests that pass a clock: the database's own is not used then.
SET_CLOCK = "SELECT set_config('holdfast.now', $1, false)"


class PostgresStore:
    """Made by `open_postgres`. `reading` and `writing` are the most connections it may hold for each."""

    def __init__(
        self,
        address: DatabaseAddress,
        *,
        publish: Publish,
        clock: Clock | None,
        ids: Ids,
        reading: int,
        writing: int,
        wait_seconds: float,
    ) -> None:
        self._address = address
        self._announcer = Announcer(publish)
        self._aligned = AlignedClock(SystemClock())
        self._clock: Clock = clock or self._aligned
        self._times = TurnTimes(self._clock)
        self.outbox = EventOutbox()
        self._ids = ids
        before_use = None if clock is None else self._set_clock

        def pool(purpose: Purpose, size: int) -> Pool:
            return Pool(
                lambda: address.connect(purpose), size=size, wait_seconds=wait_seconds, before_use=before_use
            )

        # Statements that never wait for a row have separate connections, whoever else waits.
        flowing = max(1, min(2 * LANES, writing // 2))
        self._readers = pool("reading", reading)
        self._flowing = pool("writing", flowing)
        self._writers = pool("writing", max(1, writing - flowing))
        self._upkeepers = pool("upkeep", 2)
        self._combiner = Combiner(Carrier(self._flowing, self._writers, ids, self._announcer))
        self._renewal = Renewal(lambda: address.connect("writing"), before_use, self._aligned)
        # Acquisitions whose commit got no answer, by worker.
        self._doubtful: dict[WorkerId, list[Doubtful]] = {}

    @property
    def engine(self) -> Literal["postgres"]:
        return "postgres"

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
        if founds_at_length(commands):
            return await self._found(chat_id, commands, once)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        asked = CommandRequest(chat_id, commands, fence, once, answer, self._times, self.outbox, on_behalf)
        if not asked.is_wide and _may_be_decided_outside(commands, view):
            change = decide(chat_id, view, commands, fence=fence, now=self._clock.now(), ids=self._ids)
            # A refusal, or an empty change, is only trusted if it was decided on the current state.
            if isinstance(change, Change) and not change.is_empty and not change.others:
                self._combiner.own(asked, self.outbox.kept(self._times.measured(change)))
                return await asked.answer
        self._combiner.ask(asked)
        return await asked.answer

    async def _found(
        self, chat_id: ChatId, commands: Sequence[Command], once: Once | None
    ) -> Applied | Refusal | Replayed:
        now = self._clock.now()
        change = await asyncio.to_thread(decide, chat_id, None, commands, now=now, ids=self._ids)
        if isinstance(change, Refusal):
            return change

        async def work(connection: Connection) -> Applied | Refusal | Replayed:
            transaction = Transaction(connection)
            await transaction.begin()
            answer, is_new = await chat_import.found(transaction, change, once)
            if not is_new:
                await transaction.undo()
                return answer
            await transaction.commit()
            self._announcer.committed(hints_of(change))
            return answer

        return await self._repeatable(self._writers, work)

    async def acquire(
        self,
        worker_id: WorkerId,
        *,
        limit: int,
        agents_limit: int,
        skip_owners: Collection[UserId] = (),
    ) -> list[View]:
        views = await self._look_back(worker_id)
        wanted = AcquireRequest(worker_id, limit - len(views), agents_limit, skip_owners)
        taken = Taken()
        transaction: Transaction | None = None
        try:
            async with self._writers.take() as connection:
                transaction = Transaction(connection)
                await transaction.begin()
                await worker_rows.take(transaction, wanted, self._ids, taken)
                if taken.changes:
                    await transaction.commit()
                else:
                    await transaction.undo()
        except ANY as error:
            if transaction is not None and transaction.committing and not is_undone(error):
                self._doubtful[worker_id] = [
                    Doubtful(change, taken.transaction_id) for change in taken.changes
                ]
                return views + await self._look_back(worker_id)
            raise translated(error) from error
        self._announcer.committed(hint for change in taken.changes for hint in hints_of(change))
        return views + taken.views

    async def _look_back(self, worker_id: WorkerId) -> list[View]:
        """What an acquisition took whose commit got no answer."""
        doubtful = self._doubtful.get(worker_id)
        if not doubtful:
            return []
        try:
            async with self._writers.take() as connection:
                transaction = Transaction(connection)
                await transaction.begin()
                views = await worker_rows.look_back(transaction, doubtful)
                await transaction.undo()
        except ANY as error:
            raise translated(error) from error
        self._doubtful.pop(worker_id, None)
        return views

    # --- settings ---

    async def update_settings(self, chat_id: ChatId, **chosen: Unpack[Choices]) -> Settings | None:
        return await self._choose(lambda transaction: choose(transaction, chat_id, dict(chosen)))

    async def update_settings_once(
        self, chat_id: ChatId, once: OnceOf[Settings], **chosen: Unpack[Choices]
    ) -> Settings | Refusal | Replayed | None:
        return await self._choose(lambda transaction: choose_once(transaction, chat_id, dict(chosen), once))

    async def _choose(self, choosing: Callable[[Transaction], Awaitable[Chosen[T]]]) -> T:
        async def work(connection: Connection) -> T:
            transaction = Transaction(connection)
            await transaction.begin()
            done = await choosing(transaction)
            await transaction.commit()
            self._announcer.committed(() if done.hint is None else (done.hint,))
            return done.answer

        return await self._repeatable(self._writers, work)

    # --- everything that is not execution state ---

    async def write(self, query: Query[T], *, on_behalf: CallFence | None = None) -> T:
        if query.at_once is not None and on_behalf is None:
            sql, args = query.at_once
            answer, hints = query.answered([await self._execute(self._writers, sql, *args)])
            self._announcer.committed(hints)
            return answer

        async def writing(transaction: Transaction) -> tuple[T, Sequence[BusEvent]]:
            if on_behalf is not None and not await transaction.keep_going(on_behalf):
                raise CallOver(calls.CALL_OVER.text)
            return await transaction.ask_and_hint(query)

        return await self._write_alone(writing, ALONE if on_behalf is None else ALONE_FOR_CALL)

    async def write_and_create(
        self, query: Query[T], chats: Sequence[NewChat]
    ) -> tuple[T, list[Applied | Refusal]]:
        """One after the other: together they would need more round trips, in a transaction."""
        answer = await self.write(query)
        made = await asyncio.gather(*(self.transition(chat_id, *commands) for chat_id, commands in chats))
        return answer, [one for one in made if not isinstance(one, Replayed)]

    async def write_once(self, query: Query[T], once: OnceOf[T]) -> T | Refusal | Replayed:
        async def writing(transaction: Transaction) -> tuple[T | Refusal | Replayed, Sequence[BusEvent]]:
            if (earlier := await transaction.ask(idempotency_keys.stored(once))) is not None:
                return earlier, ()
            answer, hints = await transaction.ask_and_hint(query)
            await remember(transaction, once, answer)
            return answer, hints

        return await self._write_alone(writing)

    async def _write_alone(
        self, writing: Callable[[Transaction], Awaitable[tuple[T, Sequence[BusEvent]]]], begin: str = ALONE
    ) -> T:
        async def work(connection: Connection) -> T:
            transaction = Transaction(connection)
            await transaction.begin(begin)
            answer, hints = await writing(transaction)
            await transaction.commit()
            self._announcer.committed(hints)
            return answer

        for attempt in range(1, ALONE_ATTEMPTS + 1):
            try:
                return await self._repeatable(self._writers, work)
            except TryAgain as error:
                if not isinstance(error.__cause__, OVERTAKEN) or attempt == ALONE_ATTEMPTS:
                    raise
            # A random delay, so that those that collided do not all collide again.
            await asyncio.sleep(random.uniform(0, 0.005 * attempt))
        raise Bug("unreachable")

    # --- workers ---

    async def register_worker(self, name: str, lease_seconds: float) -> WorkerId:
        worker_id = WorkerId(self._ids.uuid7(self._clock.now()))
        args = (worker_id, clean(name), _micros(lease_seconds))
        asked_at = self._aligned.elapsed()
        for row in await self._execute(self._writers, worker_rows.REGISTER, *args):
            self._aligned.hear(row[0], asked_at)
        # Its presence is visible from the first moment.
        await asyncio.to_thread(self.renew, worker_id, lease_seconds)
        return worker_id

    def renew(self, worker_id: WorkerId, lease_seconds: float) -> bool:
        return self._renewal.renew(worker_id, _micros(lease_seconds))

    async def bury_absent(self, worker_id: WorkerId, lease_seconds: float) -> bool:
        unheard = _micros(lease_seconds - presence.ABSENT_SECONDS)
        if unheard <= 0:
            return False  # the lease expires sooner
        args = (worker_id, unheard, _micros(lease_seconds))
        return bool(await self._execute(self._upkeepers, presence.BURY, *args))

    async def retire(self, worker_id: WorkerId) -> None:
        self._renewal.leave(worker_id)
        await self._execute(self._writers, worker_rows.RETIRE, worker_id)
        freed = [row[0] for row in await self._execute(self._readers, worker_rows.OWNED, worker_id)]
        found = [await self.read(present(chat_id)) for chat_id in freed]
        self._announcer.committed(hint for hint in found if hint is not None)

    # --- reads ---

    async def view(self, chat_id: ChatId) -> View | None:
        return await self.read(view_query(chat_id))

    async def read(self, *queries: Query[Any]) -> Any:
        return await self._read_with(self._readers, queries)

    async def _read_with(self, pool: Pool, queries: Sequence[Query[Any]]) -> Any:
        async def work(connection: Connection) -> Any:
            single = sum(len(query.statements) for query in queries) == 1
            if not single:
                await connection.execute(SNAPSHOT, timeout=ANSWER_SECONDS)
            answers = [
                query.read([await fetch(connection, sql, *args) for sql, args in query.statements])
                for query in queries
            ]
            if not single:
                await connection.execute("COMMIT", timeout=ANSWER_SECONDS)
            return answers[0] if len(queries) == 1 else tuple(answers)

        return await self._repeatable(pool, work)

    async def search(
        self,
        owner_id: UserId,
        text: str,
        *,
        only: Only = LISTED_ONLY,
        limit: int = 50,
        cursor: str | None = None,
    ) -> SearchPage:
        return await self._repeatable(
            self._readers,
            lambda connection: search.chats(_fetching(connection), owner_id, text, only, limit, cursor),
        )

    async def search_chat(
        self, chat_id: ChatId, text: str, *, limit: int = 50, cursor: str | None = None
    ) -> SearchPage:
        return await self._repeatable(
            self._readers,
            lambda connection: search.messages(_fetching(connection), chat_id, text, limit, cursor),
        )

    # --- upkeep ---

    async def index_pending(self, limit: int = 200) -> int:
        return await self._repeatable(
            self._upkeepers, lambda connection: search.index(_fetching(connection), limit)
        )

    async def discard_expired(self) -> None:
        await self._execute(self._upkeepers, idempotency_keys.DISCARD)
        await self._execute(self._upkeepers, tokens.DISCARD)
        await self._execute(self._upkeepers, worker_rows.DISCARD, upkeep.WORKER_MICROS)

    async def backup(self, path: Path) -> None:
        await upkeep.backup(self._address, path)

    async def check(self) -> list[str]:
        found = [
            *await self._read_with(self._upkeepers, [upkeep.damaged_pages()]),
            *await self._read_with(self._upkeepers, [upkeep.damaged_indexes()]),
        ]
        return found or await integrity.examine(_Examiner(self._read_with, self._upkeepers))

    async def close(self) -> None:
        await self._combiner.close()
        await asyncio.to_thread(self._renewal.close)
        for pool in (self._flowing, self._writers, self._readers, self._upkeepers):
            await pool.close(CLOSE_SECONDS)

    # --- connections ---

    async def _execute(self, pool: Pool, sql: str, *args: Any) -> Rows:
        """One statement that may be executed twice without harm."""
        return await self._repeatable(pool, lambda connection: fetch(connection, sql, *args))

    async def _repeatable(self, pool: Pool, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Work that may be done twice without harm: it is retried once if its connection turns out to be
        broken, as all of them are after a restart."""
        for attempt in (1, 2):
            try:
                async with pool.take() as connection:
                    return await work(connection)
            except HoldfastError:
                raise
            except ANY as error:
                if attempt == 2 or is_undone(error) or isinstance(error, TimeoutError):
                    raise translated(error) from error
        raise Bug("unreachable")

    async def _set_clock(self, connection: Connection) -> None:
        await connection.execute(SET_CLOCK, str(to_micros(self._clock.now())))


class _Examiner:
    """Reads without a time limit."""

    def __init__(self, read: Callable[[Pool, Sequence[Query[Any]]], Awaitable[Any]], pool: Pool) -> None:
        self._read = read
        self._pool = pool

    async def read(self, *queries: Query[Any]) -> Any:
        return await self._read(self._pool, queries)


def _may_be_decided_outside(commands: Sequence[Command], view: View | None) -> bool:
    """Whether to decide on the owner's view and by this machine's clock: not where a deadline starts, because
    others judge that by the database's clock."""
    if view is None:
        return founds_alone(commands)
    return not may_need_facts(commands) and not any(
        isinstance(command, RequireAction) for command in commands
    )


def _fetching(connection: Connection) -> search.Fetch:
    async def fetch_rows(sql: str, *args: Any) -> Rows:
        return await fetch(connection, sql, *args)

    return fetch_rows


def _micros(seconds: float) -> int:
    return round(seconds * 1_000_000)
