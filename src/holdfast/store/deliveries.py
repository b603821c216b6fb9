"""Ends of children's turns that nobody has taken yet."""

from holdfast.chats.view import Delivery
from holdfast.core.ids import ChatId, RunId
from holdfast.store.columns import listed
from holdfast.store.query import Query, each, query
from holdfast.store.rows import DELIVERY, delivery_of

_SELECT = f"SELECT {listed(DELIVERY)} FROM deliveries WHERE NOT taken"

FOR_PARENT = f"{_SELECT} AND parent_id = $1 ORDER BY created_at, child_id"
FOR_RUN = f"{_SELECT} AND run_id = $1 ORDER BY created_at, child_id"


def deliveries_for_parent(parent_id: ChatId) -> Query[tuple[Delivery, ...]]:
    return query(FOR_PARENT, parent_id, read=each(delivery_of))


def deliveries_for_run(run_id: RunId) -> Query[tuple[Delivery, ...]]:
    return query(FOR_RUN, run_id, read=each(delivery_of))
