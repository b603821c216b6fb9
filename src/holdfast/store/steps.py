"""Turns and steps: with the calls, the rows that are also the trace's spans."""

from holdfast.core.ids import ChatId
from holdfast.core.steps import Step, Turn
from holdfast.store.columns import listed
from holdfast.store.query import Query, each, query
from holdfast.store.rows import STEP, TURN, step_of, turn_of

TURNS = f"SELECT {listed(TURN)} FROM turns WHERE chat_id = $1 AND number < $2 ORDER BY number DESC LIMIT $3"
STEPS = (
    f"SELECT {listed(STEP)} FROM steps WHERE chat_id = $1 AND turn BETWEEN $2 AND $3 ORDER BY turn, number"
)
NEWEST_STEPS = (
    f"SELECT {listed(STEP)} FROM steps WHERE chat_id = $1 AND turn BETWEEN $2 AND $3 "
    "ORDER BY turn DESC, number DESC LIMIT $4"
)

_ENDLESS = 2**62


def turns(chat_id: ChatId, *, before: int | None = None, limit: int = 50) -> Query[tuple[Turn, ...]]:
    """The newest first."""
    return query(TURNS, chat_id, _ENDLESS if before is None else before, limit, read=each(turn_of))


def steps_of_turns(chat_id: ChatId, first: int, last: int) -> Query[tuple[Step, ...]]:
    return query(STEPS, chat_id, first, last, read=each(step_of))


def newest_steps(chat_id: ChatId, first: int, last: int, limit: int) -> Query[tuple[Step, ...]]:
    """Of these turns, the newest first."""
    return query(NEWEST_STEPS, chat_id, first, last, limit, read=each(step_of))
