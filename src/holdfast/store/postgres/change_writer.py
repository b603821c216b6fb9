"""Writes changes and commands to the database and reports the results. Nobody is answered, and no hint is
published, before the commit. If a commit gets no answer, its contents are marked as doubtful."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import asyncpg

from holdfast.chats.change import Change
from holdfast.core.errors import HoldfastError
from holdfast.core.ids import ChatId, Ids
from holdfast.store.hints import Announcer, hints_of, present, waited_for
from holdfast.store.interface import Applied
from holdfast.store.postgres.change_rows import Rows, rows_of
from holdfast.store.postgres.command_batch import Group, Settled, settle
from holdfast.store.postgres.command_requests import CommandRequest, Doubtful
from holdfast.store.postgres.errors import ANY, is_undone, translated
from holdfast.store.postgres.family_transaction import Overtaken, Wide, settle_wide
from holdfast.store.postgres.pool import Connection, Pool, fetch
from holdfast.store.postgres.transaction import BEGIN, BEGIN_LONG, LOCK_WAITING, Session, Transaction

MOST_CHARACTERS = 4 * 1024 * 1024
# How long a command that met conflicts, or is in doubt, is retried.
PATIENCE_SECONDS = 8.0
SECONDS_BETWEEN_ATTEMPTS = 0.02

# What a second attempt may get around, besides a broken connection: somebody wrote the same row meanwhile.
_OVERTAKEN = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.IntegrityConstraintViolationError,
    Overtaken,
)

Owned = tuple[CommandRequest, Change]


@dataclass(slots=True)
class Left:
    """What an attempt did not finish."""

    # To be included next time; nothing is wrong with them.
    later: list[CommandRequest] = field(default_factory=list[CommandRequest])
    # Somebody else moved or locked the chat, or something failed: each is to be decided under the lock.
    blocked: list[CommandRequest] = field(default_factory=list[CommandRequest])
    contended: bool = False


class Carrier:
    """`flowing` connections never wait for a row lock; `waiting` ones may."""

    def __init__(self, flowing: Pool, waiting: Pool, ids: Ids, announcer: Announcer) -> None:
        self._flowing = flowing
        self._waiting = waiting
        self._ids = ids
        self._announcer = announcer

    async def write_owned(self, owned: list[Owned]) -> tuple[list[CommandRequest], list[Owned]]:
        """One statement. Changes whose guard missed or that failed are to be decided again; those that did
        not fit into one statement are returned too."""
        rows = Rows()
        count = 0
        for _, change in owned:
            rows.add(change)
            count += 1
            if rows.characters > MOST_CHARACTERS:
                break
        owned, rest = owned[:count], owned[count:]
        held: set[ChatId] = set()
        try:
            async with self._flowing.take() as connection:
                held.update(
                    row[0] for row in await fetch(connection, rows.sql(locked=False), *rows.arguments())
                )
                await self._announce(connection, [change for _, change in owned if change.chat_id in held])
        except HoldfastError as error:
            for asked, _ in owned:
                asked.fail(error)
            return [], rest
        except ANY as error:
            # One of them may be impossible to write, or nobody knows what was written: each is examined
            # separately.
            for asked, change in owned:
                asked.doubtful = None if is_undone(error) else Doubtful(change, None)
        for asked, change in owned:
            if change.chat_id in held:
                asked.tell(Applied(change))
        return [asked for asked, _ in owned if asked.chat_id not in held], rest

    async def attempt(self, group: Group) -> Left:
        """Two statements for all of them: decided on what is read now, and written if it has not changed."""
        settled = Settled()
        connected = writing = False
        try:
            async with self._flowing.take() as connection:
                connected = True
                await settle(Session(connection), group, self._ids, settled)
                again: list[CommandRequest] = []
                if settled.changes:
                    rows = rows_of(settled.changes)
                    writing = True
                    found = await fetch(connection, rows.sql(locked=False), *rows.arguments())
                    again = settled.missed({row[0] for row in found})
                await self._announce(connection, settled.changes)
        except Exception as error:  # noqa: BLE001 - each of them is tried by itself and told what it was
            everybody = [asked for waiting in group.values() for asked in waiting]
            if not connected and isinstance(error, HoldfastError):
                for asked in everybody:
                    asked.fail(error)
                return Left()
            if writing and not is_undone(error):
                settled.doubt(None)
            return Left(blocked=everybody)
        settled.tell()
        return Left(settled.later, again, contended=bool(again))

    async def attempt_locked(self, group: Group) -> Left:
        """One transaction for all commands of a chat, which waits for its row lock."""
        settled = Settled()
        transaction: Transaction | None = None
        transaction_id: str | None = None
        try:
            async with self._waiting.take() as connection:
                transaction = Transaction(connection)
                await transaction.begin()
                await transaction.lock(LOCK_WAITING, group)
                await settle(transaction, group, self._ids, settled)
                again: list[CommandRequest] = []
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
            return Left(blocked=[asked for waiting in group.values() for asked in waiting])
        settled.tell()
        return Left(settled.later, again)

    async def insist(self, asked: CommandRequest) -> None:
        """A separate transaction, retried while that makes sense."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            wide: Wide | None = None
            try:
                async with self._waiting.take() as connection:
                    transaction = Transaction(connection)
                    await transaction.begin(BEGIN_LONG if asked.copies_history else BEGIN)
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
            else:
                asked.tell(wide.answer)
                return
            await asyncio.sleep(SECONDS_BETWEEN_ATTEMPTS)

    async def _announce(self, connection: Connection, changes: Sequence[Change]) -> None:
        """After the commit. A hint that cannot be made is not missed for long, because everybody also
        polls."""
        parents: set[ChatId] = set()
        self._announcer.committed(hint for change in changes for hint in hints_of(change))
        for change in changes:
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
                self._announcer.committed((hint,))
