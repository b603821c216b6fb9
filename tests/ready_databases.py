"""Databases with the schema in place. On PostgreSQL they are lent to one test after the other, and nobody
finds anything of who had it before: rows and connections are removed, and one whose shape was changed is not
lent again. To make, migrate and drop a database for each test costs the server five times as much."""

import asyncio
import secrets
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import asyncpg

from holdfast.store.open import is_postgres, open_store, sqlite_file
from tests.postgres import Databases

# Whatever a migration could make, and what is recorded of migrations. Nothing here counts rows.
SHAPE = """
WITH ours AS (
    SELECT oid FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema'
),
lines AS (
    SELECT format('%s %s %s %s', c.oid::regclass, c.relkind, c.relpersistence, c.reloptions) AS line
    FROM pg_class c WHERE c.relnamespace IN (SELECT oid FROM ours)
    UNION ALL
    SELECT format('%s.%s %s %s', c.oid::regclass, attname, format_type(atttypid, atttypmod), attnotnull)
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE a.attnum > 0 AND c.relnamespace IN (SELECT oid FROM ours)
    UNION ALL
    SELECT format('%s %s', conname, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE connamespace IN (SELECT oid FROM ours)
    UNION ALL
    SELECT format('%s on %s %s', tgname, tgrelid::regclass, tgenabled) FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL
    SELECT format('%s %s', proname, md5(prosrc)) FROM pg_proc WHERE pronamespace IN (SELECT oid FROM ours)
    UNION ALL
    SELECT setconfig::text FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase
    WHERE d.datname = current_database()
    UNION ALL
    SELECT format('%s %s %s', number, name, checksum) FROM schema_migrations
)
SELECT md5(string_agg(line, E'\\n' ORDER BY line)) FROM lines
"""
# Without triggers and in any order; most tables are empty, where this is a tenth of the cost of TRUNCATE.
EMPTY = """
SELECT 'SET session_replication_role = replica; '
    || string_agg(format('DELETE FROM %s', oid::regclass), '; ')
FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'schema_migrations'
"""
CUT_OTHERS = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
SIZE = "SELECT pg_database_size(current_database())"
# What was deleted still takes room until the server has cleaned up.
MOST_GROWTH = 32 * 1024 * 1024

T = TypeVar("T")


@dataclass(frozen=True)
class Ready:
    """A database as it was when it was new."""

    name: str
    url: str
    shape: str
    size: int
    empty: str


class ReadyDatabases:
    def __init__(self, server: Databases) -> None:
        self._server = server
        self._spare: list[Ready] = []

    def borrow(self) -> Ready:
        return self._spare.pop() if self._spare else self._made()

    def give_back(self, lent: Ready) -> None:
        if _run(_emptied(lent)):
            self._spare.append(lent)
        else:
            self._server.drop_database(lent.name)

    def close(self) -> None:
        while self._spare:
            self._server.drop_database(self._spare.pop().name)

    def _made(self) -> Ready:
        name = f"t_{secrets.token_hex(8)}"
        return _run(_migrated(name, self._server.create_database(name)))


async def _migrated(name: str, url: str) -> Ready:
    store = await open_store(url, data=Path(), publish=lambda _: None)
    await store.close()
    connection = await asyncpg.connect(url, timeout=30)
    try:
        shape, size, empty = [await connection.fetchval(sql) for sql in (SHAPE, SIZE, EMPTY)]
        return Ready(name, url, shape, size, empty)
    finally:
        await connection.close()


async def _emptied(lent: Ready) -> bool:
    """False where something is left that is not so easily undone."""
    try:
        connection = await asyncpg.connect(lent.url, timeout=30)
    except asyncpg.PostgresError:
        return False  # the test dropped it, say
    try:
        await connection.execute(CUT_OTHERS)
        if await connection.fetchval(SHAPE) != lent.shape:
            return False
        if await connection.fetchval(SIZE) > lent.size + MOST_GROWTH:
            return False
        await connection.execute(lent.empty)
        return True
    except asyncpg.PostgresError:
        return False  # a server of somebody's own, where we may not do this
    finally:
        await connection.close()


def prepare(url: str, data: Path) -> None:
    """What an SQLite database is before its first opening: a copy of a new one, which is sooner there."""
    if not is_postgres(url) and not (file := sqlite_file(url, data)).exists():
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=0o600)
        file.write_bytes(_new_file())


@cache
def _new_file() -> bytes:
    async def opened_and_closed(file: Path) -> None:
        await (await open_store(f"sqlite:{file}", data=file.parent, publish=lambda _: None)).close()

    with TemporaryDirectory() as directory:
        file = Path(directory) / "new.db"
        _run(opened_and_closed(file))
        return file.read_bytes()


def _run(work: Coroutine[Any, Any, T]) -> T:
    """In a thread of its own, so that it can be called where a loop is running too."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, work).result()
