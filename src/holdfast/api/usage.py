"""What was used and what it cost: for one chat, and for all chats of a user."""

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Annotated

from litestar import Router, get
from litestar.params import FromQuery, QueryParameter

from holdfast.api.services import By, InPath, With, needs, own_chat
from holdfast.core.clock import to_micros
from holdfast.core.ids import StepId
from holdfast.core.shapes import Record
from holdfast.core.usage import Usage
from holdfast.store import steps, usage_totals
from holdfast.store.usage_totals import By as SumBy
from holdfast.store.usage_totals import SpendingRow

TURNS = 200
# For all turns in an answer. One turn has at most 1 200 of this limit, and a few extra.
STEPS = 5000
LINES = 1000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class StepUsage(Record, frozen=True, kw_only=True):
    id: StepId
    number: int
    kind: str
    model: str | None
    usage: Usage


class TurnUsage(Record, frozen=True, kw_only=True):
    turn: int
    usage: Usage
    steps: tuple[StepUsage, ...]


class ChatUsage(Record, frozen=True, kw_only=True):
    """`total` includes sub-agents; `turns` are the chat's own, the newest 200, or fewer if these have more
    than 5 000 steps."""

    total: Usage
    turns: tuple[TurnUsage, ...]


class UsageLine(Record, frozen=True, kw_only=True):
    """`key` is a day, a model, the id of a chat or a category, as requested."""

    key: str
    steps: int
    usage: Usage


class UsageReport(Record, frozen=True, kw_only=True):
    by: SumBy
    items: tuple[UsageLine, ...]


@get("/chats/{chat_id:str}/usage", guards=[needs("chats:read")])
async def chat_usage(chat_id: InPath, services: With, caller: By) -> ChatUsage:
    """Per step, per turn and in total."""
    chat = await own_chat(services, caller, chat_id)
    turns = await services.store.read(steps.turns(chat.id, limit=TURNS))
    if not turns:
        return ChatUsage(total=chat.usage, turns=())
    first, last = turns[-1].number, turns[0].number
    found = await services.store.read(steps.newest_steps(chat.id, first, last, STEPS + 1))
    if len(found) > STEPS:
        # The oldest of these turns may lack some steps; at least one turn is always included.
        turns = tuple(turn for turn in turns if turn.number > found[-1].turn) or turns[:1]
    by_turn = defaultdict[int, list[steps.Step]](list)
    for step in reversed(found):
        by_turn[step.turn].append(step)
    return ChatUsage(
        total=chat.usage,
        turns=tuple(_turn_usage(turn.number, by_turn[turn.number]) for turn in reversed(turns)),
    )


def _turn_usage(turn: int, of_turn: list[steps.Step]) -> TurnUsage:
    total = Usage()
    for step in of_turn:
        total += step.usage
    return TurnUsage(
        turn=turn,
        usage=total,
        steps=tuple(
            StepUsage(id=step.id, number=step.number, kind=step.kind, model=step.model, usage=step.usage)
            for step in of_turn
        ),
    )


@get("/usage", guards=[needs("chats:read")])
async def all_usage(
    services: With,
    caller: By,
    by: FromQuery[SumBy] = "day",
    days: Annotated[int, QueryParameter(ge=1, le=3650, description="How far back.")] = 30,
) -> UsageReport:
    """Everything the caller's chats used, by day, model, chat or category."""
    since = services.clock.now() - timedelta(days=days)
    lines = await services.store.read(
        usage_totals.spent(caller.user.id, by, since_micros=to_micros(since), limit=LINES)
    )
    return UsageReport(
        by=by,
        items=tuple(UsageLine(key=_key(by, line), steps=line.steps, usage=line.usage) for line in lines),
    )


def _key(by: SumBy, line: SpendingRow) -> str:
    return (_EPOCH + timedelta(days=int(line.key))).date().isoformat() if by == "day" else line.key


router = Router("/", route_handlers=[chat_usage, all_usage], tags=["usage"])
