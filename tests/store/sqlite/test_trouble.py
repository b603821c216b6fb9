"""Locks of others, full disks, backups under load: writes wait or fail by name, and everything goes on."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from holdfast.chats.commands import Create, Notify
from holdfast.chats.view import View
from holdfast.core.chats import Settings
from holdfast.core.errors import InvalidInput, StoreFull, TryAgain
from holdfast.core.ids import ChatId
from holdfast.store.interface import Applied
from holdfast.store.sqlite import writer
from holdfast.store.sqlite.connection import WRITER_BUSY_MILLISECONDS
from holdfast.store.sqlite.open import open_sqlite
from holdfast.store.sqlite.store import SqliteStore
from tests.store.world import fresh_id, text, user, view_of


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = open_sqlite(tmp_path / "holdfast.db", publish=_nowhere)
    yield opened
    await opened.close()


def _nowhere(_: object) -> None:
    pass


async def create(store: SqliteStore, content: str = "hello") -> View:
    told = await store.transition(
        ChatId(fresh_id()), Create(owner_id=user(), settings=Settings(), parts=text(content))
    )
    assert isinstance(told, Applied)
    return view_of(told)


HOLDER = """
import sqlite3, sys, time
other = sqlite3.connect(sys.argv[1], isolation_level=None)
other.execute(sys.argv[2])
other.execute("SELECT count(*) FROM chats").fetchall()
print("held", flush=True)
time.sleep(3600)
"""


@contextmanager
def held(file: Path, begin: str) -> Generator[None]:
    """Another program's transaction. Locks are between processes: in this one it would be no obstacle."""
    other = subprocess.Popen([sys.executable, "-c", HOLDER, str(file), begin], stdout=subprocess.PIPE)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        other.stdout.close()
        yield
    finally:
        other.kill()
        other.wait()


@pytest.mark.heavy
async def test_anothers_lock_only_delays(store: SqliteStore) -> None:
    """Fifty chats write at once, another program reads for long, a third holds the write lock for longer than
    SQLite itself waits."""
    views = [await create(store) for _ in range(50)]
    with held(store.file, "BEGIN"):
        with held(store.file, "BEGIN IMMEDIATE"):
            writing = [
                asyncio.ensure_future(store.transition(view.chat.id, Notify(source="t", key="k", text="x")))
                for view in views
            ]
            # Readers do not even notice.
            assert await store.view(views[0].chat.id) == views[0]
            done, _ = await asyncio.wait(writing, timeout=3 * WRITER_BUSY_MILLISECONDS / 1000)
            assert not done
        assert all(isinstance(told, Applied) for told in await asyncio.gather(*writing))


async def test_a_lock_that_is_never_given_back(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "LOCK_SECONDS", 0.2)
    view = await create(store)
    with held(store.file, "BEGIN IMMEDIATE"):
        with pytest.raises(TryAgain, match="locked"):
            await create(store)
        assert await store.view(view.chat.id) == view
    await create(store)


async def test_a_full_disk(store: SqliteStore) -> None:
    """Those of the batch that was too much are told; the store lives on, and goes on when there is room."""
    view = await create(store)
    limit = await pages(store)
    await set_limit(store, limit + 4)

    async def fill() -> None:
        for _ in range(100):
            await create(store, "x" * 3000)

    with pytest.raises(StoreFull, match="disk"):
        await fill()
    answers = await asyncio.gather(*(create(store, "y" * 100_000) for _ in range(10)), return_exceptions=True)
    assert {type(answer) for answer in answers} == {StoreFull}
    assert await store.view(view.chat.id) == view
    await set_limit(store, limit + 10_000)
    await create(store, "z" * 100_000)
    assert await store.check() == []


async def pages(store: SqliteStore) -> int:
    return await store._writer.do(  # pyright: ignore[reportPrivateUsage]
        lambda connection: writer.JobResult(connection.pragma("page_count"))
    )


async def set_limit(store: SqliteStore, count: int) -> None:
    await store._writer.do(  # pyright: ignore[reportPrivateUsage]
        lambda connection: writer.JobResult(connection.pragma("max_page_count", count))
    )


async def test_one_failing_job_of_a_batch_fails_alone(store: SqliteStore) -> None:
    view = await create(store)
    do = store._writer.do  # pyright: ignore[reportPrivateUsage]

    def broken(connection: Any) -> Any:
        connection.run("UPDATE chats SET version = version + 100")
        raise apsw.ConstraintError("no")

    told = await asyncio.gather(
        *(store.transition(view.chat.id, Notify(source="t", key=f"{n}", text="x")) for n in range(5)),
        do(broken),
        *(store.transition(view.chat.id, Notify(source="t", key=f"{n}", text="x")) for n in range(5, 10)),
        return_exceptions=True,
    )
    assert sum(isinstance(answer, Applied) for answer in told) == 10
    after = await store.view(view.chat.id)
    assert after is not None
    assert after.chat.version == view.chat.version + 10


async def test_a_backup_while_writing(store: SqliteStore, tmp_path: Path) -> None:
    views = [await create(store, "x" * 20_000) for _ in range(20)]
    stop = False

    async def write(view: View) -> int:
        count = 0
        while not stop:
            await store.transition(view.chat.id, Notify(source="t", key=f"{count}", text="x" * 500))
            count += 1
        return count

    writers = [asyncio.ensure_future(write(view)) for view in views]
    await asyncio.sleep(0.1)
    await store.backup(tmp_path / "copy.db")
    stop = True
    written = await asyncio.gather(*writers)
    assert min(written) > 0
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    copy = open_sqlite(tmp_path / "copy.db", publish=_nowhere)
    assert await copy.check() == []
    for view in views:
        assert await copy.view(view.chat.id) is not None
    await copy.close()


async def test_a_backup_replaces_nothing(store: SqliteStore, tmp_path: Path) -> None:
    (tmp_path / "copy.db").write_text("precious")
    with pytest.raises(InvalidInput, match="already exists"):
        await store.backup(tmp_path / "copy.db")
    with pytest.raises(InvalidInput, match="cannot be written"):
        await store.backup(tmp_path / "nowhere" / "copy.db")
    assert (tmp_path / "copy.db").read_text() == "precious"
    assert [name for name in os.listdir(tmp_path) if "part" in name] == []


async def test_two_event_loops(store: SqliteStore) -> None:
    """Each is answered on its own loop."""
    view = await create(store)

    def elsewhere() -> int:
        async def write() -> int:
            told = await asyncio.gather(
                *(store.transition(view.chat.id, Notify(source="b", key=f"{n}", text="x")) for n in range(50))
            )
            return sum(isinstance(answer, Applied) for answer in told)

        return asyncio.run(write())

    there = asyncio.to_thread(elsewhere)
    here = asyncio.gather(
        *(store.transition(view.chat.id, Notify(source="a", key=f"a{n}", text="x")) for n in range(50))
    )
    assert (await there, len(await here)) == (50, 50)
    after = await store.view(view.chat.id)
    assert after is not None
    assert after.chat.version == view.chat.version + 100
