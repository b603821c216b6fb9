"""Reads for watchers of a chat list: which chats have been active since, and what they wait for a person to
do."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.core.ids import ChatId, UserId
from holdfast.core.steps import TurnKind, TurnOutcome
from holdfast.store.columns import placeholders
from holdfast.store.query import Query, Row, constant, each, first_column, query

# Ordered by last activity; both halves use an index.
_ACTIVE = (
    "SELECT * FROM (SELECT c.id, c.active_at FROM chats c WHERE c.owner_id = $1 AND c.parent_id IS NULL "
    "AND c.run_id IS NULL AND {archived} AND (c.active_at, c.id) > ($2, $3) "
    "ORDER BY c.active_at DESC, c.id DESC LIMIT $4) AS {name}"
)
_HERE = _ACTIVE.format(archived="NOT c.archived", name="here")
_AWAY = _ACTIVE.format(archived="c.archived", name="away")
ACTIVE_SINCE = (
    f"SELECT id, active_at FROM ({_HERE} UNION ALL {_AWAY}) AS active "
    "ORDER BY active_at DESC, id DESC LIMIT $4"
)
ROOTS = "SELECT DISTINCT root_id FROM chats WHERE run_id IS NULL AND id IN (%s)"
ENDS = (
    "SELECT c.id, c.active_at, c.turn_kind, "
    "(SELECT t.outcome FROM turns t WHERE t.chat_id = c.id ORDER BY t.number DESC LIMIT 1) "
    "FROM chats c WHERE c.id IN (%s)"
)
FIRST = ChatId("00000000-0000-0000-0000-000000000000")


@dataclass(frozen=True, slots=True, order=True)
class ListPosition:
    """A position in a list: everything up to this chat's last activity."""

    active_at: int = 0
    chat_id: ChatId = FIRST


@dataclass(frozen=True, slots=True)
class ListedTurn:
    """How the newest turn of a chat ended; None: it has not ended yet."""

    active_at: int
    kind: TurnKind
    outcome: TurnOutcome | None


def active_since(owner_id: UserId, place: ListPosition, *, limit: int) -> Query[tuple[ListPosition, ...]]:
    """The listed chats that were active after this position, newest first, including archived ones."""
    args = (owner_id, place.active_at, place.chat_id, limit)
    return query(ACTIVE_SINCE, *args, read=each(lambda row: ListPosition(row[1], row[0])))


def roots(chat_ids: Sequence[ChatId]) -> Query[list[ChatId]]:
    """The listed chats that these belong to; agents of runs belong to none."""
    if not chat_ids:
        return constant([])
    return query(ROOTS % placeholders(len(chat_ids)), *chat_ids, read=first_column)


def last_turns(chat_ids: Sequence[ChatId]) -> Query[dict[ChatId, ListedTurn]]:
    if not chat_ids:
        return constant({})

    def read(rows: Sequence[Row]) -> dict[ChatId, ListedTurn]:
        return {row[0]: ListedTurn(row[1], row[2], row[3]) for row in rows}

    return query(ENDS % placeholders(len(chat_ids)), *chat_ids, read=read)
