"""The audit log: who did what. Append-only. An entry should be written in the same transaction as what it
reports (`audited`)."""

from typing import TypeVar

import msgspec

from holdfast.core.accounts import AuditEntry
from holdfast.core.clock import from_micros, to_micros
from holdfast.core.ids import AuditId
from holdfast.core.shapes import encode_text
from holdfast.core.text import clean_deep
from holdfast.store.columns import columns, listed, placeholders
from holdfast.store.query import Query, Row, each, joined, query

T = TypeVar("T")

ENTRY = columns("id at user_id action target outcome detail")

INSERT = f"INSERT INTO audit ({listed(ENTRY)}) VALUES ({placeholders(len(ENTRY))}) ON CONFLICT DO NOTHING"
PAGE = f"SELECT {listed(ENTRY)} FROM audit WHERE id < $1 ORDER BY id DESC LIMIT $2"

_LAST = AuditId("ffffffff-ffff-ffff-ffff-ffffffffffff")


def add(entry: AuditEntry) -> Query[None]:
    entry = clean_deep(entry)
    row = (entry.id, to_micros(entry.at), entry.user_id, entry.action, entry.target, entry.outcome)
    return query(INSERT, *row, encode_text(entry.detail), read=lambda _: None)


def audited(write: Query[T], entry: AuditEntry) -> Query[T]:
    """Both or neither: a write that raises leaves no entry claiming it was done."""
    return joined(write, add(entry), read=lambda answer, _: answer)


def page(*, before: AuditId | None = None, limit: int = 50) -> Query[tuple[AuditEntry, ...]]:
    """The newest first."""
    return query(PAGE, before or _LAST, limit, read=each(_entry_of))


def _entry_of(row: Row) -> AuditEntry:
    return AuditEntry(
        id=row[0],
        at=from_micros(row[1]),
        user_id=row[2],
        action=row[3],
        target=row[4],
        outcome=row[5],
        detail=msgspec.json.decode(row[6]),
    )
