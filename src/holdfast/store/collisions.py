"""Which chats edited what, and which of them were told about each other. Only recent work matters: an edit
counts for an hour."""

from collections.abc import Sequence

import msgspec

from holdfast.core.clock import from_micros
from holdfast.core.collisions import Collision, FileEdit, Lines, Severity, worst
from holdfast.core.ids import ChatId
from holdfast.core.shapes import encode_text
from holdfast.core.text import clean_deep
from holdfast.store.columns import columns, listed, micros, placeholders
from holdfast.store.query import Query, Row, Rows, each, query

# Edits within this time count as made at about the same time.
WINDOW_MICROS = 3600 * 1_000_000
MOST = 100

EDIT = columns("id owner_id chat_id place path edited_at lines")

INSERT = f"INSERT INTO edits ({listed(EDIT)}) VALUES ({placeholders(len(EDIT))}) ON CONFLICT DO NOTHING"
OTHERS = (
    f"SELECT {listed(EDIT)} FROM edits WHERE owner_id = $1 AND place = $2 AND chat_id <> $3 "
    f"AND edited_at > now_micros() - {WINDOW_MICROS} ORDER BY edited_at DESC LIMIT {MOST}"
)
COLLIDE = (
    "INSERT INTO collisions (chat_id, other_id, path, severity, noticed_at) "
    "VALUES ($1, $2, $3, $4, now_micros()) ON CONFLICT (chat_id, path, other_id) "
    "DO UPDATE SET severity = excluded.severity, noticed_at = excluded.noticed_at"
)
OF_CHAT = (
    "SELECT path, severity, other_id FROM collisions WHERE chat_id = $1 "
    f"AND noticed_at > now_micros() - {WINDOW_MICROS} ORDER BY path, other_id LIMIT {MOST}"
)
FORGET_EDITS = f"DELETE FROM edits WHERE edited_at < now_micros() - {WINDOW_MICROS}"
FORGET_COLLISIONS = f"DELETE FROM collisions WHERE noticed_at < now_micros() - {WINDOW_MICROS}"
DROP_EDITS = "DELETE FROM edits WHERE chat_id = $1"
DROP_COLLISIONS = "DELETE FROM collisions WHERE chat_id = $1 OR other_id = $1"

_lines = msgspec.json.Decoder(Lines).decode


def add(new: FileEdit) -> Query[tuple[FileEdit, ...]]:
    """Other chats' edits at the same place, newest first."""
    new = clean_deep(new)
    lines = None if new.lines is None else encode_text(new.lines)
    row = (new.id, new.owner_id, new.chat_id, new.place, new.path, micros(new.edited_at), lines)
    statements = ((INSERT, row), (OTHERS, (new.owner_id, new.place, new.chat_id)))
    return Query(statements, lambda results: each(_edit_of)(results[1]))


def collide(one: FileEdit, other: FileEdit, found: Severity) -> Query[None]:
    """Records the collision for both chats, each with its own name for the file."""
    rows = (
        (one.chat_id, other.chat_id, one.path, found),
        (other.chat_id, one.chat_id, other.path, found),
    )
    return Query(tuple((COLLIDE, row) for row in rows), lambda _: None)


def of_chat(chat_id: ChatId) -> Query[tuple[Collision, ...]]:
    def read(rows: Rows) -> tuple[Collision, ...]:
        paths = dict.fromkeys(row[0] for row in rows)
        return tuple(_collision(chat_id, path, [row for row in rows if row[0] == path]) for path in paths)

    return query(OF_CHAT, chat_id, read=read)


def forget_old() -> Query[None]:
    return Query(((FORGET_EDITS, ()), (FORGET_COLLISIONS, ())), lambda _: None)


def forget(chat_id: ChatId) -> Query[None]:
    """The chat's changes are gone: merged, undone, or removed with its worktree."""
    return Query(((DROP_EDITS, (chat_id,)), (DROP_COLLISIONS, (chat_id,))), lambda _: None)


def _collision(chat_id: ChatId, path: str, rows: Sequence[Row]) -> Collision:
    others = tuple(row[2] for row in rows)
    return Collision(path=path, severity=worst(row[1] for row in rows), chats=(chat_id, *others))


def _edit_of(row: Row) -> FileEdit:
    edit_id, owner_id, chat_id, place, path, edited_at, lines = row
    return FileEdit(
        id=edit_id,
        owner_id=owner_id,
        chat_id=chat_id,
        place=place,
        path=path,
        edited_at=from_micros(edited_at),
        lines=None if lines is None else _lines(lines),
    )
