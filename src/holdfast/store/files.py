"""Files: who owns them, which chats use them, and their contents where those are in the database. A file that
no chat uses is kept for a day, for somebody who is still writing the message."""

from collections.abc import Callable, Iterable, Sequence

from holdfast.core.clock import from_micros
from holdfast.core.errors import TooLarge
from holdfast.core.files import StoredFile
from holdfast.core.ids import ChatId, FileId, UserId
from holdfast.core.text import clean_deep
from holdfast.store.columns import columns, listed, micros, placeholders
from holdfast.store.query import (
    Query,
    Row,
    Rows,
    Statement,
    any_row,
    at_most_one,
    first_column,
    joined,
    query,
)

UNUSED_MICROS = 24 * 3600 * 1_000_000
# A use is recorded before its chat exists.
CHAT_COMES_MICROS = 3600 * 1_000_000
SWEPT_AT_ONCE = 200

FILE = columns("id owner_id name media_type size hash created_at")

INSERT = f"INSERT INTO files ({listed(FILE)}) VALUES ({placeholders(len(FILE))}) ON CONFLICT DO NOTHING"
OWNED = f"SELECT {listed(FILE)} FROM files WHERE id = $1 AND owner_id = $2"
USE = (
    "INSERT INTO file_uses (file_id, chat_id, used_at) VALUES ($1, $2, now_micros()) "
    "ON CONFLICT (file_id, chat_id) DO UPDATE SET used_at = excluded.used_at"
)
USES = "SELECT file_id FROM file_uses WHERE chat_id = $1"
FORGET_USES = (
    "DELETE FROM file_uses WHERE used_at < now_micros() - $1 "
    "AND NOT EXISTS (SELECT 1 FROM chats c WHERE c.id = file_uses.chat_id)"
)
FORGET_UNUSED = (
    "DELETE FROM files WHERE id IN (SELECT f.id FROM files f WHERE f.created_at < now_micros() - $1 "
    "AND NOT EXISTS (SELECT 1 FROM file_uses u WHERE u.file_id = f.id) ORDER BY f.created_at LIMIT $2) "
    "RETURNING hash"
)
USED = "SELECT CAST(coalesce(sum(size), 0) AS bigint) FROM files WHERE owner_id = $1"
KNOWN = "SELECT 1 FROM files WHERE hash = $1 LIMIT 1"

# Only where contents are in the database.
PUT_CONTENT = (
    "INSERT INTO file_contents (hash, content, thumbnail) VALUES ($1, $2, $3) ON CONFLICT (hash) DO NOTHING"
)
CONTENT = "SELECT content FROM file_contents WHERE hash = $1"
THUMBNAIL = "SELECT thumbnail FROM file_contents WHERE hash = $1"
FORGET_CONTENT = (
    "DELETE FROM file_contents WHERE hash = $1 AND NOT EXISTS (SELECT 1 FROM files f WHERE f.hash = $1)"
)


def add(new: StoredFile, quota_bytes: int) -> Query[StoredFile]:
    """Raises TooLarge if the owner's files would exceed the quota (0: no quota)."""
    return Query((_insert(new), _used(new)), _within(new, quota_bytes))


def add_with_content(
    new: StoredFile, content: bytes, thumbnail: bytes | None, quota_bytes: int
) -> Query[StoredFile]:
    """Both or neither; identical content is stored once."""
    put = (PUT_CONTENT, (new.hash, content, thumbnail))
    return Query((put, _insert(new), _used(new)), _within(new, quota_bytes))


def _used(new: StoredFile) -> Statement:
    return USED, (new.owner_id,)


def _within(new: StoredFile, quota_bytes: int) -> Callable[[Sequence[Rows]], StoredFile]:
    def read(results: Sequence[Rows]) -> StoredFile:
        # Checked after the insert, in the same transaction, so that two concurrent uploads cannot both take
        # the last bytes.
        if quota_bytes and int(results[-1][0][0]) > quota_bytes:
            raise TooLarge(
                f"Your files may take {quota_bytes // 2**20} MiB in total (files.quota_mib in the "
                "configuration), and this one would exceed that. Delete chats with files; files "
                "that no chat uses are removed after a day."
            )
        return new

    return read


def file(file_id: FileId, owner_id: UserId) -> Query[StoredFile | None]:
    return query(OWNED, file_id, owner_id, read=at_most_one(_file_of))


def files(file_ids: Iterable[FileId], owner_id: UserId) -> Query[dict[FileId, StoredFile]]:
    """Those that belong to this owner."""

    def read(*found: StoredFile | None) -> dict[FileId, StoredFile]:
        return {one.id: one for one in found if one is not None}

    return joined(*(file(file_id, owner_id) for file_id in file_ids), read=read)


def use(file_ids: Iterable[FileId], chat_id: ChatId) -> Query[None]:
    """Records that a chat uses them; repeating it changes nothing."""
    return Query(tuple((USE, (file_id, chat_id)) for file_id in file_ids), lambda _: None)


def used_in(chat_id: ChatId) -> Query[list[FileId]]:
    return query(USES, chat_id, read=first_column)


def forget_unused(after_micros: int = UNUSED_MICROS) -> Query[tuple[str, ...]]:
    """Deletes files that no chat has used for this long, and uses by deleted chats; returns the hashes of
    their contents."""
    forget_uses = (FORGET_USES, (min(after_micros, CHAT_COMES_MICROS),))

    def read(results: Sequence[Rows]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(first_column(results[1])))

    return Query((forget_uses, (FORGET_UNUSED, (after_micros, SWEPT_AT_ONCE))), read)


def is_known(content_hash: str) -> Query[bool]:
    return query(KNOWN, content_hash, read=any_row)


def content(content_hash: str) -> Query[bytes | None]:
    return query(CONTENT, content_hash, read=at_most_one(lambda row: bytes(row[0])))


def thumbnail(content_hash: str) -> Query[bytes | None]:
    return query(THUMBNAIL, content_hash, read=at_most_one(lambda row: row[0] and bytes(row[0])))


def forget_content(content_hash: str) -> Query[None]:
    """Only if no file has it."""
    return query(FORGET_CONTENT, content_hash, read=lambda _: None)


def _insert(new: StoredFile) -> Statement:
    new = clean_deep(new)
    row = (new.id, new.owner_id, new.name, new.media_type, new.size, new.hash, micros(new.created_at))
    return INSERT, row


def _file_of(row: Row) -> StoredFile:
    file_id, owner_id, name, media_type, size, content_hash, created_at = row
    return StoredFile(
        id=file_id,
        owner_id=owner_id,
        name=name,
        media_type=media_type,
        size=size,
        hash=content_hash,
        created_at=from_micros(created_at),
    )
