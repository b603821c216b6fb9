"""One step: a model call with all its attempts. What the model streams is shown at once and stored when it is
whole; a failed attempt is tried again here and nowhere else, and every wait is a durable notice."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from datetime import datetime

from holdfast.chats.commands import (
    BeginAttempt,
    Command,
    CommitStep,
    FailTurn,
    FinishTurn,
    NewCall,
    NewMessage,
    NewStep,
    NoteRetry,
    RequestCompaction,
    RequireAction,
    StartCalls,
)
from holdfast.core.errors import AttemptFailed, InvalidInput
from holdfast.core.failures import Failure
from holdfast.core.parts import Notice, ToolCall
from holdfast.core.usage import Usage
from holdfast.providers.assemble import Answer, Assembler
from holdfast.providers.configs import ModelConfig
from holdfast.providers.interface import Request, StopReason
from holdfast.providers.registry import Model
from holdfast.worker.history import nudges
from holdfast.worker.run import Partial, Run
from holdfast.worker.turn import context_of


async def generate(run: Run, *, nudge: bool = False) -> None:
    """Commits the model's answer, or a failure, or asks for a compaction."""
    await wait_for_retry(run)
    if run.begun != run.episode:
        await run.chat.commit(BeginAttempt(messages=nudges(nudge)))
    failures: list[Failure] = []
    started_at = run.clock.now()
    while True:
        run.begun = None
        try:
            model = run.model()
            request = await _request(run, model.config)
            answer, first_part_at = await stream(run, model, request, started_at)
        except AttemptFailed as failed:
            forget(run)
            failures.append(failed.failure)
            run.chat.metrics.failed_attempt(failed.failure.kind)
            if not await _again(run, failed, _step(run, None, failures, started_at)):
                return
            await run.chat.commit(BeginAttempt())
        except InvalidInput as error:
            failure = Failure(kind="config", message=error.text)
            await run.chat.commit(FailTurn(failure=failure, step=_step(run, None, failures, started_at)))
            return
        else:
            step = _step(run, model, failures, started_at, answer, first_part_at)
            await _commit(run, model, answer, step)
            return


async def stream(
    run: Run,
    model: Model,
    request: Request,
    started_at: datetime,
    *,
    shown_as: ToolCall | None = None,
) -> tuple[Answer, datetime | None]:
    """One attempt. From here until its commit `run.partial` is what there is of it. With `shown_as` watchers
    see that call instead of what the model says: a summary is not an answer."""
    await run.chat.ready()
    assembler = Assembler(run.new_call_id)
    episode = run.episode
    step = NewStep(
        kind="model" if shown_as is None else "compaction",
        model=model.config.name,
        provider=model.provider.name,
        attempts=episode.attempt,
        started_at=started_at,
    )
    run.partial = Partial(episode, step, assembler, model)
    first_part_at: datetime | None = None
    live = run.chat.live
    live.begin(episode)
    if shown_as is not None:
        live.send(shown_as)
    async with aclosing(model.adapter.stream(request)) as events:
        async for event in events:
            part = assembler.add(event)
            if part is not None:
                first_part_at = first_part_at or run.clock.now()
                if shown_as is None:
                    live.send(part)
            if assembler.full:
                break
    return assembler.answer(), first_part_at


def forget(run: Run) -> None:
    """What was streamed is committed, or nobody's answer."""
    run.partial = None
    run.chat.live.end()


async def _request(run: Run, config: ModelConfig) -> Request:
    history = await run.chat.history()
    return Request(
        model=config,
        system=tuple(run.system()),
        messages=history.prompt.shown(),
        tools=run.tool_definitions,
        effort=run.effort,
        cache_key=run.chat.chat_id,
        attempt=run.chat.view.chat.attempt,
    )


async def wait_for_retry(run: Run) -> None:
    """A wait that another worker began is waited out; never longer than it was meant to be, for clocks
    differ."""
    retry = run.chat.view.chat.retry
    if retry is not None:
        left = (retry.next_at - run.clock.now()).total_seconds()
        await asyncio.sleep(min(max(left, 0), retry.delay_ms / 1000))


async def _again(run: Run, failed: AttemptFailed, step: NewStep) -> bool:
    """Whether to try again; if not, the turn has failed or goes on otherwise."""
    failure = failed.failure
    chat = run.chat.view.chat
    if failure.kind == "context_overflow" and chat.compaction is None:
        await run.chat.commit(RequestCompaction(request="overflow"))
        return False
    rule = run.settings.retry
    delay = rule.delay_seconds(chat.attempt, failed.retry_after_seconds) if failure.retryable else None
    if delay is None:
        await run.chat.commit(FailTurn(failure=failure, step=step))
        return False
    await run.chat.commit(NoteRetry(failure=failure, delay_ms=round(delay * 1000)))
    await asyncio.sleep(delay)
    return True


async def _commit(run: Run, model: Model, answer: Answer, step: NewStep) -> None:
    """The answer and, in the same transaction, what follows from it without anybody's doing."""
    calls = run.new_calls(answer.parts)
    message = NewMessage(
        role="assistant",
        parts=answer.parts,
        model=model.config.name,
        effort=run.effort,
        usage=step.usage,
    )
    await run.chat.commit(
        CommitStep(step=step, messages=(message,), calls=calls),
        *_what_follows(run, calls, answer, step.usage),
    )
    forget(run)


def _what_follows(run: Run, calls: Sequence[NewCall], answer: Answer, usage: Usage) -> tuple[Command, ...]:
    ready = [call.call_id for call in calls if call.outcome is None and call.waits_for is None]
    if ready:
        return () if run.stopping else (StartCalls(call_ids=tuple(ready[: run.settings.calls_at_once])),)
    if any(call.waits_for for call in calls):
        return (RequireAction(),)
    context = context_of(usage.context_used, usage.context_limit, run.limits.compaction_threshold)
    if calls or context != "free" or run.chat.view.chat.compaction is not None:
        return ()
    return (FinishTurn(notice=_CUT_SHORT.get(answer.stop_reason)),)


_CUT_SHORT: dict[StopReason, Notice] = {
    "length": Notice(code="length", text="The answer reached its maximum length and was cut."),
    "content_filter": Notice(code="content_filter", text="The provider's content filter ended the answer."),
    "pause": Notice(code="pause", text="The provider paused before the end. Send a message to go on."),
}


def _step(
    run: Run,
    model: Model | None,
    failures: Sequence[Failure],
    started_at: datetime,
    answer: Answer | None = None,
    first_part_at: datetime | None = None,
) -> NewStep:
    usage = Usage()
    if model is not None and answer is not None:
        usage = run.priced(model, answer, first_part_at)
    return NewStep(
        model=model.config.name if model else None,
        provider=model.provider.name if model else None,
        response_id=answer.response_id if answer else None,
        attempts=run.chat.view.chat.attempt,
        failures=tuple(failures),
        usage=usage,
        started_at=started_at,
        first_part_at=first_part_at,
    )
