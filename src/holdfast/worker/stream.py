"""One attempt at a step: what the model streams is shown at once, and collected for the commit, or for an
interrupt that comes first."""

from contextlib import aclosing

from msgspec.structs import replace

from holdfast.chats.commands import NewStep
from holdfast.core.parts import ToolCall
from holdfast.core.usage import Usage
from holdfast.providers.assemble import Assembler, ModelAnswer
from holdfast.providers.estimates import with_estimates
from holdfast.providers.interface import ModelRequest
from holdfast.providers.registry import Model
from holdfast.worker.active_turn import ActiveTurn, Attempt
from holdfast.worker.debug_steps import recorded_end, recorded_step

# How often watchers are told what a step has used so far.
USAGE_SECONDS = 0.5


async def stream(
    turn: ActiveTurn,
    model: Model,
    request: ModelRequest,
    step: NewStep,
    *,
    input_estimate: int,
    shown_as: ToolCall | None = None,
) -> tuple[ModelAnswer, NewStep]:
    """The answer, and the step as it is to be stored. Until its commit, `turn.attempt` is what has arrived.
    With `shown_as` watchers see that call instead of the model's text: a summary is not an answer."""
    await turn.models.prepare(model)
    recorded = await recorded_step(turn, model, request, step.kind)
    if recorded is not None:
        request = replace(request, exchanges=recorded)
    await turn.chat.ready()
    watch = turn.watch
    assembler = Assembler(turn.new_call_id, now=watch.now)
    live, chat = turn.chat.live, turn.chat.view.chat
    attempt = turn.attempt = Attempt(turn.episode, chat.turn, step, assembler, model, watch, input_estimate)
    turn.made_here = attempt.episode
    live.begin(attempt.episode)
    live.step(chat.turn, chat.turn_steps + 1, step)
    if shown_as is not None:
        live.send(shown_as)
    told_at = turn.clock.elapsed()
    with recorded_end(recorded):
        async with aclosing(model.adapter.stream(request)) as events:
            async for event in events:
                attempt.heard = True
                part = assembler.add(event)
                if part is not None:
                    if attempt.first_part_at is None:
                        attempt.first_part_at, attempt.first_part_seconds = watch.now(), watch.seconds
                    if shown_as is None:
                        live.send(part)
                if assembler.full:
                    break
                if (elapsed := turn.clock.elapsed()) - told_at >= USAGE_SECONDS:
                    told_at = elapsed
                    used = _used_so_far(turn, attempt)
                    live.step(chat.turn, chat.turn_steps + 1, replace(step, usage=used))
        answer, done = _ended(turn, attempt, assembler.answer(), whole=not assembler.full)
    if recorded is not None:
        recorded.completed(answer, done.usage)
    return answer, done


def ended_early(turn: ActiveTurn, attempt: Attempt) -> tuple[ModelAnswer, NewStep]:
    """What there is of an answer that was interrupted."""
    return _ended(turn, attempt, attempt.assembler.partial(), whole=False)


def forget(turn: ActiveTurn) -> None:
    """What was streamed has been committed or discarded."""
    turn.attempt = None
    turn.chat.live.end()


def _ended(
    turn: ActiveTurn, attempt: Attempt, answer: ModelAnswer, *, whole: bool
) -> tuple[ModelAnswer, NewStep]:
    return answer, replace(
        attempt.step,
        response_id=answer.response_id,
        usage=_priced(turn, attempt, answer, whole=whole),
        first_part_at=attempt.first_part_at,
        seconds=attempt.watch.seconds,
    )


def _used_so_far(turn: ActiveTurn, attempt: Attempt) -> Usage:
    answer = ModelAnswer(parts=(), usage=attempt.assembler.reported, stop_reason="length")
    return _priced(turn, attempt, answer, whole=False)


def _priced(turn: ActiveTurn, attempt: Attempt, answer: ModelAnswer, *, whole: bool) -> Usage:
    counted = with_estimates(
        answer.usage,
        input_tokens=attempt.input_estimate,
        output_tokens=attempt.assembler.output_estimate,
        whole=whole,
    )
    usage = turn.models.priced(attempt.model, replace(answer, usage=counted))
    seconds = attempt.watch.seconds - attempt.first_part_seconds if attempt.first_part_at else 0.0
    speed = round(usage.output / seconds, 1) if seconds > 0 and usage.output else None
    return replace(usage, tokens_per_second=speed)
