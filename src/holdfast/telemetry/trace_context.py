"""Which trace a turn or a run belongs to: that of the request that started it, that of the call or run that
it works for, or one of its own. It follows from rows, so every process finds the same."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar, assert_never

from holdfast.core.ids import CallId, ChatId, FlowRunId, RunId
from holdfast.core.origins import FromChat, FromFlowStep, FromFork, FromPerson, FromRun, Origin
from holdfast.core.shapes import Record
from holdfast.core.trace_parents import (
    TraceParent,
    call_span,
    parsed,
    run_span,
    span_id_of,
    trace_id_of,
    turn_span,
)
from holdfast.store import trace_parents
from holdfast.store.query import Query
from holdfast.store.trace_parents import RunStart

T = TypeVar("T")

# Agents of agents of runs: deeper than any family may be.
DEEPEST = 64


class SpanPlace(Record, frozen=True, kw_only=True):
    """A span of ours, and the one above it; None: it is the first of its trace."""

    span: TraceParent
    parent: TraceParent | None


class Reads(Protocol):
    """A store, or a chat that waits for its store."""

    @property
    def read(self) -> Callable[[Query[Any]], Awaitable[Any]]: ...


class Tracing:
    """What the rest of a server that exports traces knows of it: in which trace it works."""

    def __init__(self, reads: Reads, made_beside: Callable[[ChatId, int], None]) -> None:
        self._reads = reads
        # To be called after a title, a summary, or a step that was stored when its turn was over.
        self.made_beside = made_beside

    async def place_of_turn(self, chat_id: ChatId, turn: int) -> SpanPlace | None:
        return await place_of_turn(self._reads, chat_id, turn)


async def place_of_turn(reads: Reads, chat_id: ChatId, turn: int, depth: int = 0) -> SpanPlace | None:
    """None: the chat is gone."""
    start = await _read(reads, trace_parents.of_turn(chat_id, turn))
    if start is None:
        return None
    parent = _given(start.trace_parent) or await _above(reads, start.origin, depth)
    return _below(parent, turn_span(chat_id, turn))


async def place_of_run(reads: Reads, run_id: RunId, depth: int = 0) -> SpanPlace:
    start = await _read(reads, trace_parents.of_run(run_id))
    return _below(await _above_run(reads, start, depth), run_span(run_id))


async def place_of_flow_run(reads: Reads, run_id: FlowRunId, depth: int = 0) -> SpanPlace:
    start = await _read(reads, trace_parents.of_flow_run(run_id))
    return _below(await _above_run(reads, start, depth), run_span(run_id))


async def _above(reads: Reads, origin: Origin, depth: int) -> TraceParent | None:
    if depth >= DEEPEST:
        return None
    match origin:
        case FromPerson() | FromFork():
            return None
        case FromChat(chat_id=chat_id, call_id=call_id):
            return None if call_id is None else await _of_call(reads, chat_id, call_id, depth)
        case FromRun(run_id=run_id):
            return (await place_of_run(reads, run_id, depth + 1)).span
        case FromFlowStep(flow_run_id=flow_run_id):
            return (await place_of_flow_run(reads, flow_run_id, depth + 1)).span
        case _:
            assert_never(origin)


async def _above_run(reads: Reads, start: RunStart | None, depth: int) -> TraceParent | None:
    if start is None or depth >= DEEPEST:
        return None
    if (given := _given(start.trace_parent)) is not None:
        return given
    if start.flow_run_id is not None:
        return (await place_of_flow_run(reads, start.flow_run_id, depth + 1)).span
    asked = start.asked_by
    if asked is None or asked.call_id is None:
        return None
    return await _of_call(reads, asked.chat_id, asked.call_id, depth)


async def _of_call(reads: Reads, chat_id: ChatId, call_id: CallId, depth: int) -> TraceParent | None:
    turn = await _read(reads, trace_parents.turn_of_call(chat_id, call_id))
    place = None if turn is None else await place_of_turn(reads, chat_id, turn, depth + 1)
    return None if place is None else place.span.below(*call_span(chat_id, call_id))


def _given(text: str | None) -> TraceParent | None:
    return None if text is None else parsed(text)


def _below(parent: TraceParent | None, of: tuple[str | int, ...]) -> SpanPlace:
    if parent is None:
        return SpanPlace(span=TraceParent(trace_id=trace_id_of(*of), span_id=span_id_of(*of)), parent=None)
    return SpanPlace(span=parent.below(*of), parent=parent)


async def _read(reads: Reads, query: Query[T]) -> T:
    return await reads.read(query)
