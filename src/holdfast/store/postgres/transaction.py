"""What a decision needs of a connection: read what it looks at, and, in a transaction, lock and write. Under
a lock, reading is always a separate statement: the one that waited for the lock saw the rows as they were
before."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from holdfast.chats.change import Change
from holdfast.chats.commands import CallFence
from holdfast.chats.view import View
from holdfast.core.clock import from_micros
from holdfast.core.events import BusEvent
from holdfast.core.ids import ChatId
from holdfast.store import calls
from holdfast.store.chat_rows import EXECUTION, EXECUTION_FROM, EXECUTION_WIDTH
from holdfast.store.columns import listed, placeholders
from holdfast.store.postgres.change_rows import rows_of
from holdfast.store.postgres.pool import ANSWER_SECONDS, Connection, fetch
from holdfast.store.postgres.statement import picked
from holdfast.store.query import Query, Rows
from holdfast.store.rows import CALL, DELIVERY, MESSAGE, NOTICE, QUEUED, delivery_row
from holdfast.store.views import assemble

T = TypeVar("T")

BEGIN = "BEGIN"
# For work that thinks for long between two statements, such as on a whole history, and locks no chat that
# somebody may want to take over.
BEGIN_LONG = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '15s'"
# A copied history may have any size; this much of it goes into one statement.
CHUNK_CHARACTERS = 16 * 1024 * 1024

_LOCK = (
    "SELECT pg_current_xact_id()::text FROM chats c WHERE c.id = ANY($1::text[]::uuid[]) ORDER BY c.id FOR"
)
LOCK_WAITING = f"{_LOCK} NO KEY UPDATE"
# Against children being created below a chat while it is deleted.
LOCK_DELETED = f"{_LOCK} UPDATE"

_OPEN = " AND t.state <> 'answered'"


def _gathered(table: str, names: tuple[str, ...], condition: str, order: str) -> str:
    """The rows of a chat in another table as one JSON text, or NULL."""
    return (
        f"(SELECT json_agg(json_build_array({listed(names, 't')}) ORDER BY {order})::text "
        f"FROM {table} t WHERE t.chat_id = c.id{condition})"
    )


# One statement, so that everything in a view is from the same moment.
LOAD = (
    f"SELECT {EXECUTION}, asked.id, now_micros(), "
    f"{_gathered('queue', QUEUED, '', 't.place')}, "
    f"{_gathered('inbox', NOTICE, ' AND t.taken_version IS NULL', 't.id')}, "
    f"{_gathered('calls', CALL, _OPEN, 't.message_id, t.position')} "
    f"FROM unnest($1::text[]) AS asked (id) LEFT JOIN ({EXECUTION_FROM}) ON c.id = asked.id::uuid"
)
TRANSACTION_ID = "SELECT pg_current_xact_id()::text"

MORE_MESSAGES = (
    f"INSERT INTO messages ({listed(MESSAGE)}) SELECT {picked(MESSAGE)} FROM unnest($1::message_put[]) r"
)
# Their rows in other tables are deleted with them.
DELETE_ROWS = tuple(
    f"DELETE FROM {table} WHERE chat_id = ANY($1::text[]::uuid[])"
    for table in ("messages", "queue", "inbox", "calls", "steps", "turns")
)
DELETE_CHATS = "DELETE FROM chats WHERE id = ANY($1::text[]::uuid[])"
DELETE_WAITING = "DELETE FROM deliveries WHERE NOT taken AND parent_id = ANY($1::text[]::uuid[])"
# A family may have a year of history.
DELETE_SECONDS = 300.0
SET_PATIENCE = f"SET LOCAL statement_timeout = '{DELETE_SECONDS:.0f}s'"
INSERT_DELIVERY = f"INSERT INTO deliveries ({listed(DELIVERY)}) VALUES ({placeholders(len(DELIVERY))})"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A chat's current state; None: it does not exist. `now` is the database's clock."""

    view: View | None
    now: datetime


class Session:
    """A connection to decide on. Without a transaction every statement stands alone."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def fetch(self, sql: str, *args: Any) -> Rows:
        return await fetch(self._connection, sql, *args)

    async def ask(self, query: Query[T]) -> T:
        return query.read(await self._results(query))

    async def ask_and_hint(self, query: Query[T]) -> tuple[T, tuple[BusEvent, ...]]:
        """The answer, and the hints to publish once it is committed."""
        return query.answered(await self._results(query))

    async def _results(self, query: Query[Any]) -> list[Rows]:
        return [await self.fetch(sql, *args) for sql, args in query.statements]

    async def load(self, chat_ids: Sequence[ChatId]) -> dict[ChatId, Loaded]:
        at = EXECUTION_WIDTH
        found: dict[ChatId, Loaded] = {}
        for row in await self.fetch(LOAD, chat_ids):
            chat = (row,) if row[0] is not None else ()
            view = assemble(chat, _listed(row[at + 2]), _listed(row[at + 3]), _listed(row[at + 4]))
            found[row[at]] = Loaded(view, from_micros(row[at + 1]))
        return found


class Transaction(Session):
    """Started by `begin`. Whoever started it commits it, or lets the pool roll it back."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        # Once COMMIT has been sent nobody knows the result until it is answered.
        self.committing = False
        self._id: str | None = None

    async def begin(self, how: str = BEGIN) -> None:
        await self._connection.execute(how, timeout=ANSWER_SECONDS)

    async def commit(self) -> None:
        self.committing = True
        await self._connection.execute("COMMIT", timeout=ANSWER_SECONDS)

    async def undo(self) -> None:
        await self._connection.execute("ROLLBACK", timeout=ANSWER_SECONDS)

    async def id(self) -> str:
        """Its permanent id, by which one can ask later whether it was committed (see
        `command_requests.counted`)."""
        found = self._id or str((await self.fetch(TRANSACTION_ID))[0][0])
        self._id = found
        return found

    async def lock(self, how: str, chat_ids: Iterable[ChatId]) -> None:
        for row in await self.fetch(how, list(chat_ids)):
            self._id = row[0]

    async def keep_going(self, call: CallFence) -> bool:
        """Whether the call is still running; if so, nobody can take its chat over before this transaction
        ends."""
        return await self.ask(calls.goes_on(call, lock=" FOR SHARE OF c"))

    async def write(self, changes: Sequence[Change]) -> set[ChatId]:
        """Writes changes of chats that are locked, or created here; returns those whose guard held."""
        rows = rows_of(changes)
        rest = rows.split_messages(CHUNK_CHARACTERS)
        held = {row[0] for row in await self.fetch(rows.sql(locked=True), *rows.arguments())}
        for messages in rest if len(held) == len(changes) else ():
            await self.fetch(MORE_MESSAGES, messages)
        return held

    async def delete(self, change: Change) -> None:
        await self._connection.execute(SET_PATIENCE)
        for sql in (*DELETE_ROWS, DELETE_WAITING, DELETE_CHATS):
            await self._connection.execute(sql, change.deleted, timeout=DELETE_SECONDS)
        for delivery in change.deliveries:
            await self.fetch(INSERT_DELIVERY, *delivery_row(delivery))


_rows = msgspec.json.Decoder(list[list[Any]]).decode


def _listed(value: str | None) -> Rows:
    return () if value is None else _rows(value)
