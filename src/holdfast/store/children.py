"""The children of a chat: which it has, what became of their turns, and ends that nobody was told of."""

from dataclasses import dataclass

from holdfast.chats.view import Delivery
from holdfast.core.chats import Status
from holdfast.core.failures import Failure
from holdfast.core.ids import CallId, ChatId, MessageId
from holdfast.core.steps import TurnOutcome
from holdfast.store.columns import listed
from holdfast.store.query import Query, Row, at_most_one, each, query
from holdfast.store.rows import DELIVERY, delivery_of, failure_of

# A child that waits for a parent's `wait_agents` is left to it.
WAITING_TOOL = "wait_agents"

_CHILD = (
    "SELECT c.id, c.parent_id, s.title, c.status, c.answer_id, t.outcome, t.finished_at, t.failure, c.turn, "
    "c.created_at FROM chats c JOIN settings s ON s.chat_id = c.id "
    "LEFT JOIN turns t ON t.chat_id = c.id AND t.number = c.turn"
)
OF_PARENT = f"{_CHILD} WHERE c.parent_id = $1 ORDER BY c.id"
ONE = f"{_CHILD} WHERE c.id = $1"
OF_CALL = f"{_CHILD} WHERE c.parent_id = $1 AND c.parent_call_id = $2"
# From the chat itself up to its root.
LINE = (
    "WITH RECURSIVE up (id, parent_id) AS (SELECT id, parent_id FROM chats WHERE id = $1 "
    "UNION ALL SELECT c.id, c.parent_id FROM up u JOIN chats c ON c.id = u.parent_id) SELECT id FROM up"
)
UNTOLD = (
    f"SELECT {listed(DELIVERY, 'd')} FROM deliveries d WHERE NOT d.taken AND d.parent_id IS NOT NULL "
    "AND NOT EXISTS (SELECT 1 FROM calls a WHERE a.chat_id = d.parent_id AND a.state <> 'answered' "
    f"AND a.state IN ('pending', 'started') AND a.name = '{WAITING_TOOL}') ORDER BY d.created_at LIMIT $1"
)


@dataclass(frozen=True, slots=True)
class Child:
    id: ChatId
    parent_id: ChatId | None
    label: str
    status: Status
    answer_id: MessageId | None
    # How its newest turn ended; None while it runs.
    outcome: TurnOutcome | None
    failure: Failure | None
    turn: int
    created_at_micros: int
    finished_at_micros: int | None

    @property
    def busy(self) -> bool:
        return self.status in ("running", "interrupting", "requires_action")


def children(parent_id: ChatId) -> Query[tuple[Child, ...]]:
    return query(OF_PARENT, parent_id, read=each(_child_of))


def child(chat_id: ChatId) -> Query[Child | None]:
    return query(ONE, chat_id, read=at_most_one(_child_of))


def child_of_call(parent_id: ChatId, call_id: CallId) -> Query[Child | None]:
    """The one that this call has started, if it has."""
    return query(OF_CALL, parent_id, call_id, read=at_most_one(_child_of))


def line(chat_id: ChatId) -> Query[tuple[ChatId, ...]]:
    """The chat, its parent, and so on up to the root."""
    return query(LINE, chat_id, read=each(lambda row: row[0]))


def untold(limit: int) -> Query[tuple[Delivery, ...]]:
    """Ends of children whose parents are not waiting for them."""
    return query(UNTOLD, limit, read=each(delivery_of))


def _child_of(row: Row) -> Child:
    return Child(
        id=row[0],
        parent_id=row[1],
        label=row[2],
        status=row[3],
        answer_id=row[4],
        outcome=row[5],
        failure=failure_of(row[7]),
        turn=row[8],
        created_at_micros=row[9],
        finished_at_micros=row[6],
    )
