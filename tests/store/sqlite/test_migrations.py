"""The schema's history: forward only, once each, whole or not at all."""

import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.clock import SystemClock
from holdfast.core.errors import DatabaseTooNew, MigrationFailed
from holdfast.store import migrations
from holdfast.store.chat_rows import EXECUTION, EXECUTION_FROM, execution_of
from holdfast.store.migrations import Recorded, known, migration, pending
from holdfast.store.sqlite.connection import Connection
from holdfast.store.sqlite.open import migrate, open_sqlite
from tests.store.old_chats import OLD_CHATS, ORIGINS, old_chat
from tests.store.sqlite.test_trouble import create

ROOT = Path(__file__).parents[3]

LAST = len(known("sqlite"))
GOOD = migration(LAST + 1, "good", "CREATE TABLE extra (n INTEGER); INSERT INTO extra VALUES (1);")
BAD = migration(
    LAST + 2, "bad", "CREATE TABLE half (n INTEGER); INSERT INTO half VALUES (1); SELECT * FROM nothing;"
)


def _nowhere(_: object) -> None:
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
    assert pending(steps, done[:LAST]) == (GOOD, BAD)
    assert pending(steps, done) == ()
    with pytest.raises(DatabaseTooNew, match="newer version"):
        pending(steps[:LAST], done[: LAST + 1])
    with pytest.raises(MigrationFailed, match="not the one"):
        pending(steps, [Recorded(1, "foundation", "0" * 64)])
    with pytest.raises(MigrationFailed, match="gap"):
        pending(steps, done[1:])


async def test_a_database_is_made_once(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.db"
    for _ in range(2):
        await open_sqlite(file, publish=_nowhere).close()
    recorded = look(file, "SELECT number, name FROM schema_migrations ORDER BY number")
    assert recorded == [(mine.number, mine.name) for mine in known("sqlite")]
    assert look(file, "PRAGMA application_id") == [(0x48465354,)]


async def test_a_newer_database_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.db"
    await open_sqlite(file, publish=_nowhere).close()
    raw = sqlite3.connect(file)
    raw.execute("INSERT INTO schema_migrations VALUES (?, 'future', 'x', 0)", (LAST + 1,))
    raw.commit()
    raw.close()
    content = file.read_bytes()
    for mode in ("server", "tool"):
        with pytest.raises(DatabaseTooNew, match=f"schema {LAST + 1}, this version knows {LAST}"):
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
    with pytest.raises(MigrationFailed, match="was rolled back"):
        migrate(connection, file, steps, 0)
    # What came before it is kept; it can go on from there.
    done = [done.number for done in connection.ask(migrations.recorded())]
    assert done == list(range(1, LAST + 2))
    assert connection.rows("SELECT count(*) FROM sqlite_schema WHERE name = 'half'") == [(0,)]
    mended = migration(BAD.number, "bad", "CREATE TABLE whole (n INTEGER)")
    assert migrate(connection, file, (*known("sqlite"), GOOD, mended), 0) == (f"{BAD.number:04}_bad",)
    connection.close()


def killed_halfway(file: Path, which: str) -> None:
    """A process that dies in the middle of a migration, with part of it on disk."""
    command = [sys.executable, "-m", "tests.store.sqlite.migrating", str(file), which]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        said = child.stdout.readline()
        child.kill()
    assert said == b"halfway\n"
    assert child.returncode == -signal.SIGKILL
    assert file.with_name(f"{file.name}-wal").stat().st_size > 1_000_000


async def test_a_first_start_that_is_killed_halfway(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.db"
    killed_halfway(file, "first")
    with pytest.raises(MigrationFailed, match="db migrate"):
        open_sqlite(file, publish=_nowhere, mode="tool")
    store = open_sqlite(file, publish=_nowhere)
    assert await store.check() == []
    await create(store)
    await store.close()
    assert look(file, "SELECT number FROM schema_migrations") == [(m.number,) for m in known("sqlite")]
    assert look(file, "SELECT count(*) FROM sqlite_schema WHERE name = 'half'") == [(0,)]


async def test_an_upgrade_that_is_killed_halfway(tmp_path: Path) -> None:
    """Both the version before and the version after go on from what was there."""
    file = tmp_path / "holdfast.db"
    store = open_sqlite(file, publish=_nowhere)
    view = await create(store)
    await store.close()
    for _ in range(2):
        killed_halfway(file, "next")
        store = open_sqlite(file, publish=_nowhere)
        assert await store.view(view.chat.id) == view
        assert await store.check() == []
        await store.close()
    connection = connection_to(file)
    mended = migration(LAST + 1, "half", "CREATE TABLE half (n INTEGER)")
    assert migrate(connection, file, (*known("sqlite"), mended), 0) == (f"{LAST + 1:04}_half",)
    connection.close()


def test_calls_from_before_they_had_traits_get_those_of_their_tools(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.db"
    connection = connection_to(file)
    steps = known("sqlite")
    before = next(index for index, step in enumerate(steps) if step.name == "call_traits")
    migrate(connection, file, steps[:before], 0)
    connection.run("PRAGMA foreign_keys = OFF")
    for name in ("wait_agents", "write_file", "execute", "their_own"):
        connection.run(
            "INSERT INTO calls (chat_id, call_id, message_id, turn, position, name, effect, on_uncertain, "
            "state, run, truncated, abandoned, revision, output) "
            f"VALUES ('c', '{name}', 'm', 1, 0, '{name}', 'read', 'tell', 'answered', 1, 0, 0, 1, 'null')"
        )
    migrate(connection, file, steps, 0)
    kept = connection.rows("SELECT name, reach, traits FROM calls ORDER BY name")
    connection.close()
    assert kept == [
        ("execute", "command", ""),
        ("their_own", "none", ""),
        ("wait_agents", "none", "waits_for_children hands_over_ends"),
        ("write_file", "workspace", "writes"),
    ]


def test_chats_from_before_they_had_an_origin_get_it_from_their_ids(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.db"
    connection = connection_to(file)
    steps = known("sqlite")
    before = next(index for index, step in enumerate(steps) if step.name == "origins")
    migrate(connection, file, steps[:before], 0)
    for chat in OLD_CHATS:
        connection.run(old_chat(*chat))
    migrate(connection, file, steps, 0)
    kept = connection.rows(f"SELECT {EXECUTION} FROM {EXECUTION_FROM} ORDER BY c.id")
    connection.close()
    assert [execution_of(row).origin for row in kept] == ORIGINS
