"""Messages: pages of a history, what changed since a revision, and what a model is shown."""

from holdfast.core.ids import ChatId, MessageId
from holdfast.core.messages import HistoryEntry, Message
from holdfast.store.columns import listed
from holdfast.store.query import Query, Rows, Value, at_most_one, each, query
from holdfast.store.rows import ENTRY, MESSAGE, entries_of, message_of

_FIRST = MessageId("00000000-0000-0000-0000-000000000000")
_LAST = MessageId("ffffffff-ffff-ffff-ffff-ffffffffffff")

_SELECT = f"SELECT {listed(MESSAGE)} FROM messages WHERE chat_id = $1"

ONE = f"{_SELECT} AND id = $2"
COUNT_FROM = (
    "SELECT count(*) FROM messages WHERE chat_id = $1 AND id >= $2 AND NOT removed AND visibility <> 'model'"
)
# Among messages that are not removed, revisions increase with ids: start after the newest message of an older
# revision, which is found by going backwards over just the new ones. An index on revisions would slow down
# every insert.
SINCE = f"""
SELECT {listed(MESSAGE)} FROM (
    SELECT * FROM (
        {_SELECT} AND removed AND (revision, id) > ($2, $3) ORDER BY revision, id LIMIT $4
    ) AS gone
    UNION ALL
    SELECT * FROM (
        {_SELECT} AND NOT removed AND (revision, id) > ($2, $3) AND id > coalesce((
            SELECT b.id FROM messages b WHERE b.chat_id = $1 AND NOT b.removed AND b.revision < $2
            ORDER BY b.id DESC LIMIT 1
        ), '{_FIRST}') ORDER BY id LIMIT $4
    ) AS here
) AS changed ORDER BY revision, id LIMIT $4
"""
# From the newest compaction boundary on. Everything is returned as one row: with many rows SQLite's threads
# would pass the interpreter lock back and forth at each, which costs more than the reading. Both engines keep
# the inner query's order.
PROMPT = f"""
SELECT string_agg({ENTRY}, ',') FROM (
    SELECT * FROM messages WHERE chat_id = $1 AND NOT removed AND visibility <> 'user' AND id >= coalesce((
        SELECT b.id FROM messages b
        WHERE b.chat_id = $1 AND b.compaction AND b.visibility = 'model' AND NOT b.removed
        ORDER BY b.id DESC LIMIT 1
    ), '{_FIRST}') ORDER BY id
) AS shown
"""


def message(chat_id: ChatId, message_id: MessageId) -> Query[Message | None]:
    return query(ONE, chat_id, message_id, read=at_most_one(message_of))


def count_from(chat_id: ChatId, message_id: MessageId) -> Query[int]:
    """Messages that people see, from this one on."""
    return query(COUNT_FROM, chat_id, message_id, read=lambda rows: rows[0][0])


def page(
    chat_id: ChatId,
    *,
    after: MessageId | None = None,
    before: MessageId | None = None,
    limit: int = 50,
    removed: bool = False,
    for_model: bool = False,
) -> Query[tuple[Message, ...]]:
    """Ascending: from the start, or after a message; with only `before`, the last ones before it. Removed
    history and what only a model sees are left out unless requested."""
    args: list[Value] = [chat_id]
    sql = _SELECT
    if after is not None:
        args.append(after)
        sql += f" AND id > ${len(args)}"
    if before is not None:
        args.append(before)
        sql += f" AND id < ${len(args)}"
    if not removed:
        sql += " AND NOT removed"
    if not for_model:
        sql += " AND visibility <> 'model'"
    args.append(limit)
    newest_first = before is not None and after is None
    sql += f" ORDER BY id {'DESC' if newest_first else 'ASC'} LIMIT ${len(args)}"
    return query(sql, *args, read=_turned if newest_first else _messages)


def newest(chat_id: ChatId, *, limit: int = 50, for_model: bool = False) -> Query[tuple[Message, ...]]:
    """The last messages of a history, ascending."""
    return page(chat_id, before=_LAST, limit=limit, for_model=for_model)


def since(
    chat_id: ChatId, revision: int, *, after: MessageId | None = None, limit: int = 500
) -> Query[tuple[Message, ...]]:
    """What was inserted, changed or removed after a revision (with `after`: after that message of that
    revision), including removed messages, in the order of revisions."""
    if after is None:
        revision, after = revision + 1, _FIRST
    return query(SINCE, chat_id, revision, after, limit, read=_messages)


def prompt(chat_id: ChatId) -> Query[tuple[HistoryEntry, ...]]:
    """The part of the history that a model is shown: everything from the newest summary on, or all of it."""
    return query(PROMPT, chat_id, read=lambda rows: entries_of(rows[0][0]))


_messages = each(message_of)


def _turned(rows: Rows) -> tuple[Message, ...]:
    return tuple([message_of(row) for row in reversed(rows)])
