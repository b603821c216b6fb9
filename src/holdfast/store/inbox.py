"""Notices that wait to enter a history."""

from holdfast.chats.view import InboxNotice
from holdfast.core.ids import ChatId
from holdfast.store.query import Query, each, query
from holdfast.store.rows import notice_of
from holdfast.store.views import INBOX


def inbox(chat_id: ChatId) -> Query[tuple[InboxNotice, ...]]:
    return query(INBOX, chat_id, read=each(notice_of))
