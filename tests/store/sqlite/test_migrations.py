"""The schema's history: forward only, once each, whole or not at all."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.clock import SystemClock
from holdfast.core.errors import DatabaseTooNew, MigrationFailed
from holdfast.core.events import Hint
from holdfast.store import migrations
from holdfast.store.migrations import Recorded, known, migration, pending
from holdfast.store.sqlite.connection import Connection
from holdfast.store.sqlite.open import migrate, open_sqlite

GOOD = migration(2, "good", "CREATE TABLE extra (n INTEGER); INSERT INTO extra VALUES (1);")
BAD = migration(
    3, "bad", "CREATE TABLE half (n INTEGER); INSERT INTO half VALUES (1); SELECT * FROM nothing;"
)


def _nowhere(_: Hint) -> None:
    pass


def look(file: Path, sql: str) -> list[Any]:
    raw = sqlite3.connect(file)
    try:
        return raw.execute(sql).fetchall()
    finally:
        raw.close()


def connection_to(file: Path) -> Connection:
    file.touch()
    return Connection(file, SystemClock(), writable=True)


def test_what_is_pending() -> None:
    steps = (*known("sqlite"), GOOD, BAD)
    done = [Recorded(m.number, m.name, m.checksum) for m in steps]
    assert pending(steps, ()) == steps
    assert pending(steps, done[:1]) == (GOOD, BAD)
    assert pending(steps, done) == ()
    with pytest.raises(DatabaseTooNew, match="newer version"):
        pending(steps[:1], done[:2])
    with pytest.raises(MigrationFailed, match="not the one"):
        pending(steps, [Recorded(1, "foundation", "0" * 64)])
    with pytest.raises(MigrationFailed, match="gap"):
        pending(steps, done[1:])


async def test_a_database_is_made_once(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.db"
    for _ in range(2):
        await open_sqlite(file, publish=_nowhere).close()
    assert look(file, "SELECT number, name FROM schema_migrations") == [(1, "foundation")]
    assert look(file, "PRAGMA application_id") == [(0x48465354,)]


async def test_a_newer_database_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.db"
    await open_sqlite(file, publish=_nowhere).close()
    raw = sqlite3.connect(file)
    raw.execute("INSERT INTO schema_migrations VALUES (2, 'future', 'x', 0)")
    raw.commit()
    raw.close()
    content = file.read_bytes()
    for mode in ("server", "tool"):
        with pytest.raises(DatabaseTooNew, match="schema 2, this version knows 1"):
            open_sqlite(file, publish=_nowhere, mode=mode)
    assert file.read_bytes() == content


async def test_a_changed_migration_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.db"
    await open_sqlite(file, publish=_nowhere).close()
    raw = sqlite3.connect(file)
    raw.execute("UPDATE schema_migrations SET checksum = 'other'")
    raw.commit()
    raw.close()
    with pytest.raises(MigrationFailed, match=r"Migration 1 \(foundation\)"):
        open_sqlite(file, publish=_nowhere)


def test_a_migration_that_fails_leaves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.db"
    connection = connection_to(file)
    steps = (*known("sqlite"), GOOD, BAD)
    with pytest.raises(MigrationFailed, match="was undone"):
        migrate(connection, file, steps, 0)
    # What came before it is kept; it can go on from there.
    assert [done.number for done in connection.ask(migrations.recorded())] == [1, 2]
    assert connection.rows("SELECT count(*) FROM sqlite_schema WHERE name = 'half'") == [(0,)]
    mended = migration(3, "bad", "CREATE TABLE whole (n INTEGER)")
    assert migrate(connection, file, (*known("sqlite"), GOOD, mended), 0) == ("0003_bad",)
    connection.close()


def test_a_migration_that_is_cut_off_leaves_nothing(tmp_path: Path) -> None:
    """The process dies in the middle: another one starts from the beginning."""
    file = tmp_path / "holdfast.db"
    connection = connection_to(file)
    connection.run("BEGIN IMMEDIATE")
    connection.run(migrations.RECORD_TABLE)
    connection.run(known("sqlite")[0].sql[:6000].rsplit(";", 1)[0])
    copy = tmp_path / "after.db"
    # What a crash leaves on disk, as the next process sees it.
    copy.write_bytes(file.read_bytes())
    connection.run("ROLLBACK")
    connection.close()
    after = connection_to(copy)
    assert after.rows("SELECT count(*) FROM sqlite_schema") == [(0,)]
    assert migrate(after, copy, known("sqlite"), 0) == ("0001_foundation",)
    after.close()
