"""The way of every change into the database. Whatever waits at the same moment goes together: owners' changes
in one statement, other commands in one transaction; while one is on its way the next gathers. No two changes
of one chat are on their way at once, and nobody is answered before the commit."""

import asyncio
import time
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any

import asyncpg

from holdfast.chats.change import Change
from holdfast.core.errors import HoldfastError, StoreClosed
from holdfast.core.ids import ChatId, Ids
from holdfast.store.hints import hints_of, present, waited_for
from holdfast.store.interface import Applied, Publish
from holdfast.store.postgres.asked import Asked, Doubtful
from holdfast.store.postgres.errors import ANY, is_undone, translated
from holdfast.store.postgres.grouped import Group, Settled, settle
from holdfast.store.postgres.pool import Connection, Pool, fetch
from holdfast.store.postgres.transaction import LOCK_WAITING, Session, Transaction
from holdfast.store.postgres.wide import Overtaken, Wide, settle_wide
from holdfast.store.postgres.written import Rows, rows_of

# While one statement is on its way the next is made ready; more only make the statements smaller.
LANES = 2
WORTH_SPLITTING = 16
MOST_TOGETHER = 256
MOST_CHARACTERS = 4 * 1024 * 1024
# How long a command is tried again that others were in the way of, or that is in doubt.
PATIENCE_SECONDS = 8.0
SECONDS_BETWEEN_ATTEMPTS = 0.02
CLOSE_SECONDS = 10.0
# A chat that somebody else wrote at the same moment is likely to be written again.
CONTENDED_SECONDS = 5.0
MOST_CONTENDED = 1000

# What a second attempt may get around, beside a broken connection: somebody wrote the same meanwhile.
_OVERTAKEN = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.IntegrityConstraintViolationError,
    Overtaken,
)


class Combiner:
    def __init__(self, flowing: Pool, waiting: Pool, ids: Ids, publish: Publish) -> None:
        self._flowing = flowing
        self._waiting = waiting
        self._ids = ids
        self._publish = publish
        self._owned: dict[ChatId, tuple[Asked, Change]] = {}
        self._asked: dict[ChatId, list[Asked]] = {}
        # Chats with something on its way.
        self._busy: set[ChatId] = set()
        # Chats that another replica writes too, and until when that is remembered.
        self._contended: dict[ChatId, float] = {}
        self._owned_on_their_way = 0
        self._asked_on_their_way = 0
        self._departing = False
        self._closing = False
        self._tasks: set[asyncio.Task[None]] = set()

    def own(self, asked: Asked, change: Change) -> None:
        """An owner's change, decided on its view. Of two at once the second is decided again, after the
        first."""
        if asked.chat_id in self._owned or asked.chat_id in self._asked:
            self.ask(asked)
            return
        self._refuse_if_closing()
        self._owned[asked.chat_id] = asked, change
        self._depart_soon()

    def ask(self, asked: Asked) -> None:
        """Commands to be decided under the lock."""
        self._refuse_if_closing()
        if asked.is_wide:
            self._start(self._insist(asked))
        else:
            self._asked.setdefault(asked.chat_id, []).append(asked)
            self._depart_soon()

    async def close(self) -> None:
        """Finishes what waits, within reason."""
        self._closing = True
        end = time.monotonic() + CLOSE_SECONDS
        while self._tasks and time.monotonic() < end:
            await asyncio.wait(self._tasks, timeout=end - time.monotonic())
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        waiting = [asked for asked, _ in self._owned.values()]
        waiting += [asked for group in self._asked.values() for asked in group]
        for asked in waiting:
            asked.fail(StoreClosed("The store is shutting down."))

    def _refuse_if_closing(self) -> None:
        if self._closing:
            raise StoreClosed("The store is shutting down.")

    # --- departures ---

    def _depart_soon(self) -> None:
        """Not at once: the tasks that one commit woke are about to bring what belongs into the next."""
        if not self._departing:
            self._departing = True
            asyncio.get_running_loop().call_soon(self._depart)

    def _depart(self) -> None:
        self._departing = False
        while self._owned and self._owned_on_their_way < LANES:
            owned = self._take_owned()
            if not owned:
                break
            self._owned_on_their_way += 1
            self._start(self._carry_owned(owned))
        while self._asked and self._asked_on_their_way < LANES:
            group = self._take_asked()
            if not group:
                break
            self._asked_on_their_way += 1
            self._start(self._carry_asked(group))

    def _take_owned(self) -> list[tuple[Asked, Change]]:
        taken = [entry for chat_id, entry in self._owned.items() if chat_id not in self._busy]
        if len(taken) >= WORTH_SPLITTING:
            # Each free lane gets its share: while the database writes one, the next is decided.
            taken = taken[: -(-len(taken) // (LANES - self._owned_on_their_way))]
        taken = taken[:MOST_TOGETHER]
        for asked, _ in taken:
            del self._owned[asked.chat_id]
            self._busy.add(asked.chat_id)
        return taken

    def _take_asked(self) -> Group:
        free = [chat_id for chat_id in self._asked if chat_id not in self._busy]
        group: dict[ChatId, list[Asked]] = {}
        count = 0
        for chat_id in free:
            if count >= MOST_TOGETHER:
                break
            waiting = self._asked.pop(chat_id)
            group[chat_id] = waiting[:MOST_TOGETHER]
            count += len(group[chat_id])
            if waiting[MOST_TOGETHER:]:
                self._asked[chat_id] = waiting[MOST_TOGETHER:]
            self._busy.add(chat_id)
        return group

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name="store")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- owners' changes ---

    async def _carry_owned(self, owned: list[tuple[Asked, Change]]) -> None:
        try:
            while owned:
                owned = await self._write_owned(owned)
        except BaseException as error:  # whatever it is, everybody who waits must be told
            self._give_up([asked for asked, _ in owned], _told(error))
            raise
        finally:
            self._owned_on_their_way -= 1
            self._depart_soon()

    async def _write_owned(self, owned: list[tuple[Asked, Change]]) -> list[tuple[Asked, Change]]:
        """One statement; what is too much for it is returned."""
        rows = Rows()
        count = 0
        for _, change in owned:
            rows.add(change)
            count += 1
            if rows.characters > MOST_CHARACTERS:
                break
        owned, rest = owned[:count], owned[count:]
        try:
            async with self._flowing.take() as connection:
                found = await fetch(connection, rows.sql(locked=False), *rows.arguments())
                held: set[ChatId] = {row[0] for row in found}
                await self._announce(connection, [change for _, change in owned if change.chat_id in held])
        except HoldfastError as error:
            self._give_up([asked for asked, _ in owned], error)
            return rest
        except ANY as error:
            # Whichever it was that could not be written, or if nobody knows what was: each is looked at by
            # itself.
            for asked, change in owned:
                asked.doubtful = None if is_undone(error) else Doubtful(change, None)
            held = set()
        for asked, change in owned:
            if asked.chat_id in held:
                asked.tell(Applied(change))
                self._busy.discard(asked.chat_id)
            else:
                self._retry(asked)
        return rest

    def _retry(self, asked: Asked) -> None:
        """It missed: somebody else moved the chat. Decided again under the lock, before what came later."""
        self._busy.discard(asked.chat_id)
        self._asked.setdefault(asked.chat_id, []).insert(0, asked)

    def _give_up(self, group: Iterable[Asked], error: BaseException) -> None:
        for asked in group:
            self._busy.discard(asked.chat_id)
            asked.fail(error)

    # --- commands decided on the present state ---

    async def _carry_asked(self, group: Group) -> None:
        """Decided on what is read now and written if it is still so. Whoever is in the way of that is another
        replica: those commands, and for a while all others of that chat, are decided under its lock."""
        now = time.monotonic()
        left: list[Asked] = []
        try:
            contended = {chat_id for chat_id in group if self._is_contended(chat_id, now)}
            free = {chat_id: asked for chat_id, asked in group.items() if chat_id not in contended}
            left += [asked for chat_id in contended for asked in group[chat_id]]
            left += await self._attempt(free) if free else ()
        except BaseException as error:
            self._give_up([asked for waiting in group.values() for asked in waiting], _told(error))
            raise
        finally:
            self._asked_on_their_way -= 1
        by_chat: dict[ChatId, list[Asked]] = {}
        for asked in left:
            by_chat.setdefault(asked.chat_id, []).append(asked)
        for chat_id in group:
            if chat_id in by_chat:
                self._start(self._wait_for(chat_id, by_chat[chat_id]))
            else:
                self._busy.discard(chat_id)
        self._depart_soon()

    async def _attempt(self, group: Group) -> list[Asked]:
        """Two statements for all of them; those that are to be decided under the lock are returned."""
        settled = Settled()
        connected = writing = False
        try:
            async with self._flowing.take() as connection:
                connected = True
                await settle(Session(connection), group, self._ids, settled)
                again: list[Asked] = []
                if settled.changes:
                    rows = rows_of(settled.changes)
                    writing = True
                    found = await fetch(connection, rows.sql(locked=False), *rows.arguments())
                    again = settled.missed({row[0] for row in found})
                await self._announce(connection, settled.changes)
        except Exception as error:  # noqa: BLE001 - each of them is tried by itself and told what it was
            everybody = [asked for waiting in group.values() for asked in waiting]
            if not connected and isinstance(error, HoldfastError):
                self._give_up(everybody, error)
                return []
            if writing and not is_undone(error):
                settled.doubt(None)
            return everybody
        for asked, answer in settled.answers:
            asked.tell(answer)
        for asked in again:
            self._note_contended(asked.chat_id)
        return [*again, *settled.later]

    def _is_contended(self, chat_id: ChatId, now: float) -> bool:
        return self._contended.get(chat_id, 0.0) > now

    def _note_contended(self, chat_id: ChatId) -> None:
        now = time.monotonic()
        if len(self._contended) >= MOST_CONTENDED:
            self._contended = {one: until for one, until in self._contended.items() if until > now}
        self._contended[chat_id] = now + CONTENDED_SECONDS

    async def _wait_for(self, chat_id: ChatId, group: Sequence[Asked]) -> None:
        """Under the lock, however long somebody else has it."""
        try:
            if len(group) > 1:
                group = await self._attempt_locked({chat_id: group})
            for asked in group:
                await self._insist(asked)
        except BaseException as error:
            self._give_up(group, _told(error))
            raise
        finally:
            self._busy.discard(chat_id)
            self._depart_soon()

    async def _attempt_locked(self, group: Group) -> list[Asked]:
        """One transaction for all commands of a chat; those it did not bring to an end are returned."""
        settled = Settled()
        transaction: Transaction | None = None
        transaction_id: str | None = None
        try:
            async with self._waiting.take() as connection:
                transaction = Transaction(connection)
                await transaction.begin()
                await transaction.lock(LOCK_WAITING, group)
                await settle(transaction, group, self._ids, settled)
                again: list[Asked] = []
                if settled.changes:
                    again = settled.missed(await transaction.write(settled.changes))
                    transaction_id = await transaction.id()
                    await transaction.commit()
                else:
                    await transaction.undo()
                await self._announce(connection, settled.changes)
        except Exception as error:  # noqa: BLE001 - each of them is tried by itself and told what it was
            if transaction is not None and transaction.committing and not is_undone(error):
                settled.doubt(transaction_id)
            return [asked for waiting in group.values() for asked in waiting]
        for asked, answer in settled.answers:
            asked.tell(answer)
        return [*again, *settled.later]

    async def _insist(self, asked: Asked) -> None:
        """A transaction of its own, repeated while that makes sense."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            transaction: Transaction | None = None
            wide: Wide | None = None
            try:
                async with self._waiting.take() as connection:
                    transaction = Transaction(connection)
                    await transaction.begin()
                    wide = await settle_wide(transaction, asked, self._ids)
                    if wide.changes or wide.remembers:
                        await transaction.commit()
                    else:
                        await transaction.undo()
                    await self._announce(connection, wide.changes)
            except HoldfastError as error:
                asked.fail(error)
                return
            except (Overtaken, *ANY) as error:
                if wide is not None and wide.doubtful is not None and not is_undone(error):
                    asked.doubtful = wide.doubtful
                repeat = isinstance(error, _OVERTAKEN) or not is_undone(error)
                if not repeat or time.monotonic() > deadline:
                    asked.fail(translated(error))
                    return
            except BaseException as error:
                asked.fail(_told(error))
                raise
            else:
                asked.tell(wide.answer)
                return
            await asyncio.sleep(SECONDS_BETWEEN_ATTEMPTS)

    # --- hints ---

    async def _announce(self, connection: Connection, changes: Sequence[Change]) -> None:
        """After the commit. A hint that cannot be made is not missed for long: everybody also polls."""
        parents: set[ChatId] = set()
        for change in changes:
            for hint in hints_of(change):
                self._publish(hint)
            if change.deliveries or change.others:
                parents |= waited_for(change)
        for parent in parents:
            query = present(parent, delivery=True)
            try:
                found = [await fetch(connection, sql, *args) for sql, args in query.statements]
            except ANY:
                connection.terminate()
                return
            if (hint := query.read(found)) is not None:
                self._publish(hint)


def _told(error: BaseException) -> BaseException:
    """What those hear whose work was broken off."""
    return StoreClosed("The store is shutting down.") if isinstance(error, asyncio.CancelledError) else error
