"""Views: what a decision looks at, read in one snapshot."""

from typing import Any

from holdfast.chats.view import Call, Execution, InboxNotice, Queued, View
from holdfast.core.ids import ChatId
from holdfast.store.chat_rows import EXECUTION, EXECUTION_FROM, execution_of
from holdfast.store.columns import listed
from holdfast.store.query import Query, Row, Rows, Value, query
from holdfast.store.rows import CALL, NOTICE, QUEUED, call_of, notice_of, queued_of

CHAT = f"SELECT {EXECUTION} FROM {EXECUTION_FROM} WHERE c.id = $1"
QUEUE = f"SELECT {listed(QUEUED)} FROM queue WHERE chat_id = $1 ORDER BY place"
INBOX = f"SELECT {listed(NOTICE)} FROM inbox WHERE chat_id = $1 AND taken_version IS NULL ORDER BY id"
CALLS = (
    f"SELECT {listed(CALL)} FROM calls "
    "WHERE chat_id = $1 AND state <> 'answered' ORDER BY message_id, position"
)

# The same for all chats selected by a condition on `chats` as c.
_CHATS = f"SELECT {EXECUTION} FROM {EXECUTION_FROM} WHERE %s ORDER BY c.id"
_QUEUES = (
    f"SELECT {listed(QUEUED)} FROM queue WHERE chat_id IN (SELECT c.id FROM chats c WHERE %s) ORDER BY place"
)
_INBOXES = (
    f"SELECT {listed(NOTICE)} FROM inbox WHERE taken_version IS NULL "
    "AND chat_id IN (SELECT c.id FROM chats c WHERE %s) ORDER BY id"
)
_ALL_CALLS = (
    f"SELECT {listed(CALL)} FROM calls WHERE state <> 'answered' "
    "AND chat_id IN (SELECT c.id FROM chats c WHERE %s) ORDER BY message_id, position"
)


def view(chat_id: ChatId) -> Query[View | None]:
    args = (chat_id,)
    return Query(
        ((CHAT, args), (QUEUE, args), (INBOX, args), (CALLS, args)),
        lambda results: assemble(*results),
    )


def assemble(chat: Rows, queue: Rows, inbox: Rows, calls: Rows) -> View | None:
    if not chat:
        return None
    return View(
        chat=execution_of(chat[0]),
        queue=tuple([queued_of(row) for row in queue]),
        inbox=tuple([notice_of(row) for row in inbox]),
        calls=tuple([call_of(row) for row in calls]),
    )


def views(condition: str, *args: Value) -> Query[tuple[View, ...]]:
    """The views of many chats, by a condition on `chats` as c."""
    statements = tuple((sql % condition, args) for sql in (_CHATS, _QUEUES, _INBOXES, _ALL_CALLS))
    return Query(statements, lambda results: _assemble_all(*results))


def _assemble_all(chats: Rows, queues: Rows, inboxes: Rows, calls: Rows) -> tuple[View, ...]:
    waiting: dict[str, list[Queued]] = {}
    notices: dict[str, list[InboxNotice]] = {}
    open_calls: dict[str, list[Call]] = {}
    _collect(waiting, queues, queued_of)
    _collect(notices, inboxes, notice_of)
    _collect(open_calls, calls, call_of)
    executions: list[Execution] = [execution_of(row) for row in chats]
    return tuple(
        View(
            chat=chat,
            queue=tuple(waiting.get(chat.id, ())),
            inbox=tuple(notices.get(chat.id, ())),
            calls=tuple(open_calls.get(chat.id, ())),
        )
        for chat in executions
    )


def _collect(into: dict[str, list[Any]], rows: Rows, of: Any) -> None:
    for row in rows:
        into.setdefault(_chat_of(row), []).append(of(row))


def _chat_of(row: Row) -> str:
    return row[0]


def execution(chat_id: ChatId) -> Query[Execution | None]:
    return query(CHAT, chat_id, read=lambda rows: execution_of(rows[0]) if rows else None)
