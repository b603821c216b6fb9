"""Real stores to drive beside the pure machine, and all their rows as the pure machine keeps them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.chats.commands import DeliveryKey
from holdfast.core.clock import from_micros
from holdfast.core.hooks import EVENTS
from holdfast.store import rows
from holdfast.store.chat_rows import EXECUTION, EXECUTION_FROM, SETTINGS, execution_of, settings_of
from holdfast.store.columns import listed
from holdfast.store.interface import Store
from holdfast.store.open import open_store
from holdfast.store.query import Query, Row, joined, query
from tests.chats.driving import ManualClock, Peer
from tests.chats.invariants import Tables
from tests.chats.making import CountedIds


async def open_peer(name: str, url: str, data: Path, clock: ManualClock) -> tuple[Peer, Store]:
    ids = CountedIds()
    store = await open_store(url, data=data, publish=_nobody_listens, clock=clock, ids=ids)
    # Hooks are told the same, whichever engine keeps it.
    store.outbox.listen(lambda: frozenset(EVENTS))

    async def tables() -> Tables:
        return await read_tables(store)

    return Peer(name, store, ids, tables), store


def _nobody_listens(_: object) -> None:
    pass


async def read_tables(store: Store) -> Tables:
    """All rows, whatever chat they are of."""
    return await store.read(_TABLES)


def _all(table: str, columns: tuple[str, ...]) -> str:
    return f"SELECT {listed(columns)} FROM {table}"


def _table(sql: str, of: Callable[[Row], tuple[Any, Any]]) -> Query[dict[Any, Any]]:
    return query(sql, read=lambda found: dict([of(row) for row in found]))


def _by_chat(table: str, columns: tuple[str, ...], of: Callable[[Row], Any]) -> Query[dict[Any, Any]]:
    """Rows by chat and what comes next."""
    return _table(_all(table, columns), lambda row: ((row[0], row[1]), of(row)))


_QUERIES: dict[str, Query[dict[Any, Any]]] = {
    "chats": _table(f"SELECT {EXECUTION} FROM {EXECUTION_FROM}", lambda row: (row[0], execution_of(row))),
    "settings": _table(_all("settings", SETTINGS), lambda row: (row[0], settings_of(row))),
    "messages": _by_chat("messages", rows.MESSAGE, rows.message_of),
    "queue": _by_chat("queue", rows.QUEUED, rows.queued_of),
    "inbox": _by_chat(
        "inbox", (*rows.NOTICE, "taken_version"), lambda row: (rows.notice_of(row), row[len(rows.NOTICE)])
    ),
    "calls": _by_chat("calls", rows.CALL, rows.call_of),
    "outputs": _table(_all("call_outputs", rows.FULL_OUTPUT), lambda row: (tuple(row[:3]), row[3])),
    "steps": _table(_all("steps", rows.STEP), lambda row: (tuple(row[:3]), rows.step_of(row))),
    "turns": _by_chat("turns", rows.TURN, rows.turn_of),
    "deliveries": _table(
        _all("deliveries", (*rows.DELIVERY, "taken")),
        lambda row: (
            DeliveryKey(child_id=row[0], turn=row[1]),
            (rows.delivery_of(row), bool(row[len(rows.DELIVERY)])),
        ),
    ),
    "keys": _table(
        "SELECT user_id, method, path, key, fingerprint, status, body, created_at FROM idempotency_keys",
        lambda row: (tuple(row[:4]), (row[4], row[5], bytes(row[6]), from_micros(row[7]))),
    ),
    "workers": _table("SELECT id, expires_at FROM workers", lambda row: (row[0], from_micros(row[1]))),
}
_TABLES: Query[Tables] = joined(
    *_QUERIES.values(), read=lambda *found: dict(zip(_QUERIES, found, strict=True))
)
