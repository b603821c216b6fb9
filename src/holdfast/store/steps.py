"""Turns and steps. Together with calls and messages they are what a trace is made of."""

from dataclasses import dataclass

from holdfast.chats.view import Call
from holdfast.core.hooks import HookRun
from holdfast.core.ids import ChatId
from holdfast.core.messages import Message
from holdfast.core.segments import Segments, applied
from holdfast.core.steps import Step, Turn
from holdfast.store import hook_runs
from holdfast.store.calls import calls_of_turns
from holdfast.store.columns import listed
from holdfast.store.query import Query, Rows, each, joined, query
from holdfast.store.rows import MESSAGE, STEP, TURN, message_of, step_of, turn_of

TURNS = f"SELECT {listed(TURN)} FROM turns WHERE chat_id = $1 AND number < $2 ORDER BY number DESC LIMIT $3"
STEPS = (
    f"SELECT {listed(STEP)} FROM steps WHERE chat_id = $1 AND turn BETWEEN $2 AND $3 ORDER BY turn, number"
)
NEWEST_STEPS = (
    f"SELECT {listed(STEP)} FROM steps WHERE chat_id = $1 AND turn BETWEEN $2 AND $3 "
    "ORDER BY turn DESC, number DESC LIMIT $4"
)
TRACED_TURNS = (
    f"SELECT {listed(TURN)} FROM turns WHERE chat_id = $1 AND number BETWEEN $2 AND $3 ORDER BY number"
)
# A turn's messages start with the one that started it, so no index on turns is needed.
TRACED_MESSAGES = (
    f"SELECT {listed(MESSAGE)} FROM messages WHERE chat_id = $1 AND turn BETWEEN $2 AND $3 "
    "AND id >= coalesce((SELECT t.message_id FROM turns t WHERE t.chat_id = $1 AND t.number = $2), "
    "'00000000-0000-0000-0000-000000000000') ORDER BY id"
)

# Those that were sent the history: not titles, not summaries.
NEWEST_REQUESTS = (
    f"SELECT {listed(STEP)} FROM steps WHERE chat_id = $1 AND segments IS NOT NULL "
    "ORDER BY revision DESC LIMIT $2"
)
REQUESTS = f"SELECT {listed(STEP)} FROM steps WHERE chat_id = $1 AND segments IS NOT NULL ORDER BY revision"

_ENDLESS = 2**62


def turns(chat_id: ChatId, *, before: int | None = None, limit: int = 50) -> Query[tuple[Turn, ...]]:
    """Newest first."""
    return query(TURNS, chat_id, _ENDLESS if before is None else before, limit, read=each(turn_of))


def steps_of_turns(chat_id: ChatId, first: int, last: int) -> Query[tuple[Step, ...]]:
    return query(STEPS, chat_id, first, last, read=each(step_of))


def newest_requests(chat_id: ChatId, limit: int) -> Query[tuple[Step, ...]]:
    """The newest first, with what they were made of."""
    return query(NEWEST_REQUESTS, chat_id, limit, read=each(step_of))


@dataclass(frozen=True, slots=True)
class StepRequest:
    """A step that was sent the history: what its request was made of, and the tokens the provider counted."""

    turn: int
    number: int
    counted: int | None
    segments: Segments


def requests(chat_id: ChatId) -> Query[tuple[StepRequest, ...]]:
    """All that are recorded, the oldest first."""
    return query(REQUESTS, chat_id, read=_requests)


def _requests(rows: Rows) -> tuple[StepRequest, ...]:
    found: list[StepRequest] = []
    segments: Segments = ()
    for row in rows:
        step = step_of(row)
        if step.segments is not None:
            segments = applied(segments, step.segments)
            found.append(StepRequest(step.turn, step.number, step.usage.context_used, segments))
    return tuple(found)


def newest_steps(chat_id: ChatId, first: int, last: int, limit: int) -> Query[tuple[Step, ...]]:
    """The steps of these turns, newest first."""
    return query(NEWEST_STEPS, chat_id, first, last, limit, read=each(step_of))


@dataclass(frozen=True, slots=True)
class Traced:
    """What a trace is made of, read in one snapshot."""

    turns: tuple[Turn, ...]
    steps: tuple[Step, ...]
    calls: tuple[Call, ...]
    messages: tuple[Message, ...]
    hooks: tuple[HookRun, ...] = ()


def traced(chat_id: ChatId, first: int, last: int) -> Query[Traced]:
    return joined(
        query(TRACED_TURNS, chat_id, first, last, read=each(turn_of)),
        steps_of_turns(chat_id, first, last),
        calls_of_turns(chat_id, first, last),
        query(TRACED_MESSAGES, chat_id, first, last, read=each(message_of)),
        hook_runs.of_turns(chat_id, first, last),
        read=Traced,
    )
