"""Questions of MCP servers that wait for a person."""

from datetime import datetime

import msgspec

from holdfast.core.clock import from_micros, to_micros
from holdfast.core.ids import ChatId
from holdfast.core.shapes import Json, Record, encode_text
from holdfast.core.text import clean_deep
from holdfast.store.query import Query, Row, any_row, each, query

ASK = (
    "INSERT INTO mcp_questions (id, chat_id, call_id, server, question, expires_at) "
    "VALUES ($1, $2, $3, $4, $5, $6)"
)
# The rows of a server that was killed are swept by the next question.
SWEEP = "DELETE FROM mcp_questions WHERE expires_at < now_micros()"
OF_CHAT = (
    "SELECT id, chat_id, call_id, server, question, expires_at FROM mcp_questions "
    "WHERE chat_id = $1 AND answer IS NULL AND expires_at >= now_micros() ORDER BY id LIMIT 100"
)
ANSWER = (
    "UPDATE mcp_questions SET answer = $3 WHERE id = $1 AND chat_id = $2 AND answer IS NULL "
    "AND expires_at >= now_micros() RETURNING id"
)
ANSWERED = "SELECT answer FROM mcp_questions WHERE id = $1"
REMOVE = "DELETE FROM mcp_questions WHERE id = $1"


class ServerQuestion(Record, frozen=True, kw_only=True):
    """`schema` describes the fields of a form; `url` is an address to visit instead."""

    id: str
    chat_id: ChatId
    call_id: str
    server: str
    message: str
    schema: Json
    url: str | None
    expires_at: datetime


def ask(asked: ServerQuestion) -> Query[None]:
    asked = clean_deep(asked)
    told = encode_text({"message": asked.message, "schema": asked.schema, "url": asked.url})
    args = (asked.id, asked.chat_id, asked.call_id, asked.server, told, to_micros(asked.expires_at))
    return Query(((SWEEP, ()), (ASK, args)), lambda _: None)


def of_chat(chat_id: ChatId) -> Query[tuple[ServerQuestion, ...]]:
    return query(OF_CHAT, chat_id, read=each(_question_of))


def answer(question_id: str, chat_id: ChatId, given: Json) -> Query[bool]:
    """Whether it was the first answer to a question that still waits."""
    return query(ANSWER, question_id, chat_id, encode_text(clean_deep(given)), read=any_row)


def answer_of(question_id: str) -> Query[Json]:
    """None: nobody has answered yet."""
    return query(
        ANSWERED,
        question_id,
        read=lambda rows: {"action": "cancel"} if not rows else _json(rows[0][0]),
    )


def remove(question_id: str) -> Query[None]:
    return query(REMOVE, question_id, read=lambda _: None)


def _json(text: str | None) -> Json:
    return None if text is None else msgspec.json.decode(text)


def _question_of(row: Row) -> ServerQuestion:
    told = msgspec.json.decode(row[4])
    return ServerQuestion(
        id=str(row[0]),
        chat_id=row[1],
        call_id=row[2],
        server=row[3],
        message=told["message"],
        schema=told["schema"],
        url=told["url"],
        expires_at=from_micros(row[5]),
    )
