"""The queue of a chat, and its inbox: notices that wait to enter history."""

from holdfast.chats.view import InboxNotice, Queued
from holdfast.core.ids import ChatId
from holdfast.core.messages import QueueItem
from holdfast.store.query import Query, each, query
from holdfast.store.rows import notice_of, queued_of
from holdfast.store.views import INBOX, QUEUE

# Chats with a hold that has lapsed.
LAPSED = (
    "SELECT DISTINCT chat_id FROM queue WHERE hold_until IS NOT NULL AND hold_until <= now_micros() LIMIT $1"
)


def queue(chat_id: ChatId) -> Query[tuple[Queued, ...]]:
    return query(QUEUE, chat_id, read=each(queued_of))


def inbox(chat_id: ChatId) -> Query[tuple[InboxNotice, ...]]:
    return query(INBOX, chat_id, read=each(notice_of))


def lapsed(limit: int) -> Query[tuple[ChatId, ...]]:
    return query(LAPSED, limit, read=each(lambda row: row[0]))


def item_of(item: Queued, position: int, *, with_token: bool = False) -> QueueItem:
    """The item as clients see it. Its token is only for the client that took the hold."""
    return QueueItem(
        id=item.id,
        content=item.parts,
        busy=item.busy,
        position=position,
        held=item.held,
        hold_token=item.hold_token if with_token else None,
        model=item.model,
        effort=item.effort,
        created_by=item.created_by,
        created_at=item.created_at,
    )
