"""One attempt at a step: what the model streams is shown at once, and kept together for the commit, or for an
interrupt that comes first."""

from contextlib import aclosing
from datetime import datetime

from msgspec.structs import replace

from holdfast.chats.commands import NewStep
from holdfast.core.parts import ToolCall
from holdfast.core.usage import Usage
from holdfast.providers.assemble import Answer, Assembler
from holdfast.providers.interface import Request
from holdfast.providers.registry import Model
from holdfast.worker.run import Partial, Run

# How often watchers are told what a step has used so far.
USAGE_SECONDS = 0.5


async def stream(
    run: Run, model: Model, request: Request, step: NewStep, *, shown_as: ToolCall | None = None
) -> tuple[Answer, NewStep]:
    """The answer, and the step as it is to be stored. From here until its commit `run.partial` is what there
    is of it. With `shown_as` watchers see that call instead of what the model says: a summary is not an
    answer."""
    await run.models.prepare(model)
    await run.chat.ready()
    partial = run.partial = Partial(run.episode, step, Assembler(run.new_call_id, now=run.clock.now), model)
    live, chat = run.chat.live, run.chat.view.chat
    live.begin(partial.episode)
    live.step(chat.turn, chat.turn_steps + 1, step)
    if shown_as is not None:
        live.send(shown_as)
    told_at = run.clock.elapsed()
    assembler = partial.assembler
    async with aclosing(model.adapter.stream(request)) as events:
        async for event in events:
            part = assembler.add(event)
            if part is not None:
                partial.first_part_at = partial.first_part_at or run.clock.now()
                if shown_as is None:
                    live.send(part)
            if assembler.full:
                break
            if (elapsed := run.clock.elapsed()) - told_at >= USAGE_SECONDS:
                told_at = elapsed
                live.step(chat.turn, chat.turn_steps + 1, replace(step, usage=_used_so_far(run, partial)))
    return _ended(run, partial, assembler.answer())


def ended_early(run: Run, partial: Partial) -> tuple[Answer, NewStep]:
    """What there is of an answer that was interrupted."""
    return _ended(run, partial, partial.assembler.partial())


def forget(run: Run) -> None:
    """What was streamed is committed, or nobody's answer."""
    run.partial = None
    run.chat.live.end()


def _ended(run: Run, partial: Partial, answer: Answer) -> tuple[Answer, NewStep]:
    return answer, replace(
        partial.step,
        response_id=answer.response_id,
        usage=_priced(run, partial.model, answer, partial.first_part_at),
        first_part_at=partial.first_part_at,
    )


def _used_so_far(run: Run, partial: Partial) -> Usage:
    answer = Answer(parts=(), usage=partial.assembler.usage, stop_reason="length")
    return _priced(run, partial.model, answer, partial.first_part_at)


def _priced(run: Run, model: Model, answer: Answer, first_part_at: datetime | None) -> Usage:
    usage = run.models.priced(model, answer)
    seconds = (run.clock.now() - first_part_at).total_seconds() if first_part_at else 0.0
    speed = round(usage.output / seconds, 1) if seconds > 0 and usage.output else None
    return replace(usage, tokens_per_second=speed)
