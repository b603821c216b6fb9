"""Ends of children's turns, each to be delivered once; here are those that nobody has taken yet."""

from holdfast.chats.commands import DeliveryKey
from holdfast.chats.view import Delivery
from holdfast.core.ids import ChatId, RunId
from holdfast.store.columns import listed
from holdfast.store.query import Query, at_most_one, each, query
from holdfast.store.rows import DELIVERY, delivery_of

_SELECT = f"SELECT {listed(DELIVERY)} FROM deliveries WHERE NOT taken"

ONE = f"SELECT {listed(DELIVERY)} FROM deliveries WHERE child_id = $1 AND turn = $2"
FOR_PARENT = f"{_SELECT} AND parent_id = $1 ORDER BY created_at, child_id, turn"
FOR_RUN = f"{_SELECT} AND run_id = $1 ORDER BY created_at, child_id, turn"


def delivery(key: DeliveryKey) -> Query[Delivery | None]:
    """Whether taken or not."""
    return query(ONE, key.child_id, key.turn, read=at_most_one(delivery_of))


def deliveries_for_parent(parent_id: ChatId) -> Query[tuple[Delivery, ...]]:
    return query(FOR_PARENT, parent_id, read=each(delivery_of))


def deliveries_for_run(run_id: RunId) -> Query[tuple[Delivery, ...]]:
    return query(FOR_RUN, run_id, read=each(delivery_of))
