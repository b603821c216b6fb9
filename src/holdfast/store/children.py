"""The children of a chat: which ones it has, how their turns ended, and ends that have not been delivered
yet."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from holdfast.chats.view import Delivery
from holdfast.core.chats import Status
from holdfast.core.clock import from_micros
from holdfast.core.failures import Failure
from holdfast.core.ids import CallId, ChatId, MessageId, UserId, WorkspaceId
from holdfast.core.steps import TurnOutcome
from holdfast.store.columns import listed, moment
from holdfast.store.query import Query, Row, any_row, at_most_one, each, query
from holdfast.store.rows import DELIVERY, delivery_of, failure_of, has_trait

_CHILD = (
    "SELECT c.id, c.parent_id, c.owner_id, s.workspace_id, s.title, c.status, c.answer_id, t.outcome, "
    "t.failure, c.created_at, t.finished_at FROM chats c JOIN settings s ON s.chat_id = c.id "
    "LEFT JOIN turns t ON t.chat_id = c.id AND t.number = c.turn"
)
OF_PARENT = f"{_CHILD} WHERE c.parent_id = $1 ORDER BY c.id"
# %s is replaced by the ids.
SOME = f"{_CHILD} WHERE c.id IN (%s) ORDER BY c.id"
OF_CALL = f"{_CHILD} WHERE c.parent_id = $1 AND c.parent_call_id = $2"
# From the chat itself up to its root.
LINE = (
    "WITH RECURSIVE up (id, parent_id) AS (SELECT id, parent_id FROM chats WHERE id = $1 "
    "UNION ALL SELECT c.id, c.parent_id FROM up u JOIN chats c ON c.id = u.parent_id) SELECT id FROM up"
)
# Calls, as a, that will deliver ends themselves.
_HANDS_OVER = (
    "a.state <> 'answered' AND a.state IN ('pending', 'started') AND NOT a.abandoned "
    f"AND {has_trait('a', 'hands_over_ends')}"
)
UNTOLD = (
    f"SELECT {listed(DELIVERY, 'd')} FROM deliveries d JOIN chats p ON p.id = d.parent_id "
    "WHERE NOT d.taken AND d.parent_id IS NOT NULL "
    "AND (p.status <> 'running' OR d.created_at <= now_micros() - $2) "
    f"AND NOT EXISTS (SELECT 1 FROM calls a WHERE a.chat_id = d.parent_id AND {_HANDS_OVER}) "
    "ORDER BY d.created_at LIMIT $1"
)
HANDED_OVER_BEFORE = (
    "SELECT 1 FROM calls m JOIN calls a ON a.chat_id = m.chat_id AND a.position < m.position "
    f"AND {_HANDS_OVER} WHERE m.chat_id = $1 AND m.call_id = $2"
)


@dataclass(frozen=True, slots=True)
class Child:
    id: ChatId
    parent_id: ChatId | None
    owner_id: UserId
    workspace_id: WorkspaceId | None
    label: str
    status: Status
    answer_id: MessageId | None
    # How its newest turn ended; None while it is running.
    outcome: TurnOutcome | None
    failure: Failure | None
    created_at: datetime
    finished_at: datetime | None

    @property
    def busy(self) -> bool:
        return self.status in ("running", "interrupting", "requires_action")


def children(parent_id: ChatId) -> Query[tuple[Child, ...]]:
    return query(OF_PARENT, parent_id, read=each(_child_of))


def some(chat_ids: Collection[ChatId]) -> Query[tuple[Child, ...]]:
    """Those that exist."""
    ids = ", ".join(f"${n}" for n in range(1, len(chat_ids) + 1)) or "NULL"
    return query(SOME % ids, *chat_ids, read=each(_child_of))


def child(chat_id: ChatId) -> Query[Child | None]:
    return query(SOME % "$1", chat_id, read=at_most_one(_child_of))


def child_of_call(parent_id: ChatId, call_id: CallId) -> Query[Child | None]:
    """The child that this call started, if any."""
    return query(OF_CALL, parent_id, call_id, read=at_most_one(_child_of))


def line(chat_id: ChatId) -> Query[tuple[ChatId, ...]]:
    """The chat, its parent, and so on up to the root."""
    return query(LINE, chat_id, read=each(lambda row: row[0]))


def untold(limit: int, after_seconds: float = 0.0) -> Query[tuple[Delivery, ...]]:
    """Ends of children that no call of their parent is about to deliver. If the parent is running, and so may
    be about to make such a call, only ends older than this."""
    return query(UNTOLD, limit, int(after_seconds * 1_000_000), read=each(delivery_of))


def handed_over_before(chat_id: ChatId, call_id: CallId) -> Query[bool]:
    """Whether an earlier call of the same step may still deliver ends: two calls must not report the same
    end."""
    return query(HANDED_OVER_BEFORE, chat_id, call_id, read=any_row)


def _child_of(row: Row) -> Child:
    return Child(
        id=row[0],
        parent_id=row[1],
        owner_id=row[2],
        workspace_id=row[3],
        label=row[4],
        status=row[5],
        answer_id=row[6],
        outcome=row[7],
        failure=failure_of(row[8]),
        created_at=from_micros(row[9]),
        finished_at=moment(row[10]),
    )
