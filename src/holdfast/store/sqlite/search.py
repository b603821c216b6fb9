"""Full-text search with FTS5: filled in the background, read newest first, always restricted to the owner."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holdfast.core.errors import InvalidInput
from holdfast.core.events import Hint
from holdfast.core.ids import ChatId, MessageId, UserId
from holdfast.core.messages import Message
from holdfast.store import chats as chat_queries
from holdfast.store import messages
from holdfast.store.chats import Only
from holdfast.store.interface import Hit, SearchPage
from holdfast.store.query import Row
from holdfast.store.search_words import Sought, sought, words_of_message
from holdfast.store.sqlite.apply import chat_word, owner_word, scope
from holdfast.store.sqlite.connection import Connection, spoken
from holdfast.store.sqlite.readers import Readers
from holdfast.store.sqlite.writer import JobResult, Writer

# One page of chats examines at most this many matching messages; the next page continues from there.
WINDOW = 2_000

BEHIND = "SELECT id FROM chats WHERE history_version > searched_version"
STATE = "SELECT owner_id, history_version, searched_version FROM chats WHERE id = ?"
DROP_WORDS = (
    "DELETE FROM message_words WHERE rowid = (SELECT key FROM messages WHERE chat_id = ?1 AND id = ?2)"
)
# Only while the message still exists: its key may be reused by another one.
PUT_WORDS = (
    "INSERT INTO message_words (rowid, scope, body) "
    "SELECT key, ?3, ?4 FROM messages WHERE chat_id = ?1 AND id = ?2"
)
SEARCHED = "UPDATE chats SET searched_version = max(searched_version, ?2) WHERE id = ?1"

MATCHES = (
    "SELECT m.key, m.chat_id, m.id FROM message_words w JOIN messages m ON m.key = w.rowid "
    "WHERE message_words MATCH ?1 AND w.rowid < ?2 AND NOT m.removed ORDER BY w.rowid DESC LIMIT ?3"
)
CHATS_MATCHED = (
    "SELECT DISTINCT m.chat_id FROM message_words w JOIN messages m ON m.key = w.rowid "
    "WHERE message_words MATCH ?1 AND w.rowid >= ?2 AND NOT m.removed"
)
TITLES = (
    "SELECT c.key, c.id FROM title_words t JOIN chats c ON c.key = t.rowid "
    "WHERE title_words MATCH ?{match} AND t.rowid < ?{before} AND {condition} "
    "ORDER BY t.rowid DESC LIMIT ?{limit}"
)
TITLE_MATCHES = "SELECT 1 FROM title_words WHERE title_words MATCH ?1 AND rowid = ?2"
LISTED = "SELECT c.key FROM chats c WHERE {condition} AND c.id = ?{id}"

_ENDLESS = 2**62


# --- filling ---


class Unsearched:
    """Chats to examine, in the order they were noticed."""

    def __init__(self) -> None:
        self._chats: dict[ChatId, None] = {}
        self.complete = False

    def note(self, hint: Hint) -> None:
        if hint.status is None:
            self._chats.pop(hint.chat_id, None)
        elif hint.history_version == hint.version:
            self._chats[hint.chat_id] = None

    def add(self, chat_ids: list[ChatId]) -> None:
        self._chats = dict.fromkeys([*chat_ids, *self._chats])

    def take(self) -> ChatId | None:
        chat_id = next(iter(self._chats), None)
        if chat_id is not None:
            del self._chats[chat_id]
        return chat_id


async def index(unsearched: Unsearched, readers: Readers, writer: Writer, limit: int) -> int:
    """Reading and folding happen on a reader's thread; the writer only gets words to store."""
    if not unsearched.complete:
        unsearched.add(await readers.do(lambda connection: [row[0] for row in connection.rows(BEHIND)]))
        unsearched.complete = True
    count = 0
    while count < limit and (chat_id := unsearched.take()) is not None:
        try:
            done, more = await _index_chat(chat_id, readers, writer, limit - count)
        except BaseException:
            unsearched.add([chat_id])
            raise
        count += done
        if more:
            unsearched.add([chat_id])
    return count


async def _index_chat(chat_id: ChatId, readers: Readers, writer: Writer, limit: int) -> tuple[int, bool]:
    """How many messages were handled, and whether there are more. `searched_version` only covers whole
    revisions: one with more messages than the limit (a fork) is processed to its end."""
    count, after = 0, None
    while True:
        batch = await readers.do(lambda connection, after=after: _read(connection, chat_id, after, limit))
        if batch is None:
            return count, False
        await writer.do(lambda connection, batch=batch: JobResult(_write(connection, batch)))
        count += len(batch.words)
        if batch.next_after is None or (count >= limit and batch.advances):
            return count, batch.next_after is not None
        after = batch.next_after


@dataclass(frozen=True, slots=True)
class _Batch:
    chat_id: ChatId
    scope: str
    # The words of each message; empty: it leaves the index.
    words: list[tuple[MessageId, str]]
    # The version up to which everything is indexed with this batch, and whether that is further than before.
    searched_version: int
    advances: bool
    # The last message, if there may be more after it.
    next_after: tuple[int, MessageId] | None


def _read(
    connection: Connection, chat_id: ChatId, after: tuple[int, MessageId] | None, limit: int
) -> _Batch | None:
    state = connection.rows(STATE, (chat_id,))
    if not state:
        return None
    owner_id, history_version, searched_version = state[0]
    if after is None:
        query = messages.since(chat_id, searched_version, limit=limit + 1)
    else:
        query = messages.since(chat_id, after[0], after=after[1], limit=limit + 1)
    found, more = _split(connection.ask(query), limit)
    last = found[-1] if more else None
    reached = more[0].revision - 1 if more else history_version
    return _Batch(
        chat_id=chat_id,
        scope=scope(owner_id, chat_id),
        words=[(message.id, "" if message.removed else _words(message)) for message in found],
        searched_version=reached,
        advances=reached > searched_version,
        next_after=None if last is None else (last.revision, last.id),
    )


def _split(found: tuple[Message, ...], at: int) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    return found[:at], found[at:]


def _words(message: Message) -> str:
    return " ".join(words_of_message(message))


def _write(connection: Connection, batch: _Batch) -> None:
    for message_id, words in batch.words:
        connection.run(DROP_WORDS, (batch.chat_id, message_id))
        if words:
            connection.run(PUT_WORDS, (batch.chat_id, message_id, batch.scope, words))
    connection.run(SEARCHED, (batch.chat_id, batch.searched_version))


# --- finding ---


def in_chat(connection: Connection, chat_id: ChatId, text: str, limit: int, cursor: str | None) -> SearchPage:
    words = sought(text)
    before = _ENDLESS if cursor is None else _key(cursor, "m")
    if words is None:
        return SearchPage((), None)
    rows = connection.rows(MATCHES, (_match(_quoted(chat_word(chat_id)), words), before, limit + 1))
    hits = tuple(Hit(row[1], row[2]) for row in rows[:limit])
    return SearchPage(hits, f"m{rows[limit - 1][0]}" if len(rows) > limit else None)


def chats(
    connection: Connection, owner_id: UserId, text: str, only: Only, limit: int, cursor: str | None
) -> SearchPage:
    words = sought(text)
    search = None if words is None else _Search(connection, owner_id, words, only)
    if cursor is not None and cursor.startswith("m"):
        before = _key(cursor, "m")
        return SearchPage((), None) if search is None else search.by_message(before, limit)
    before = _ENDLESS if cursor is None else _key(cursor, "t")
    if search is None:
        return SearchPage((), None)
    found = search.by_title(before, limit)
    if found.next_cursor is not None or len(found.hits) == limit:
        return SearchPage(found.hits, found.next_cursor or f"m{_ENDLESS}")
    rest = search.by_message(_ENDLESS, limit - len(found.hits))
    return SearchPage(found.hits + rest.hits, rest.next_cursor)


class _Search:
    def __init__(self, connection: Connection, owner_id: UserId, words: Sought, only: Only) -> None:
        self._connection = connection
        self._words = words
        self._condition, self._args = chat_queries.condition_of(owner_id, only)
        self._match = _match(_quoted(owner_word(owner_id)), words)

    def by_title(self, before: int, limit: int) -> SearchPage:
        at = len(self._args) + 1
        sql = TITLES.format(match=at, before=at + 1, limit=at + 2, condition=self._condition)
        rows = self._connection.rows(spoken(sql), (*self._args, self._match, before, limit + 1))
        hits = tuple(Hit(row[1], None) for row in rows[:limit])
        return SearchPage(hits, f"t{rows[limit - 1][0]}" if len(rows) > limit else None)

    def by_message(self, before: int, limit: int) -> SearchPage:
        """A chat is placed by its newest match. Chats with a match on an earlier page, or with the words in
        their title, were already returned."""
        rows = self._connection.rows(MATCHES, (self._match, before, WINDOW))
        newest: dict[ChatId, Row] = {}
        for row in rows:
            newest.setdefault(row[1], row)
        hits: list[Hit] = []
        for some in _in_parts(list(newest), limit):
            given = self._given(some, before)
            for chat_id in some:
                if len(hits) == limit:
                    return SearchPage(tuple(hits), f"m{newest[chat_id][0] + 1}")
                if chat_id not in given and self._is_listed(chat_id):
                    hits.append(Hit(chat_id, newest[chat_id][2]))
        return SearchPage(tuple(hits), f"m{rows[-1][0]}" if len(rows) == WINDOW else None)

    def _given(self, chat_ids: Sequence[ChatId], before: int) -> set[ChatId]:
        """Those that were on an earlier page. One query for all: each prefix look-up is expensive."""
        if before == _ENDLESS:
            return set()
        there = " OR ".join(_quoted(chat_word(chat_id)) for chat_id in chat_ids)
        return {row[0] for row in self._connection.rows(CHATS_MATCHED, (_match(there, self._words), before))}

    def _is_listed(self, chat_id: ChatId) -> bool:
        """Whether the chat passes the filter, and was not found by its title."""
        sql = LISTED.format(condition=self._condition, id=len(self._args) + 1)
        found = self._connection.rows(spoken(sql), (*self._args, chat_id))
        return bool(found) and not self._connection.rows(TITLE_MATCHES, (self._match, found[0][0]))


def _in_parts(chat_ids: list[ChatId], size: int) -> Iterator[list[ChatId]]:
    for at in range(0, len(chat_ids), size):
        yield chat_ids[at : at + size]


def _match(there: str, words: Sought) -> str:
    """FTS5 syntax, with words of `scope` that are already quoted. Words are letters and digits only: there is
    nothing to escape."""
    return f"scope : ({there}) AND body : ({' AND '.join(_terms(words))})"


def _quoted(word: str) -> str:
    return f'"{word}"'


def _terms(words: Sought) -> Iterator[str]:
    for word in words.words:
        yield _quoted(word)
    if words.prefix is not None:
        yield f"{_quoted(words.prefix)} *"


def _key(cursor: str, kind: str) -> int:
    number = cursor[1:]
    if not cursor.startswith(kind) or not number.isascii() or not number.isdigit() or len(number) > 19:
        raise InvalidInput("The cursor was not issued by this search.", field="cursor")
    return min(int(number), _ENDLESS)
