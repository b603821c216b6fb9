"""The trace of a chat: spans made from its turns, steps and calls."""

import re
from collections.abc import Sequence
from typing import Annotated

from litestar import Router, get
from litestar.params import FromQuery, QueryParameter
from msgspec.structs import replace

from holdfast.api.pages import Cursor, Limit, Page, unknown_cursor
from holdfast.api.problems import not_found
from holdfast.api.services import By, InPath, Services, With, needs, own_chat
from holdfast.core.ids import CallId, ChatId, is_uuid7
from holdfast.core.spans import Span, SpanKind
from holdfast.store import calls, chats, hook_runs
from holdfast.store.steps import traced
from holdfast.telemetry.spans import spans, with_agents

# Each has at least one span, and most have more.
MOST_TURNS = 50
_CURSOR = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})", re.ASCII)
_SPAN_ID = re.compile(
    r"(?:turn|step|model|check|title|summary)-([0-9]{1,9})(?:-[0-9]{1,9})?|call-([A-Za-z0-9_-]{1,40})"
    r"|agent-([0-9a-f-]{36})|hook-([0-9a-f-]{36})",
    re.ASCII,
)


@get("/chats/{chat_id:str}/trace", guards=[needs("chats:read")])
async def list_spans(
    chat_id: InPath,
    services: With,
    caller: By,
    limit: Limit = 50,
    cursor: Cursor = None,
    turn: Annotated[int | None, QueryParameter(ge=0, le=10**9)] = None,
    kind: FromQuery[SpanKind | None] = None,
) -> Page[Span]:
    """Spans by turn and start, of all turns or of one. Long inputs and outputs are cut. With `kind` a page
    may have fewer than `limit` items without being the last."""
    chat = await own_chat(services, caller, chat_id)
    first, skipped = (turn or 0, 0) if cursor is None else _place(cursor, turn)
    last = turn if turn is not None else first + min(limit, MOST_TURNS)
    rows = await services.store.read(traced(chat.id, first, last))
    found = spans(chat.id, rows.turns, rows.steps, rows.calls, rows.messages, rows.hooks)
    wanted = [span for span in found if kind is None or span.kind == kind][skipped:]
    items = await _with_agents(services, wanted[:limit])
    if len(wanted) > limit:
        # The position is counted from the beginning of a turn, whatever was added meanwhile.
        upto = items[-1].turn
        of_turn = sum(span.turn == upto for span in items) + (skipped if upto == first else 0)
        return Page(items=items, next_cursor=f"{upto}.{of_turn}")
    more = turn is None and any(row.number == last for row in rows.turns)
    return Page(items=items, next_cursor=f"{last + 1}.0" if more else None)


def _place(cursor: str, turn: int | None) -> tuple[int, int]:
    """A turn, and how many of its spans were shown."""
    match = _CURSOR.fullmatch(cursor)
    if match is None or (turn is not None and turn != int(match[1])):
        raise unknown_cursor()
    return int(match[1]), int(match[2])


@get("/chats/{chat_id:str}/trace/{span_id:str}", guards=[needs("chats:read")])
async def read_span(chat_id: InPath, span_id: InPath, services: With, caller: By) -> Span:
    """One span with its full input and output."""
    chat = await own_chat(services, caller, chat_id)
    match = _SPAN_ID.fullmatch(span_id)
    if match is None:
        raise not_found("span")
    turn, call_id, agent_id, run_id = match.groups()
    if run_id is not None:
        found = await services.store.read(hook_runs.one(chat.id, run_id))
        if found is None:
            raise not_found("span")
        return await _span(services, chat.id, found.turn, span_id)
    if agent_id is not None:
        return await _agent_span(services, chat.id, agent_id, span_id)
    if call_id is not None:
        return await _call_span(services, chat.id, CallId(call_id), span_id)
    return await _span(services, chat.id, int(turn), span_id)


async def _call_span(services: Services, chat_id: ChatId, call_id: CallId, span_id: str) -> Span:
    found = await services.store.read(calls.call(chat_id, call_id))
    if found is None:
        raise not_found("span")
    span = await _span(services, chat_id, found.call.turn, span_id)
    return span if found.full_output is None else replace(span, output=found.full_output, truncated=False)


async def _agent_span(services: Services, chat_id: ChatId, agent_id: str, span_id: str) -> Span:
    """It belongs to the turn of the call that started the sub-agent."""
    agent = await services.store.read(chats.chat(ChatId(agent_id))) if is_uuid7(agent_id) else None
    if agent is None or agent.parent_id != chat_id or agent.parent_call_id is None:
        raise not_found("span")
    found = await services.store.read(calls.call(chat_id, agent.parent_call_id))
    if found is None:
        raise not_found("span")
    return (await _with_agents(services, [await _span(services, chat_id, found.call.turn, span_id)]))[0]


async def _with_agents(services: Services, found: Sequence[Span]) -> tuple[Span, ...]:
    """The same spans, with the progress of sub-agents filled in."""
    started = tuple(ChatId(span.id.removeprefix("agent-")) for span in found if span.kind == "agent")
    return with_agents(found, await services.store.read(chats.chats(started)) if started else ())


async def _span(services: Services, chat_id: ChatId, turn: int, span_id: str) -> Span:
    rows = await services.store.read(traced(chat_id, turn, turn))
    for span in spans(chat_id, rows.turns, rows.steps, rows.calls, rows.messages, rows.hooks, whole=True):
        if span.id == span_id:
            return span
    raise not_found("span")


router = Router("/", route_handlers=[list_spans, read_span], tags=["trace"])
