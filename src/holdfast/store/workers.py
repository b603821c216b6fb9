"""Workers: how many are alive, and what happens to a chat that one of them acquires."""

from datetime import datetime

from holdfast.chats.change import Change
from holdfast.chats.commands import Acquire, Reconcile
from holdfast.chats.decide import decide
from holdfast.chats.states import State, state_of
from holdfast.chats.view import View
from holdfast.core.ids import Ids, WorkerId
from holdfast.store.query import Query, query

LIVING = "SELECT count(*) FROM workers WHERE expires_at > now_micros()"

# At most so many at once, whatever the limits allow: a restart with ten thousand chats must not be one
# transaction.
BATCH = 200


def acquire(
    view: View, worker_id: WorkerId, expires_at: datetime, *, now: datetime, ids: Ids
) -> tuple[Change | None, bool]:
    """The change, and whether the chat belongs to the worker after it. A chat in an invalid state would be
    acquired again and again, so it is repaired instead."""
    chat_id = view.chat.id
    if state_of(view) is State.INVALID:
        repair = decide(chat_id, view, (Reconcile(),), now=now, ids=ids)
        return (repair if isinstance(repair, Change) else None), False
    change = decide(chat_id, view, (Acquire(worker_id=worker_id, expires_at=expires_at),), now=now, ids=ids)
    return (change, True) if isinstance(change, Change) else (None, False)


def living() -> Query[int]:
    """How many workers have a lease that has not run out."""
    return query(LIVING, read=lambda rows: int(rows[0][0]))
