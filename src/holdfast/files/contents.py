"""Where the contents of files are stored, under their hash. A server on SQLite keeps them in its data
directory; servers that share a PostgreSQL share no disk, so there they are in the database."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from holdfast.chats.change import Refusal
from holdfast.core.errors import TooLarge
from holdfast.core.files import StoredFile
from holdfast.store import files
from holdfast.store.interface import OnceOf, Replayed, Store
from holdfast.store.query import Query

# The idempotency key of an upload; and the file, or the answer stored under that key before.
Once = OnceOf[StoredFile]
Kept = StoredFile | Refusal | Replayed


class Contents(Protocol):
    async def keep(self, new: StoredFile, path: Path, thumbnail: bytes | None, once: Once | None) -> Kept:
        """Stores the file with the content at the path, which is moved away. Both or neither: after a crash
        there may be a content without a file, never the other way round. TooLarge: the owner has no room
        left."""
        ...

    async def read(self, content_hash: str) -> bytes | None: ...

    async def thumbnail(self, content_hash: str) -> bytes | None: ...

    async def forget(self, content_hash: str) -> None:
        """If no file has it any more."""
        ...


class OnDisk:
    def __init__(self, store: Store, directory: Path, quota_bytes: int) -> None:
        self._store = store
        self._directory = directory
        self._quota_bytes = quota_bytes
        # Guards against a new file with this content while the last other one is being deleted. There is only
        # one process.
        self._changing = asyncio.Lock()

    async def keep(self, new: StoredFile, path: Path, thumbnail: bytes | None, once: Once | None) -> Kept:
        async with self._changing:
            await asyncio.to_thread(self._put, path, self._place(new.hash), thumbnail)
            try:
                return await _write(self._store, files.add(new, self._quota_bytes), once)
            except TooLarge:
                await self._forget(new.hash)
                raise

    async def read(self, content_hash: str) -> bytes | None:
        return await asyncio.to_thread(_read, self._place(content_hash))

    async def thumbnail(self, content_hash: str) -> bytes | None:
        return await asyncio.to_thread(_read, _small(self._place(content_hash)))

    async def forget(self, content_hash: str) -> None:
        async with self._changing:
            await self._forget(content_hash)

    async def _forget(self, content_hash: str) -> None:
        if not await self._store.read(files.is_known(content_hash)):
            await asyncio.to_thread(_remove, self._place(content_hash))

    def _place(self, content_hash: str) -> Path:
        # Not too many in one directory.
        return self._directory / content_hash[:2] / content_hash

    def _put(self, path: Path, place: Path, thumbnail: bytes | None) -> None:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if thumbnail is not None:
            fresh = _small(path)
            fresh.write_bytes(thumbnail)
            fresh.replace(_small(place))
        with path.open("rb") as content:
            os.fsync(content.fileno())
        path.replace(place)
        directory = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


class InDatabase:
    def __init__(self, store: Store, quota_bytes: int) -> None:
        self._store = store
        self._quota_bytes = quota_bytes

    async def keep(self, new: StoredFile, path: Path, thumbnail: bytes | None, once: Once | None) -> Kept:
        content = await asyncio.to_thread(path.read_bytes)
        add = files.add_with_content(new, content, thumbnail, self._quota_bytes)
        return await _write(self._store, add, once)

    async def read(self, content_hash: str) -> bytes | None:
        return await self._store.read(files.content(content_hash))

    async def thumbnail(self, content_hash: str) -> bytes | None:
        return await self._store.read(files.thumbnail(content_hash))

    async def forget(self, content_hash: str) -> None:
        await self._store.write(files.forget_content(content_hash))


def contents(store: Store, directory: Path, quota_bytes: int) -> Contents:
    """`quota_bytes`: the most that the files of one user may take in total; 0: no limit."""
    if store.engine == "sqlite":
        return OnDisk(store, directory, quota_bytes)
    return InDatabase(store, quota_bytes)


async def _write(store: Store, add: Query[StoredFile], once: Once | None) -> Kept:
    return await store.write(add) if once is None else await store.write_once(add, once)


def _small(place: Path) -> Path:
    return place.with_name(f"{place.name}.thumbnail")


def _remove(place: Path) -> None:
    for path in (_small(place), place):
        path.unlink(missing_ok=True)


def _read(place: Path) -> bytes | None:
    try:
        return place.read_bytes()
    except FileNotFoundError:
        return None


@asynccontextmanager
async def scratch(directory: Path, name: str) -> AsyncGenerator[Path]:
    """A temporary place for an upload; whatever is left there at the end is removed."""
    path = directory / name
    try:
        yield path
    finally:
        await asyncio.to_thread(_remove, path)
