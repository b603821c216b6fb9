"""A disk that is really full: said by name, nothing that was acknowledged is lost, and everything goes on
when there is room again."""

import asyncio
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from holdfast.chats.view import View
from holdfast.core.errors import DirectoryUnusable, StoreFull
from holdfast.store.sqlite.open import open_sqlite
from holdfast.store.sqlite.store import SqliteStore
from tests.disks import fill, free, small_disk
from tests.store.sqlite.test_trouble import create

LARGE = "x" * 30_000


@pytest.fixture
def disk(tmp_path: Path) -> Generator[Path]:
    with small_disk(tmp_path / "disk") as mounted:
        yield mounted


def opened(disk: Path, hints: list[Any] | None = None, **more: Any) -> SqliteStore:
    publish = list[Any]().append if hints is None else hints.append
    return open_sqlite(disk / "holdfast.db", publish=publish, **more)


async def until_full(store: SqliteStore) -> list[View]:
    """What was acknowledged before the disk was full."""
    made: list[View] = []
    while True:
        try:
            made.append(await create(store, LARGE))
        except StoreFull:
            return made


async def assert_there(store: SqliteStore, made: list[View]) -> None:
    assert [await store.view(view.chat.id) for view in made] == made
    assert await store.check() == []


@pytest.mark.parametrize("left", [0, 4096, 16_384, 65_536, 131_072])
async def test_a_start_without_room(disk: Path, left: int) -> None:
    """Wherever the room ends: in the lock, in the file, in its log, in the log's index, in the schema."""
    fill(disk, leave=left)
    for _ in range(2):
        with pytest.raises(DirectoryUnusable, match=r"is full\. Free some space and start again"):
            opened(disk)
    free(disk)
    store = opened(disk)
    await assert_there(store, [await create(store)])
    await store.close()


async def test_writing_until_it_is_full_and_on(disk: Path) -> None:
    hints: list[Any] = []
    store = opened(disk, hints)
    made = [await create(store)]
    fill(disk, leave=400_000)
    made += await until_full(store)
    assert {hint.chat_id for hint in hints} == {view.chat.id for view in made}
    # All of a batch that did not fit are told.
    answers = await asyncio.gather(*(create(store, LARGE) for _ in range(10)), return_exceptions=True)
    assert {type(answer) for answer in answers} == {StoreFull}
    await assert_there(store, made)
    free(disk)
    made.append(await create(store, LARGE))
    await assert_there(store, made)
    await store.close()


async def test_a_server_that_ends_and_starts_while_it_is_full(disk: Path) -> None:
    store = opened(disk)
    fill(disk, leave=400_000)
    made = await until_full(store)
    await store.close()
    # What the log held is in the file now; room that became free is taken away again.
    fill(disk)
    tool = opened(disk, mode="tool")
    await assert_there(tool, made)
    await tool.close()
    free(disk)
    store = opened(disk)
    await assert_there(store, [*made, await create(store, LARGE)])
    await store.close()


async def test_a_backup_without_room(disk: Path, tmp_path: Path) -> None:
    store = opened(tmp_path)
    await create(store, LARGE * 10)
    fill(disk, leave=100_000)
    with pytest.raises(StoreFull, match="disk"):
        await store.backup(disk / "copy.db")
    assert os.listdir(disk) == ["ballast"]
    await store.close()
