"""One attempt at a step: what the model streams is shown at once, and collected for the commit, or for an
interrupt that comes first."""

from contextlib import aclosing

from msgspec.structs import replace

from holdfast.chats.commands import NewStep
from holdfast.core.parts import ToolCall
from holdfast.core.usage import Usage
from holdfast.providers.assemble import Assembler, ModelAnswer
from holdfast.providers.interface import ModelRequest
from holdfast.providers.registry import Model
from holdfast.worker.active_turn import ActiveTurn, Attempt

# How often watchers are told what a step has used so far.
USAGE_SECONDS = 0.5


async def stream(
    turn: ActiveTurn, model: Model, request: ModelRequest, step: NewStep, *, shown_as: ToolCall | None = None
) -> tuple[ModelAnswer, NewStep]:
    """The answer, and the step as it is to be stored. Until its commit, `turn.attempt` is what has arrived.
    With `shown_as` watchers see that call instead of the model's text: a summary is not an answer."""
    await turn.models.prepare(model)
    await turn.chat.ready()
    watch = turn.watch
    assembler = Assembler(turn.new_call_id, now=watch.now)
    attempt = turn.attempt = Attempt(turn.episode, step, assembler, model, watch)
    live, chat = turn.chat.live, turn.chat.view.chat
    live.begin(attempt.episode)
    live.step(chat.turn, chat.turn_steps + 1, step)
    if shown_as is not None:
        live.send(shown_as)
    told_at = turn.clock.elapsed()
    async with aclosing(model.adapter.stream(request)) as events:
        async for event in events:
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
                live.step(chat.turn, chat.turn_steps + 1, replace(step, usage=_used_so_far(turn, attempt)))
    return _ended(turn, attempt, assembler.answer())


def ended_early(turn: ActiveTurn, attempt: Attempt) -> tuple[ModelAnswer, NewStep]:
    """What has arrived of an answer that was interrupted."""
    return _ended(turn, attempt, attempt.assembler.partial())


def forget(turn: ActiveTurn) -> None:
    """What was streamed has been committed or discarded."""
    turn.attempt = None
    turn.chat.live.end()


def _ended(turn: ActiveTurn, attempt: Attempt, answer: ModelAnswer) -> tuple[ModelAnswer, NewStep]:
    return answer, replace(
        attempt.step,
        response_id=answer.response_id,
        usage=_priced(turn, attempt, answer),
        first_part_at=attempt.first_part_at,
        seconds=attempt.watch.seconds,
    )


def _used_so_far(turn: ActiveTurn, attempt: Attempt) -> Usage:
    answer = ModelAnswer(parts=(), usage=attempt.assembler.usage, stop_reason="length")
    return _priced(turn, attempt, answer)


def _priced(turn: ActiveTurn, attempt: Attempt, answer: ModelAnswer) -> Usage:
    usage = turn.models.priced(attempt.model, answer)
    seconds = attempt.watch.seconds - attempt.first_part_seconds if attempt.first_part_at else 0.0
    speed = round(usage.output / seconds, 1) if seconds > 0 and usage.output else None
    return replace(usage, tokens_per_second=speed)
