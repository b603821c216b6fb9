"""Intents of edits: one per call that edits several files, from before its first change until the call is
over."""

import msgspec
from msgspec.structs import replace

from holdfast.core.edit_intents import EditIntent
from holdfast.core.ids import CallId, ChatId
from holdfast.core.shapes import encode_text
from holdfast.core.text import clean_deep
from holdfast.store.query import Query, Row, at_most_one, each, query

# A call that is over in the database may still be running in a thread for a moment.
LEFT_OVER_MICROS = 60 * 1_000_000
AT_ONCE = 100

BEGIN = (
    "INSERT INTO edit_intents (chat_id, call_id, state, created_at, intent) "
    "VALUES ($1, $2, 'begun', now_micros(), $3) ON CONFLICT (chat_id, call_id) DO UPDATE SET "
    "state = excluded.state, created_at = excluded.created_at, intent = excluded.intent"
)
MADE = "UPDATE edit_intents SET state = 'made' WHERE chat_id = $1 AND call_id = $2"
DROP = "DELETE FROM edit_intents WHERE chat_id = $1 AND call_id = $2"
OF_CALL = "SELECT state, intent FROM edit_intents WHERE chat_id = $1 AND call_id = $2"
LEFT_OVER = (
    "SELECT i.state, i.intent FROM edit_intents i WHERE i.created_at <= now_micros() - $1 AND NOT EXISTS "
    "(SELECT 1 FROM calls c WHERE c.chat_id = i.chat_id AND c.call_id = i.call_id "
    "AND c.state IN ('pending', 'waiting', 'started')) ORDER BY i.created_at LIMIT $2"
)

_intent = msgspec.json.Decoder(EditIntent).decode


def begin(intent: EditIntent) -> Query[None]:
    """Written before the first file is changed. An earlier run of the call has ended by then."""
    intent = clean_deep(intent)
    return query(BEGIN, intent.chat_id, intent.call_id, encode_text(intent), read=lambda _: None)


def made(chat_id: ChatId, call_id: CallId) -> Query[None]:
    """All files have been changed. The intent stays until the call is over, so that a second run of it does
    nothing."""
    return query(MADE, chat_id, call_id, read=lambda _: None)


def drop(chat_id: ChatId, call_id: CallId) -> Query[None]:
    return query(DROP, chat_id, call_id, read=lambda _: None)


def of_call(chat_id: ChatId, call_id: CallId) -> Query[EditIntent | None]:
    return query(OF_CALL, chat_id, call_id, read=at_most_one(_of))


def left_over(after_micros: int = LEFT_OVER_MICROS) -> Query[tuple[EditIntent, ...]]:
    """Intents whose call has been over, or gone, for this long."""
    return query(LEFT_OVER, after_micros, AT_ONCE, read=each(_of))


def _of(row: Row) -> EditIntent:
    return replace(_intent(row[1]), state=row[0])
