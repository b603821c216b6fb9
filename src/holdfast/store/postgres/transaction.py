"""One transaction that decides: lock the chats, read what the decision looks at, write what it came to.
Reading is always a statement after the lock: the one that waited for the lock may have looked at the rows
before it had it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from holdfast.chats.change import Change
from holdfast.chats.view import View
from holdfast.core.clock import from_micros
from holdfast.core.ids import ChatId
from holdfast.store.chat_rows import EXECUTION, EXECUTION_FROM, EXECUTION_WIDTH
from holdfast.store.columns import listed, placeholders
from holdfast.store.postgres.pool import ANSWER_SECONDS, Connection, fetch
from holdfast.store.postgres.statement import picked
from holdfast.store.postgres.written import rows_of
from holdfast.store.query import Query, Row, Rows
from holdfast.store.rows import CALL, DELIVERY, MESSAGE, NOTICE, QUEUED, delivery_row
from holdfast.store.views import assemble

T = TypeVar("T")

# A history that is copied may be of any size; this much of it goes into one statement.
CHUNK_CHARACTERS = 16 * 1024 * 1024

_LOCK = "SELECT c.id FROM chats c WHERE c.id = ANY($1::text[]::uuid[]) ORDER BY c.id FOR NO KEY UPDATE"
LOCK_FREE = f"{_LOCK} SKIP LOCKED"
LOCK_WAITING = _LOCK
# Against children that are being created below a chat while it is deleted.
LOCK_DELETED = "SELECT c.id FROM chats c WHERE c.id = ANY($1::text[]::uuid[]) ORDER BY c.id FOR UPDATE"

_QUEUE, _INBOX, _CALLS = 1, 2, 4
LOAD = (
    f"SELECT {EXECUTION}, asked.id, now_micros(), pg_current_xact_id()::text, "
    f"CASE WHEN EXISTS (SELECT 1 FROM queue q WHERE q.chat_id = c.id) THEN {_QUEUE} ELSE 0 END + "
    "CASE WHEN EXISTS (SELECT 1 FROM inbox i WHERE i.chat_id = c.id AND i.taken_version IS NULL) "
    f"THEN {_INBOX} ELSE 0 END + "
    "CASE WHEN EXISTS (SELECT 1 FROM calls k WHERE k.chat_id = c.id AND k.state <> 'answered') "
    f"THEN {_CALLS} ELSE 0 END "
    "FROM unnest($1::text[]) AS asked (id) LEFT JOIN "
    f"({EXECUTION_FROM}) ON c.id = asked.id::uuid"
)
_OF = "chat_id = ANY($1::text[]::uuid[])"
QUEUES = f"SELECT {listed(QUEUED)} FROM queue WHERE {_OF} ORDER BY place"
INBOXES = f"SELECT {listed(NOTICE)} FROM inbox WHERE {_OF} AND taken_version IS NULL ORDER BY id"
OPEN_CALLS = (
    f"SELECT {listed(CALL)} FROM calls WHERE {_OF} AND state <> 'answered' ORDER BY message_id, position"
)

MORE_MESSAGES = (
    f"INSERT INTO messages ({listed(MESSAGE)}) SELECT {picked(MESSAGE)} FROM unnest($1::message_put[]) r"
)
# What they say in other tables goes with these rows.
DELETE_ROWS = tuple(
    f"DELETE FROM {table} WHERE chat_id = ANY($1::text[]::uuid[])"
    for table in ("messages", "queue", "inbox", "calls", "steps", "turns")
)
DELETE_CHATS = "DELETE FROM chats WHERE id = ANY($1::text[]::uuid[])"
DELETE_WAITING = "DELETE FROM deliveries WHERE NOT taken AND parent_id = ANY($1::text[]::uuid[])"
INSERT_DELIVERY = f"INSERT INTO deliveries ({listed(DELIVERY)}) VALUES ({placeholders(len(DELIVERY))})"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A chat under the lock; None: there is none. `now` is the database's clock."""

    view: View | None
    now: datetime
    transaction_id: str


class Transaction:
    """Begun by `begin`. Whoever began it commits it, or lets the pool undo it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        # From the moment COMMIT is on its way nobody knows, until it is answered.
        self.committing = False

    async def begin(self) -> None:
        await self._connection.execute("BEGIN", timeout=ANSWER_SECONDS)

    async def commit(self) -> None:
        self.committing = True
        await self._connection.execute("COMMIT", timeout=ANSWER_SECONDS)

    async def undo(self) -> None:
        await self._connection.execute("ROLLBACK", timeout=ANSWER_SECONDS)

    async def fetch(self, sql: str, *args: Any) -> Rows:
        return await fetch(self._connection, sql, *args)

    async def ask(self, query: Query[T]) -> T:
        return query.read([await self.fetch(sql, *args) for sql, args in query.statements])

    async def lock(self, how: str, chat_ids: Iterable[ChatId]) -> set[ChatId]:
        return {row[0] for row in await self.fetch(how, list(chat_ids))}

    async def load(self, chat_ids: Sequence[ChatId]) -> dict[ChatId, Loaded]:
        chats = await self.fetch(LOAD, chat_ids)
        at = EXECUTION_WIDTH
        queues = await self._rows_of(QUEUES, [row[at] for row in chats if row[at + 3] & _QUEUE])
        inboxes = await self._rows_of(INBOXES, [row[at] for row in chats if row[at + 3] & _INBOX])
        calls = await self._rows_of(OPEN_CALLS, [row[at] for row in chats if row[at + 3] & _CALLS])
        return {
            row[at]: Loaded(
                assemble(
                    (row,) if row[0] is not None else (),
                    queues.get(row[at], ()),
                    inboxes.get(row[at], ()),
                    calls.get(row[at], ()),
                ),
                from_micros(row[at + 1]),
                row[at + 2],
            )
            for row in chats
        }

    async def _rows_of(self, sql: str, chat_ids: list[ChatId]) -> dict[ChatId, list[Row]]:
        found: dict[ChatId, list[Row]] = {}
        if chat_ids:
            for row in await self.fetch(sql, chat_ids):
                found.setdefault(row[0], []).append(row)
        return found

    async def write(self, changes: Sequence[Change]) -> set[ChatId]:
        """Writes changes of chats that are locked, or created here; says for which of them the guard held."""
        rows = rows_of(changes)
        rest = rows.split_messages(CHUNK_CHARACTERS)
        held = {row[0] for row in await self.fetch(rows.sql(locked=True), *rows.arguments())}
        for messages in rest if len(held) == len(changes) else ():
            await self.fetch(MORE_MESSAGES, messages)
        return held

    async def delete(self, change: Change) -> None:
        for sql in (*DELETE_ROWS, DELETE_WAITING, DELETE_CHATS):
            await self.fetch(sql, change.deleted)
        for delivery in change.deliveries:
            await self.fetch(INSERT_DELIVERY, *delivery_row(delivery))
