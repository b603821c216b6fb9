"""What a user's chats used, summed over their steps."""

from dataclasses import dataclass
from typing import Literal

from holdfast.core.ids import UserId
from holdfast.core.usage import Usage
from holdfast.store.query import Query, Row, each, query

By = Literal["day", "model", "chat", "category"]

DAY_MICROS = 86_400_000_000

# What each line is about, per way of grouping.
_KEYS: dict[By, str] = {
    "day": f"CAST(s.finished_at / {DAY_MICROS} AS text)",
    "model": "coalesce(s.model, '')",
    "chat": "c.root_id",
    "category": "CASE WHEN s.kind <> 'model' THEN s.kind WHEN c.run_id IS NOT NULL THEN 'workflow' "
    "WHEN c.parent_id IS NOT NULL THEN 'agent' ELSE 'chat' END",
}
_SUMMED = (
    "input",
    "output",
    "reasoning",
    "cache_read",
    "cache_write",
    "total",
    "cost_usd_micros",
    "unpriced_steps",
)
_SUMS = ", ".join(f"CAST(sum(json_int(s.usage, '{name}')) AS bigint)" for name in _SUMMED)

SPENT = (
    f"SELECT %s AS line, count(*), {_SUMS} FROM chats c JOIN steps s ON s.chat_id = c.id "
    "WHERE c.owner_id = $1 AND s.finished_at >= $2 GROUP BY line ORDER BY line LIMIT $3"
)


@dataclass(frozen=True, slots=True)
class SpendingRow:
    key: str
    steps: int
    usage: Usage


def spent(owner_id: UserId, by: By, *, since_micros: int, limit: int) -> Query[tuple[SpendingRow, ...]]:
    """Sub-agents are counted with the chat they belong to."""
    return query(SPENT % _KEYS[by], owner_id, since_micros, limit, read=each(_line_of))


def _line_of(row: Row) -> SpendingRow:
    return SpendingRow(row[0], row[1], Usage(**dict(zip(_SUMMED, row[2:], strict=True))))
