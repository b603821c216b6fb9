"""The files of chats: received piece by piece, checked, stored; read again; and swept when no chat uses
them."""

import asyncio
import hashlib
import os
import time
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from holdfast.chats.commands import CallFence
from holdfast.core.clock import Clock
from holdfast.core.errors import InvalidInput, NotFound, TooLarge
from holdfast.core.files import StoredFile
from holdfast.core.ids import ChatId, FileId, Ids, UserId
from holdfast.core.parts import File
from holdfast.files.contents import Kept, Once, contents, scratch
from holdfast.files.media import ACCEPTED, HEAD_BYTES, PICTURES, TEXT, is_text, safe_name, type_by_head
from holdfast.files.thumbnails import Behind, Thumbnails
from holdfast.store import files
from holdfast.store.interface import Store

# The most for all files in one request: what providers accept, and what a server has room for.
SHOWN_BYTES = 24 * 1024 * 1024
_PIECE = 1024 * 1024
# Where files are while they are being received.
INCOMING = "incoming"


class Incoming:
    """A file that is still being received. Nothing of it is kept until `StoredFiles.keep`."""

    def __init__(self, path: Path, written: BinaryIO, most_bytes: int) -> None:
        self.path = path
        self.size = 0
        self._written = written
        self.most_bytes = most_bytes
        self._hash = hashlib.sha256()

    async def write(self, piece: bytes) -> None:
        self.size += len(piece)
        if self.size > self.most_bytes:
            raise TooLarge(
                f"The file is larger than the {self.most_bytes // 2**20} MiB allowed "
                "(files.max_mib in the configuration)."
            )
        await asyncio.to_thread(self._write, piece)

    def _write(self, piece: bytes) -> None:
        self._hash.update(piece)
        self._written.write(piece)

    @property
    def hash(self) -> str:
        return self._hash.hexdigest()


class StoredFiles:
    def __init__(
        self,
        store: Store,
        data: Path,
        *,
        most_bytes: int,
        quota_bytes: int,
        clock: Clock,
        ids: Ids,
        behind: Behind | None = None,
    ) -> None:
        self._store = store
        self._directory = data / "files"
        self._contents = contents(store, self._directory, quota_bytes)
        self._most_bytes = most_bytes
        self._clock = clock
        self._ids = ids
        self._thumbnails = Thumbnails(behind)

    @asynccontextmanager
    async def incoming(self, most_bytes: int | None = None) -> AsyncGenerator[Incoming]:
        """`most_bytes`: for what is not a file of a chat."""
        place = self._directory / INCOMING
        await asyncio.to_thread(lambda: place.mkdir(mode=0o700, parents=True, exist_ok=True))
        async with scratch(place, self._ids.uuid7(self._clock.now())) as path:
            with await asyncio.to_thread(_created, path) as written:
                yield Incoming(path, written, most_bytes or self._most_bytes)

    async def keep(self, incoming: Incoming, owner_id: UserId, name: str) -> StoredFile:
        """InvalidInput says why it cannot be a file of a chat; TooLarge, that its owner has no room left."""
        kept = await self.keep_once(incoming, owner_id, name, None)
        assert isinstance(kept, StoredFile), "without a key there is no earlier answer"
        return kept

    async def keep_once(self, incoming: Incoming, owner_id: UserId, name: str, once: Once | None) -> Kept:
        """The same under an idempotency key, if there is one: then perhaps the earlier answer."""
        if not incoming.size:
            raise InvalidInput("The file is empty.", field="file")
        media_type = await asyncio.to_thread(_media_type, incoming.path)
        thumbnail = await self._thumbnails.make(incoming.path) if media_type in PICTURES else None
        now = self._clock.now()
        new = StoredFile(
            id=FileId(self._ids.uuid7(now)),
            owner_id=owner_id,
            name=safe_name(name),
            media_type=media_type,
            size=incoming.size,
            hash=incoming.hash,
            created_at=now,
        )
        return await self._contents.keep(new, incoming.path, thumbnail, once)

    async def find(self, file_id: FileId, owner_id: UserId) -> StoredFile | None:
        return await self._store.read(files.file(file_id, owner_id))

    async def read(self, file: StoredFile) -> bytes:
        found = await self._contents.read(file.hash)
        if found is None:
            raise NotFound("The content of this file no longer exists.")
        return found

    async def thumbnail(self, file: StoredFile) -> bytes | None:
        return await self._contents.thumbnail(file.hash) if file.is_picture else None

    # --- in chats ---

    async def use(
        self, file_ids: Iterable[FileId], chat_id: ChatId, on_behalf: CallFence | None = None
    ) -> None:
        if wanted := tuple(file_ids):
            await self._store.write(files.use(wanted, chat_id), on_behalf=on_behalf)

    async def shown(self, parts: Iterable[File], owner_id: UserId) -> Mapping[FileId, bytes]:
        """The contents of these parts, from the first on as far as they fit, so that a longer history gives
        the same. Files that belong to somebody else, or are gone, are left out."""
        wanted = tuple(dict.fromkeys(part.file_id for part in parts))
        known = await self._store.read(files.files(wanted, owner_id)) if wanted else {}
        found: dict[FileId, bytes] = {}
        room = max(SHOWN_BYTES, self._most_bytes)
        for file_id in wanted:
            file = known.get(file_id)
            if file is None or file.size > room:
                continue
            content = await self._contents.read(file.hash)
            if content is not None:
                room -= file.size
                found[file_id] = content
        return found

    async def sweep(self, after_micros: int = files.UNUSED_MICROS) -> int:
        """Deletes files that no chat uses, and their contents; returns how many contents were examined. Also
        removes what was being received when a server was killed: by its age, because another server may use
        the same directory."""
        await asyncio.to_thread(_sweep_incoming, self._directory / INCOMING, after_micros)
        hashes = await self._store.write(files.forget_unused(after_micros))
        for one in hashes:
            await self._contents.forget(one)
        return len(hashes)


def _sweep_incoming(place: Path, after_micros: int) -> None:
    until = time.time() - after_micros / 1_000_000
    for path in place.iterdir() if place.is_dir() else ():
        # Gone meanwhile: the upload ended.
        with suppress(FileNotFoundError):
            if path.lstat().st_mtime <= until:
                path.unlink()


def _created(path: Path) -> BinaryIO:
    # Unbuffered: what was written can be read through another descriptor at once.
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb", 0)


def _media_type(path: Path) -> str:
    with path.open("rb") as content:
        known = type_by_head(content.read(HEAD_BYTES))
        if known is None:
            content.seek(0)
            known = TEXT if is_text(_pieces(content)) else None
    if known is None:
        raise InvalidInput(f"Files of this kind cannot be used here. Accepted: {ACCEPTED}.", field="file")
    return known


def _pieces(content: BinaryIO) -> Iterator[bytes]:
    while piece := content.read(_PIECE):
        yield piece
