"""The file: whose it is, who may read it, who owns it, and what is said when it cannot be used."""

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.chats.commands import Create
from holdfast.core.chats import Settings
from holdfast.core.errors import (
    BadDatabaseUrl,
    Bug,
    DatabaseDamaged,
    DatabaseInUse,
    DirectoryUnusable,
    MigrationFailed,
    StoreClosed,
)
from holdfast.core.ids import ChatId
from holdfast.store import chats
from holdfast.store.open import open_store, sqlite_file
from holdfast.store.sqlite.open import open_sqlite
from holdfast.store.sqlite.store import SqliteStore
from tests.store.world import fresh_id, text, user


def opened(file: Path) -> SqliteStore:
    return open_sqlite(file, publish=_nowhere)


def _nowhere(_: object) -> None:
    pass


async def written(file: Path) -> ChatId:
    """A database with one chat."""
    store = opened(file)
    chat_id = ChatId(fresh_id())
    await store.transition(chat_id, Create(owner_id=user(), settings=Settings(), parts=text("hello")))
    await store.close()
    return chat_id


# --- URLs ---


def test_where_a_url_points(tmp_path: Path) -> None:
    assert sqlite_file("sqlite", tmp_path) == tmp_path / "holdfast.db"
    assert sqlite_file("sqlite:other.db", tmp_path) == Path.cwd() / "other.db"
    assert sqlite_file("sqlite:/a/b.db", tmp_path) == Path("/a/b.db")
    assert sqlite_file("sqlite:///a/b%20c.db", tmp_path) == Path("/a/b c.db")
    assert sqlite_file("sqlite:~/x.db", tmp_path) == Path("~/x.db").expanduser()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "x",
        "SQLITE",
        "sqlite:",
        "sqlite://",
        "sqlite:///",
        "sqlite://host/x",
        "sqlite::memory:",
        "sqlite:a\0b",
        "sesame",
        "sqlite3:sesame",
        "postgres:sesame",
        "http://sesame@x",
        "mysql://me:sesame@host/db",
    ],
)
async def test_a_url_that_makes_no_sense(url: str, tmp_path: Path) -> None:
    with pytest.raises(BadDatabaseUrl) as raised:
        await open_store(url, data=tmp_path, publish=_nowhere)
    assert "sesame" not in raised.value.text
    assert '"sqlite"' in raised.value.text
    assert os.listdir(tmp_path) == []


# --- who may read it ---


async def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        file = tmp_path / "data" / "holdfast.db"
        store = opened(file)
        await store.transition(
            ChatId(fresh_id()), Create(owner_id=user(), settings=Settings(), parts=text("hello"))
        )
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        found = sorted(path.name for path in file.parent.iterdir())
        assert found == ["holdfast.db", "holdfast.db-shm", "holdfast.db-wal", "holdfast.db.lock"]
        for path in file.parent.iterdir():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
        await store.close()
        # Nothing is left in a log once it is closed.
        assert not (file.parent / "holdfast.db-wal").exists()
        file.chmod(0o644)
        await opened(file).close()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    finally:
        os.umask(before)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(DirectoryUnusable, match="choose another one"):
        opened(tmp_path / "holdfast.db")
    tmp_path.chmod(0o700)


def test_a_directory_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(DirectoryUnusable):
        opened(tmp_path / "file" / "holdfast.db")
    (tmp_path / "holdfast.db").mkdir()
    with pytest.raises(DirectoryUnusable):
        opened(tmp_path / "holdfast.db")


# --- one server ---


async def test_a_second_server_is_refused_and_told_who_is_there(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.db"
    store = opened(file)
    with pytest.raises(DatabaseInUse, match=rf"process {os.getpid()} on .*, started 20"):
        opened(file)
    await store.close()
    await opened(file).close()


async def test_a_second_server_in_another_process(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.db"
    store = opened(file)
    program = (
        "import sys; from pathlib import Path; from holdfast.store.sqlite.open import open_sqlite\n"
        "from holdfast.core.errors import DatabaseInUse\n"
        "try: open_sqlite(Path(sys.argv[1]), publish=print)\n"
        "except DatabaseInUse as error: print(error.text)\n"
    )
    told = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", program, str(file)], capture_output=True, text=True, check=True
    )
    assert f"process {os.getpid()}" in told.stdout
    await store.close()


async def test_a_lock_file_alone_locks_nobody_out(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.db"
    for content in ('{"pid": 1, "host": "x", "started_at": "2026-01-01T00:00:00Z"}', "nonsense", ""):
        (tmp_path / "holdfast.db.lock").write_text(content)
        await opened(file).close()


async def test_tools_work_beside_a_server(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.db"
    chat_id = await written(file)
    server = opened(file)
    tool = open_sqlite(file, publish=_nowhere, mode="tool")
    assert await tool.check() == []
    assert await tool.read(chats.chat(chat_id)) is not None
    await tool.backup(tmp_path / "copy.db")
    with pytest.raises(Bug):
        await tool.transition(chat_id)
    await tool.close()
    await server.close()
    copy = opened(tmp_path / "copy.db")
    assert await copy.read(chats.chat(chat_id)) is not None
    await copy.close()


def test_a_tool_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(DirectoryUnusable, match="holdfast db migrate"):
        open_sqlite(tmp_path / "holdfast.db", publish=_nowhere, mode="tool")
    assert os.listdir(tmp_path) == []
    (tmp_path / "empty.db").touch()
    with pytest.raises(MigrationFailed, match="holdfast db migrate"):
        open_sqlite(tmp_path / "empty.db", publish=_nowhere, mode="tool")


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = opened(tmp_path / "holdfast.db")
    worker = await store.register_worker("w", 15)
    await store.close()
    await store.close()
    for asked in (
        store.view(ChatId(fresh_id())),
        store.transition(ChatId(fresh_id())),
        store.index_pending(),
    ):
        with pytest.raises(StoreClosed):
            await asked
    with pytest.raises(StoreClosed):
        store.renew(worker, 15)


# --- damage ---


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.db"
    file.write_bytes(b"This is not a database, whatever its name says." * 200)
    content = file.read_bytes()
    for mode in ("server", "tool"):
        with pytest.raises(DatabaseDamaged, match="restore a backup"):
            open_sqlite(file, publish=_nowhere, mode=mode)
    assert file.read_bytes() == content


def test_a_database_of_another_program(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.db"
    theirs = sqlite3.connect(file)
    theirs.execute("CREATE TABLE invoices (id INTEGER)")
    theirs.commit()
    theirs.close()
    with pytest.raises(DatabaseDamaged, match="another program"):
        opened(file)
    again = sqlite3.connect(file)
    assert again.execute("SELECT name FROM sqlite_schema").fetchall() == [("invoices",)]
    again.close()


async def test_a_corrupted_schema_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.db"
    await written(file)
    damage(file, page=0, offset=100)
    with pytest.raises(DatabaseDamaged, match="restore a backup"):
        opened(file)


async def test_corrupted_pages_are_found_by_check(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.db"
    await written(file)
    raw = sqlite3.connect(file)
    for (page,) in raw.execute("SELECT rootpage FROM sqlite_schema WHERE tbl_name = 'messages'").fetchall():
        damage(file, page=page - 1, offset=0)
    raw.close()
    store = opened(file)
    problems = await store.check()
    assert problems
    # Whoever asks is told in words, and the store lives on.
    with pytest.raises(DatabaseDamaged):
        await store.transition(
            ChatId(fresh_id()), Create(owner_id=user(), settings=Settings(), parts=text("x"))
        )
    await store.close()


async def test_rows_that_contradict_each_other_are_found_by_check(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.db"
    chat_id = await written(file)
    raw = sqlite3.connect(file)
    raw.execute(
        "UPDATE chats SET queue_length = 3, status = 'idle', lease_worker_id = 'x', message_count = 2"
    )
    raw.execute("INSERT INTO labels (label, chat_id) VALUES ('x', 'nobody')")
    raw.commit()
    raw.close()
    store = open_sqlite(file, publish=_nowhere, mode="tool")
    assert await store.check() == ["A row of labels refers to something in settings that does not exist."]
    await store.close()
    raw = sqlite3.connect(file)
    raw.execute("DELETE FROM labels")
    raw.commit()
    raw.close()
    store = open_sqlite(file, publish=_nowhere, mode="tool")
    assert await store.check() == [
        f"Chat {chat_id} has a wrong count of queued messages.",
        f"Chat {chat_id} has a wrong count of messages.",
        f"Chat {chat_id} cannot be: it is idle and owned by a worker.",
    ]
    await store.close()


def damage(file: Path, *, page: int, offset: int) -> None:
    with file.open("r+b") as raw:
        raw.seek(page * 4096 + offset)
        raw.write(b"\xff" * 200)
