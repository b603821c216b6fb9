"""The trace of a chat: spans made from its turns, steps and calls."""

import re
from typing import Annotated

from litestar import Router, get
from litestar.params import FromQuery, QueryParameter
from msgspec.structs import replace

from holdfast.api.pages import Cursor, Page
from holdfast.api.problems import invalid, not_found
from holdfast.api.services import By, InPath, Services, With, needs, own_chat
from holdfast.core.ids import CallId, ChatId
from holdfast.core.spans import Span, SpanKind
from holdfast.store import calls
from holdfast.store.traces import traced
from holdfast.telemetry.spans import spans

TURNS_A_PAGE = 50
_SPAN_ID = re.compile(
    r"(?:turn|step|model|check)-([0-9]{1,9})(?:-[0-9]{1,9})?|call-([A-Za-z0-9_-]{1,40})", re.ASCII
)


@get("/chats/{chat_id:str}/trace", guards=[needs("chats:read")])
async def list_spans(
    chat_id: InPath,
    services: With,
    caller: By,
    cursor: Cursor = None,
    turn: Annotated[int | None, QueryParameter(ge=0, le=10**9)] = None,
    kind: FromQuery[SpanKind | None] = None,
) -> Page[Span]:
    """Spans by turn and start; 50 turns a page, or one turn. Long inputs and outputs are cut."""
    chat = await own_chat(services, caller, chat_id)
    if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise invalid("cursor", "not one that this list gave out")
    first = turn if turn is not None else int(cursor or 0)
    last = turn if turn is not None else first + TURNS_A_PAGE - 1
    rows = await services.store.read(traced(chat.id, first, last))
    found = spans(chat.id, rows.turns, rows.steps, rows.calls, rows.messages)
    more = turn is None and any(row.number == last for row in rows.turns)
    return Page(
        items=tuple(span for span in found if kind is None or span.kind == kind),
        next_cursor=str(last + 1) if more else None,
    )


@get("/chats/{chat_id:str}/trace/{span_id:str}", guards=[needs("chats:read")])
async def read_span(chat_id: InPath, span_id: InPath, services: With, caller: By) -> Span:
    """One span with all of its input and output."""
    chat = await own_chat(services, caller, chat_id)
    match = _SPAN_ID.fullmatch(span_id)
    if match is None:
        raise not_found("span")
    turn, call_id = match.groups()
    if call_id is not None:
        return await _call_span(services, chat.id, CallId(call_id), span_id)
    return await _span(services, chat.id, int(turn), span_id)


async def _call_span(services: Services, chat_id: ChatId, call_id: CallId, span_id: str) -> Span:
    found = await services.store.read(calls.call(chat_id, call_id))
    if found is None:
        raise not_found("span")
    span = await _span(services, chat_id, found.call.turn, span_id)
    return span if found.full_output is None else replace(span, output=found.full_output, truncated=False)


async def _span(services: Services, chat_id: ChatId, turn: int, span_id: str) -> Span:
    rows = await services.store.read(traced(chat_id, turn, turn))
    for span in spans(chat_id, rows.turns, rows.steps, rows.calls, rows.messages, whole=True):
        if span.id == span_id:
            return span
    raise not_found("span")


router = Router("/", route_handlers=[list_spans, read_span], tags=["trace"])
