"""A change as statements. The first one is the guard: if it touches no row, the chat is not at the version
the decision was made on, and nothing else may be executed."""

from collections.abc import Iterator

from holdfast.chats.change import Change
from holdfast.chats.view import Execution
from holdfast.core.chats import Settings
from holdfast.core.errors import Bug
from holdfast.core.ids import ChatId
from holdfast.core.shapes import encode_text
from holdfast.store import rows, settings_rules
from holdfast.store.chat_rows import (
    IDENTITY,
    INDEXED,
    MOVING,
    SETTINGS,
    identity_row,
    indexed_moved,
    indexed_row,
    moving_row,
)
from holdfast.store.columns import listed
from holdfast.store.outbox import EVENT, event_row
from holdfast.store.query import Statement
from holdfast.store.sqlite.connection import Connection


def _insert(table: str, names: tuple[str, ...]) -> str:
    return f"INSERT INTO {table} ({listed(names)}) VALUES ({', '.join('?' * len(names))})"


def _put(table: str, names: tuple[str, ...], key: tuple[str, ...]) -> str:
    rest = ", ".join(f"{name} = excluded.{name}" for name in names if name not in key)
    return f"{_insert(table, names)} ON CONFLICT ({listed(key)}) DO UPDATE SET {rest}"


def _set(names: tuple[str, ...]) -> str:
    return ", ".join(f"{name} = ?" for name in names)


INSERT_CHAT = f"{_insert('chats', (*IDENTITY, *MOVING, *INDEXED))} ON CONFLICT (id) DO NOTHING"
# The usual step. It names no indexed column, so no index is touched.
MOVE_CHAT = f"UPDATE chats SET {_set(MOVING)} WHERE id = ? AND version = ?"
UPDATE_CHAT = f"UPDATE chats SET {_set((*MOVING, *INDEXED))} WHERE id = ? AND version = ?"
PARENT_DEPTH = "SELECT depth FROM chats WHERE id = ?"

INSERT_SETTINGS = _insert("settings", SETTINGS)
INSERT_LABEL = "INSERT INTO labels (chat_id, label) VALUES (?, ?)"
PUT_TITLE = "INSERT INTO title_words (rowid, scope, body) SELECT c.key, ?2, ?3 FROM chats c WHERE c.id = ?1"
DROP_TITLE = "DELETE FROM title_words WHERE rowid = (SELECT c.key FROM chats c WHERE c.id = ?)"

REMOVE_MESSAGES = (
    "UPDATE messages SET removed = 1, revision = ?3 WHERE chat_id = ?1 AND id >= ?2 AND NOT removed"
)
# The debug record of removed history goes with it.
FORGET_DEBUG_RUNS = (
    "DELETE FROM debug_runs WHERE chat_id = ?1 AND (message_id >= ?2 OR history_message_id >= ?2)"
)
FORGET_DEBUG_STEPS = "DELETE FROM debug_steps WHERE chat_id = ?1 AND history_message_id >= ?2"
INSERT_MESSAGE = _insert("messages", rows.MESSAGE)
DROP_QUEUED = "DELETE FROM queue WHERE chat_id = ? AND id = ?"
PUT_QUEUED = _put("queue", rows.QUEUED, ("chat_id", "id"))
INSERT_NOTICE = _insert("inbox", rows.NOTICE)
TAKE_NOTICE = "UPDATE inbox SET taken_version = ?3 WHERE chat_id = ?1 AND id = ?2"
PUT_CALL = _put("calls", rows.CALL, ("chat_id", "call_id"))
PUT_OUTPUT = _put("call_outputs", rows.FULL_OUTPUT, ("chat_id", "call_id", "run"))
INSERT_STEP = _insert("steps", rows.STEP)
INSERT_TURN = _insert("turns", rows.TURN)
END_TURN = (
    "UPDATE turns SET finished_at = ?3, outcome = ?4, failure = ?5, revision = ?6 "
    "WHERE chat_id = ?1 AND number = ?2"
)
INSERT_DELIVERY = _insert("deliveries", rows.DELIVERY)
INSERT_EVENT = f"{_insert('hook_events', EVENT)} ON CONFLICT DO NOTHING"
TAKE_DELIVERY = "UPDATE deliveries SET taken = 1 WHERE child_id = ? AND turn = ?"

_DELETED = "(SELECT value FROM json_each(?))"
DELETE_WORDS = (
    f"DELETE FROM message_words WHERE rowid IN (SELECT m.key FROM messages m WHERE m.chat_id IN {_DELETED})"
)
DELETE_TITLES = f"DELETE FROM title_words WHERE rowid IN (SELECT c.key FROM chats c WHERE c.id IN {_DELETED})"
# Everything else of a chat is deleted with its row. One statement, so the order within a family does not
# matter.
DELETE_CHATS = f"DELETE FROM chats WHERE id IN {_DELETED}"
DELETE_WAITING = f"DELETE FROM deliveries WHERE NOT taken AND parent_id IN {_DELETED}"


def statements_of(change: Change, before: Execution | None) -> list[Statement]:
    """The statements of a change of one chat that exists, or is created without a parent; `before` is what it
    was decided on, if known."""
    after = change.after
    if after is None:
        raise Bug("a chat is deleted by `apply`")
    if change.created is not None:
        return list(_creation(change, change.created, 0))
    chat_id = change.chat_id
    if before is None or indexed_moved(before, after.chat):
        guard = (UPDATE_CHAT, (*moving_row(after), *indexed_row(after.chat), chat_id, change.before))
    else:
        guard = (MOVE_CHAT, (*moving_row(after), chat_id, change.before))
    return [guard, *_rows_of(change, after.chat.version)]


def _rows_of(change: Change, version: int) -> Iterator[Statement]:
    chat_id = change.chat_id
    if change.removed_from is not None:
        yield REMOVE_MESSAGES, (chat_id, change.removed_from, version)
        yield FORGET_DEBUG_RUNS, (chat_id, change.removed_from)
        yield FORGET_DEBUG_STEPS, (chat_id, change.removed_from)
    for message in change.messages:
        yield INSERT_MESSAGE, rows.message_row(message)
    for item_id in change.queue_dropped:
        yield DROP_QUEUED, (chat_id, item_id)
    for item in change.queue_put:
        yield PUT_QUEUED, rows.queued_row(chat_id, item)
    for notice in change.inbox_put:
        yield INSERT_NOTICE, rows.notice_row(chat_id, notice)
    for notice_id in change.inbox_taken:
        yield TAKE_NOTICE, (chat_id, notice_id, version)
    for call in change.calls_put:
        yield PUT_CALL, rows.call_row(chat_id, call)
    for output in change.full_outputs:
        yield PUT_OUTPUT, rows.full_output_row(chat_id, output)
    for step in change.steps:
        yield INSERT_STEP, rows.step_row(chat_id, step)
    for turn in change.turns:
        yield INSERT_TURN, rows.turn_row(chat_id, turn)
    for end in change.turns_ended:
        yield END_TURN, rows.turn_end_row(chat_id, end)
    for delivery in change.deliveries:
        yield INSERT_DELIVERY, rows.delivery_row(delivery)
    for key in change.deliveries_taken:
        yield TAKE_DELIVERY, (key.child_id, key.turn)
    for event in change.events:
        yield INSERT_EVENT, event_row(event)


def run(connection: Connection, statements: list[Statement]) -> bool:
    """False: the guard missed, and nothing was written."""
    sql, args = statements[0]
    if not connection.run(sql, args):
        return False
    for sql, args in statements[1:]:
        connection.execute(sql, args)
    return True


def apply(connection: Connection, change: Change, before: Execution | None, depth: int = 0) -> None:
    """Writes a change that was decided inside this transaction: its guards cannot miss."""
    if change.after is None:
        _delete(connection, change)
    elif change.created is not None:
        if not run(connection, list(_creation(change, change.created, depth))):
            raise Bug(f"chat {change.chat_id} exists already")
    elif change.after.chat.version != change.before and not run(connection, statements_of(change, before)):
        raise Bug(f"chat {change.chat_id} moved while it was being written")
    for other in change.others:
        apply(connection, other, None)


def _creation(change: Change, settings: Settings, depth: int) -> Iterator[Statement]:
    after = change.after
    assert after is not None
    yield INSERT_CHAT, (*identity_row(after.chat, depth), *moving_row(after), *indexed_row(after.chat))
    yield INSERT_SETTINGS, settings_rules.written(change.chat_id, settings)
    yield from _found_by(change.chat_id, change.owner_id, settings)
    yield from _rows_of(change, after.chat.version)


def write_settings(connection: Connection, chat_id: ChatId, owner_id: str, settings: Settings) -> None:
    """The settings, and the index entries made from them."""
    connection.run(settings_rules.UPDATE.replace("$", "?"), settings_rules.written(chat_id, settings))
    connection.run(settings_rules.DROP_LABELS.replace("$", "?"), (chat_id,))
    connection.run(DROP_TITLE, (chat_id,))
    for sql, args in _found_by(chat_id, owner_id, settings):
        connection.run(sql, args)


def _found_by(chat_id: ChatId, owner_id: str, settings: Settings) -> Iterator[Statement]:
    """Labels and the words of the title."""
    for label in settings_rules.distinct_labels(settings):
        yield INSERT_LABEL, (chat_id, label)
    if words := settings_rules.title_words(settings):
        yield PUT_TITLE, (chat_id, scope(owner_id, chat_id), " ".join(words))


def scope(owner_id: str, chat_id: str) -> str:
    """The owner and the chat, as two words of the search index."""
    return f"{owner_word(owner_id)} {chat_word(chat_id)}"


def owner_word(owner_id: str) -> str:
    return "o" + owner_id.replace("-", "")


def chat_word(chat_id: str) -> str:
    return "c" + chat_id.replace("-", "")


def _delete(connection: Connection, change: Change) -> None:
    gone = (encode_text(change.deleted),)
    for sql in (DELETE_WORDS, DELETE_TITLES, DELETE_CHATS, DELETE_WAITING):
        connection.run(sql, gone)
    for delivery in change.deliveries:
        connection.run(INSERT_DELIVERY, rows.delivery_row(delivery))
