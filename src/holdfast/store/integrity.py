"""Errors in the data that no engine would notice: contradicting rows, chats in an invalid state, histories
that no provider would accept."""

from collections import Counter
from collections.abc import Iterable
from typing import Protocol, TypeVar, overload

from holdfast.chats.states import flaw
from holdfast.chats.view import View
from holdfast.core.ids import CallId, ChatId
from holdfast.core.messages import Message
from holdfast.core.parts import ToolCall, ToolResult
from holdfast.store import messages, views
from holdfast.store.query import Query, each, query

A = TypeVar("A")
B = TypeVar("B")

# A statement about a chat, and the query that finds such chats.
CONTRADICTIONS: tuple[tuple[str, str], ...] = (
    (
        "has a wrong count of queued messages",
        (
            "SELECT c.id FROM chats c "
            "WHERE c.queue_length <> (SELECT count(*) FROM queue q WHERE q.chat_id = c.id)"
        ),
    ),
    (
        "has a wrong count of messages",
        (
            "SELECT c.id FROM chats c "
            "WHERE c.message_count <> (SELECT count(*) FROM messages m WHERE m.chat_id = c.id)"
        ),
    ),
    (
        "has counters ahead of its version",
        (
            "SELECT c.id FROM chats c WHERE c.history_version > c.version OR c.queue_version > c.version "
            "OR c.retry_version > c.version OR c.searched_version > c.history_version"
        ),
    ),
    (
        "has messages newer than its history",
        (
            "SELECT c.id FROM chats c WHERE EXISTS "
            "(SELECT 1 FROM messages m WHERE m.chat_id = c.id AND m.revision > c.history_version)"
        ),
    ),
    (
        "has a message both in its queue and in its history",
        (
            "SELECT DISTINCT q.chat_id FROM queue q "
            "JOIN messages m ON m.chat_id = q.chat_id AND m.queue_item_id = q.id"
        ),
    ),
    (
        "has no settings",
        "SELECT c.id FROM chats c WHERE NOT EXISTS (SELECT 1 FROM settings s WHERE s.chat_id = c.id)",
    ),
    (
        "has a parent that does not exist",
        (
            "SELECT c.id FROM chats c WHERE c.parent_id IS NOT NULL "
            "AND NOT EXISTS (SELECT 1 FROM chats p WHERE p.id = c.parent_id)"
        ),
    ),
    (
        "has a call of a message that does not exist",
        (
            "SELECT DISTINCT a.chat_id FROM calls a WHERE NOT EXISTS "
            "(SELECT 1 FROM messages m WHERE m.chat_id = a.chat_id AND m.id = a.message_id)"
        ),
    ),
)
CHAT_IDS = "SELECT id FROM chats WHERE id > $1 ORDER BY id LIMIT 500"
_NOTHING = ChatId("00000000-0000-0000-0000-000000000000")
PAGE = 100


class RowReader(Protocol):
    @overload
    async def read(self, a: Query[A], /) -> A: ...
    @overload
    async def read(self, a: Query[A], b: Query[B], /) -> tuple[A, B]: ...


async def examine(store: RowReader) -> list[str]:
    """Everything that is wrong, one sentence each."""
    found: list[str] = []
    for text, sql in CONTRADICTIONS:
        chats = await store.read(query(sql, read=each(lambda row: str(row[0]))))
        found += [f"Chat {chat_id} {text}." for chat_id in chats]
    last = _NOTHING
    while ids := await store.read(query(CHAT_IDS, last, read=each(lambda row: ChatId(row[0])))):
        for chat_id in ids:
            found += [f"Chat {chat_id} {text}." for text in await _examine_chat(store, chat_id)]
        last = ids[-1]
    return found


async def _examine_chat(store: RowReader, chat_id: ChatId) -> list[str]:
    """Page by page, so that a long history needs little memory. A chat that changes meanwhile is read
    again."""
    while True:
        tally, after = _Tally(), None
        while True:
            view, page = await store.read(
                views.view(chat_id),
                messages.page(chat_id, after=after, limit=PAGE, removed=True, for_model=True),
            )
            if view is None:
                return []
            if tally.version not in (None, view.chat.version):
                break
            tally.version = view.chat.version
            tally.add(page)
            if len(page) < PAGE:
                return tally.flaws(view)
            after = page[-1].id


class _Tally:
    """The calls and results of a history, counted page by page. Removed messages do not count."""

    def __init__(self) -> None:
        self.version: int | None = None
        self._calls: Counter[CallId] = Counter()
        self._results: Counter[CallId] = Counter()

    def add(self, page: Iterable[Message]) -> None:
        for message in page:
            for part in () if message.removed else message.parts:
                if isinstance(part, ToolResult):
                    self._results[part.call_id] += 1
                elif isinstance(part, ToolCall) and not part.provider_executed:
                    self._calls[part.call_id] += 1

    def flaws(self, view: View) -> list[str]:
        wrong, waiting = flaw(view), {call.call_id for call in view.calls}
        return [
            *([] if wrong is None else [f"cannot be: {wrong}"]),
            *(f"has {count} results of call {call}" for call, count in self._results.items() if count > 1),
            *(f"asked for call {call} {count} times" for call, count in self._calls.items() if count > 1),
            *(
                f"has no result of call {call}"
                for call in self._calls
                if call not in self._results and call not in waiting
            ),
        ]
