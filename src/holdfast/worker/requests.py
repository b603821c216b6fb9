"""What the requests of a turn are made of: measured before they are sent, compared with the one before, and
stored with the step that they became."""

from msgspec.structs import replace

from holdfast.chats.commands import NewStep
from holdfast.core.segments import SegmentChange, Segments, difference, rebuilt
from holdfast.core.steps import Step
from holdfast.prompt.segments import segments_of, system_pieces, tool_pieces
from holdfast.providers.cache_rules import cache_rule
from holdfast.providers.registry import Model
from holdfast.store.steps import newest_requests
from holdfast.telemetry.cache import SentRequest, cache_of
from holdfast.worker.active_turn import ActiveTurn

# So many differences in a row at most: whoever wants to know a request reads them all.
LONGEST_CHAIN = 32


async def measured(turn: ActiveTurn) -> Segments:
    """The segments of the request that is made now."""
    prompt = (await turn.chat.history()).prompt
    return (*beginning(turn), *prompt.segments())


def beginning(turn: ActiveTurn) -> Segments:
    """Of the system prompt and the tools, which are the same for all requests of a turn."""
    setup = turn.setup
    if turn.measured_setup is not setup:
        turn.measured_setup = setup
        turn.beginning = (
            *segments_of(system_pieces(setup.system, setup.system_labels)),
            *segments_of(tool_pieces(setup.tool_definitions)),
        )
    return turn.beginning


async def with_request(turn: ActiveTurn, step: NewStep, model: Model, segments: Segments) -> NewStep:
    """The step with its request. Its usage is that of the last attempt alone."""
    usage = step.usage
    before = await sent_before(turn)
    now = SentRequest(model=step.model, segments=segments, input=usage.input, at=turn.clock.now())
    change = difference(before.segments if before else (), segments)
    if turn.chain >= LONGEST_CHAIN:
        change = SegmentChange(kept=0, added=segments)
    turn.unstored = now, turn.chain + 1 if change.kept else 0
    rule = cache_rule(model.provider.kind)
    cache = cache_of(before, now, usage, rule, started_at=step.started_at)
    return replace(step, segments=change, cache=cache)


def stored(turn: ActiveTurn) -> None:
    """The step is committed: the next request is compared with this one."""
    if turn.unstored is not None:
        turn.sent, turn.chain = turn.unstored
        turn.unstored = None


async def sent_before(turn: ActiveTurn) -> SentRequest | None:
    """The last request of this chat that was answered. What this process did not send itself is read once."""
    chat = turn.chat.view.chat
    if turn.sent is None and not turn.sent_known:
        turn.sent_known = True
        if chat.turn > 1 or chat.turn_steps:
            steps = await turn.chat.read(newest_requests(chat.id, LONGEST_CHAIN + 1))
            turn.sent, turn.chain = last_sent(steps)
    return turn.sent


def last_sent(newest_first: tuple[Step, ...]) -> tuple[SentRequest | None, int]:
    """The newest of these requests, and how many differences lead to it."""
    chain: list[SegmentChange] = []
    for step in newest_first:
        if step.segments is None:
            continue
        chain.append(step.segments)
        if not step.segments.kept:
            break
    else:
        return None, 0
    newest = next(step for step in newest_first if step.segments is not None)
    segments = rebuilt(reversed(chain))
    counted = newest.usage.context_used or newest.usage.input
    return SentRequest(model=newest.model, segments=segments, input=counted, at=newest.finished_at), len(
        chain
    ) - 1
