"""Full-text search with tsvector: filled in the background, read newest first, always restricted to the
owner. Words are folded before they come here, so the server's text search configuration plays no role."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from holdfast.core.errors import InvalidInput
from holdfast.core.ids import ChatId, MessageId, UserId
from holdfast.core.messages import Message
from holdfast.store import chats as chat_queries
from holdfast.store import messages as history
from holdfast.store.chats import Only
from holdfast.store.interface import Hit, SearchPage
from holdfast.store.query import Row, Rows
from holdfast.store.search_words import Sought, sought, words_of_message

# One page of chats examines at most this many matching messages; the next page continues from there.
WINDOW = 2_000

BEHIND = (
    "SELECT id, owner_id, history_version, searched_version FROM chats "
    "WHERE search_pending ORDER BY id LIMIT $1"
)
DROP_WORDS = "DELETE FROM message_words WHERE chat_id = $1 AND message_id = ANY($2::text[]::uuid[])"
# Only for messages that still exist. Two replicas may do the same at once.
PUT_WORDS = (
    "INSERT INTO message_words (chat_id, message_id, owner_id, words) "
    "SELECT m.chat_id, m.id, $3, array_to_tsvector($4::text[]) FROM messages m "
    "WHERE m.chat_id = $1 AND m.id = $2 AND NOT m.removed "
    "ON CONFLICT (chat_id, message_id) DO UPDATE SET words = excluded.words"
)
# History may have moved on since: then the chat stays pending.
SEARCHED = (
    "UPDATE chats SET searched_version = greatest(searched_version, $2), "
    "search_pending = history_version > greatest(searched_version, $2) WHERE id = $1"
)

IN_CHAT = (
    "SELECT w.chat_id, w.message_id FROM message_words w "
    "JOIN messages m ON m.chat_id = w.chat_id AND m.id = w.message_id "
    "WHERE w.chat_id = $1 AND w.words @@ $2::text::tsquery AND w.message_id < $3 AND NOT m.removed "
    "ORDER BY w.message_id DESC LIMIT $4"
)
MATCHES = IN_CHAT.replace("w.chat_id = $1", "w.owner_id = $1")
_TITLES = (
    "SELECT c.id FROM chats c JOIN settings s ON s.chat_id = c.id WHERE {condition} "
    "AND s.words @@ ${match}::text::tsquery AND c.id < ${before} ORDER BY c.id DESC LIMIT ${limit}"
)
# Chats with the words in their title, or in a later message, were on an earlier page.
_NEW = (
    "SELECT c.id FROM chats c JOIN settings s ON s.chat_id = c.id WHERE {condition} "
    "AND c.id = ANY(${ids}::text[]::uuid[]) AND NOT s.words @@ ${match}::text::tsquery "
    "AND NOT EXISTS (SELECT 1 FROM message_words w WHERE w.chat_id = c.id "
    "AND w.words @@ ${match}::text::tsquery AND w.message_id >= ${before})"
)

_LAST = "ffffffff-ffff-ffff-ffff-ffffffffffff"
_CURSOR = re.compile(r"([mt])([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})", re.ASCII)

Fetch = Callable[..., Awaitable[Rows]]
Words = list[tuple[MessageId, list[str]]]


# --- filling ---


async def index(fetch: Fetch, limit: int) -> int:
    count = 0
    for chat_id, owner_id, history_version, searched_version in await fetch(BEHIND, limit):
        if count >= limit:
            break
        count += await _index_chat(fetch, chat_id, owner_id, history_version, searched_version, limit - count)
    return count


async def _index_chat(
    fetch: Fetch, chat_id: ChatId, owner_id: UserId, history_version: int, searched_version: int, limit: int
) -> int:
    """How many messages were handled; at least one, because finding nothing to do is progress too.
    `searched_version` only covers whole revisions: one with more messages than the limit (a fork) is
    processed to its end."""
    query, count = history.since(chat_id, searched_version, limit=limit + 1), 0
    while True:
        found = query.read([await fetch(sql, *args) for sql, args in query.statements])
        found, more = found[:limit], found[limit:]
        # Folding a long message takes a while: not on the event loop.
        await _put(fetch, chat_id, owner_id, await asyncio.to_thread(_words, found))
        count += len(found)
        reached = more[0].revision - 1 if more else history_version
        if not more or (count >= limit and reached > searched_version):
            await fetch(SEARCHED, chat_id, reached)
            return max(1, count)
        query = history.since(chat_id, found[-1].revision, after=found[-1].id, limit=limit + 1)


async def _put(fetch: Fetch, chat_id: ChatId, owner_id: UserId, words: Words) -> None:
    removed = [message_id for message_id, found in words if not found]
    if removed:
        await fetch(DROP_WORDS, chat_id, removed)
    for message_id, found in words:
        if found:
            await fetch(PUT_WORDS, chat_id, message_id, owner_id, found)


def _words(messages: Sequence[Message]) -> Words:
    """Per message; None: it leaves the index."""
    return [(message.id, [] if message.removed else list(words_of_message(message))) for message in messages]


# --- finding ---


async def messages(fetch: Fetch, chat_id: ChatId, text: str, limit: int, cursor: str | None) -> SearchPage:
    words, before = sought(text), _place(cursor, "m")
    if words is None:
        return SearchPage((), None)
    rows = await fetch(IN_CHAT, chat_id, _match(words), before, limit + 1)
    hits = tuple(Hit(row[0], row[1]) for row in rows[:limit])
    return SearchPage(hits, f"m{hits[-1].message_id}" if len(rows) > limit else None)


async def chats(
    fetch: Fetch, owner_id: UserId, text: str, only: Only, limit: int, cursor: str | None
) -> SearchPage:
    words = sought(text)
    by_message = cursor is not None and cursor.startswith("m")
    before = _place(cursor, "m" if by_message else "t")
    if words is None:
        return SearchPage((), None)
    search = _Search(fetch, owner_id, _match(words), only)
    if by_message:
        return await search.by_message(before, limit)
    found = await search.by_title(before, limit)
    if found.next_cursor is not None or len(found.hits) == limit:
        return SearchPage(found.hits, found.next_cursor or f"m{_LAST}")
    rest = await search.by_message(_LAST, limit - len(found.hits))
    return SearchPage(found.hits + rest.hits, rest.next_cursor)


class _Search:
    def __init__(self, fetch: Fetch, owner_id: UserId, match: str, only: Only) -> None:
        self._fetch = fetch
        self._owner_id = owner_id
        self._match = match
        self._condition, self._args = chat_queries.condition_of(owner_id, only)

    async def by_title(self, before: str, limit: int) -> SearchPage:
        rows = await self._ask(_TITLES, match=self._match, before=before, limit=limit + 1)
        hits = tuple(Hit(row[0], None) for row in rows[:limit])
        return SearchPage(hits, f"t{hits[-1].chat_id}" if len(rows) > limit else None)

    async def by_message(self, before: str, limit: int) -> SearchPage:
        """A chat is placed by its newest match."""
        rows = await self._fetch(MATCHES, self._owner_id, self._match, before, WINDOW)
        newest: dict[ChatId, Row] = {}
        for row in rows:
            newest.setdefault(row[0], row)
        found = await self._ask(_NEW, match=self._match, before=before, ids=list(newest))
        new = {row[0] for row in found}
        hits = [Hit(chat_id, row[1]) for chat_id, row in newest.items() if chat_id in new]
        if len(hits) > limit:
            return SearchPage(tuple(hits[:limit]), f"m{hits[limit - 1].message_id}")
        return SearchPage(tuple(hits), f"m{rows[-1][1]}" if len(rows) == WINDOW else None)

    async def _ask(self, sql: str, **more: Any) -> Rows:
        at = len(self._args)
        numbers = {name: at + number for number, name in enumerate(more, start=1)}
        return await self._fetch(
            sql.format(condition=self._condition, **numbers), *self._args, *more.values()
        )


def _match(words: Sought) -> str:
    """The syntax of tsquery. Words are letters and digits only: there is nothing to escape."""
    terms = [f"'{word}'" for word in words.words]
    if words.prefix is not None:
        terms.append(f"'{words.prefix}':*")
    return " & ".join(terms)


def _place(cursor: str | None, kind: str) -> str:
    if cursor is None:
        return _LAST
    match = _CURSOR.fullmatch(cursor)
    if match is None or match[1] != kind:
        raise InvalidInput("The cursor was not issued by this search.", field="cursor")
    return match[2]
