"""One step: a model call with all its attempts. What the model streams is shown at once and stored when it is
whole; a failed attempt is tried again here and nowhere else, and every wait is a durable notice."""

import asyncio
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

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
from holdfast.core.ids import FileId
from holdfast.core.parts import File, Notice, ToolCall
from holdfast.core.usage import Usage
from holdfast.providers.assemble import Answer
from holdfast.providers.configs import ModelConfig
from holdfast.providers.interface import Request, StopReason
from holdfast.store.approvals import said_for_chat
from holdfast.worker.history import go_on, nudges
from holdfast.worker.run import Run
from holdfast.worker.stream import forget, stream
from holdfast.worker.surroundings import said
from holdfast.worker.turn import context_of


async def generate(run: Run, *, nudge: bool = False) -> None:
    """Commits the model's answer, or a failure, or asks for a compaction."""
    await wait_for_retry(run)
    if run.begun != run.episode:
        await run.chat.commit(BeginAttempt(messages=(*await said(run), *nudges(nudge))))
    step = NewStep(started_at=run.clock.now())
    while True:
        run.begun = None
        step = replace(step, attempts=run.chat.view.chat.attempt)
        try:
            model = run.model()
            step = replace(step, model=model.config.name, provider=model.provider.name)
            answer, step = await stream(run, model, await _request(run, model.config), step)
        except AttemptFailed as failed:
            forget(run)
            step = replace(step, failures=(*step.failures, failed.failure))
            run.chat.metrics.failed_attempt(failed.failure.kind)
            if not await _again(run, failed, step):
                return
            await run.chat.commit(BeginAttempt())
        except InvalidInput as error:
            await run.chat.commit(FailTurn(failure=Failure(kind="config", message=error.text), step=step))
            return
        else:
            await _commit(run, answer, step)
            return


async def _request(run: Run, config: ModelConfig) -> Request:
    prompt = (await run.chat.history()).prompt
    return Request(
        model=config,
        system=run.system,
        messages=prompt.shown(),
        files=await shown_files(run, prompt.files),
        tools=run.tool_definitions,
        effort=run.effort,
        cache_key=run.chat.chat_id,
        attempt=run.chat.view.chat.attempt,
    )


async def shown_files(run: Run, named: Sequence[File]) -> Mapping[FileId, bytes]:
    """What the files hold that the model is to see."""
    files, owner_id = run.files, run.chat.view.chat.owner_id
    if not named or files is None:
        return {}
    return await run.chat.prepare(lambda: files.shown(named, owner_id))


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


async def _commit(run: Run, answer: Answer, step: NewStep) -> None:
    """The answer and, in the same transaction, what follows from it without anybody's doing."""
    if run.said_here and any(isinstance(part, ToolCall) for part in answer.parts):
        run.hear_people(await run.chat.read(said_for_chat(run.chat.chat_id)))
    calls = run.new_calls(answer.parts)
    message = NewMessage(
        role="assistant", parts=answer.parts, model=step.model, effort=run.effort, usage=step.usage
    )
    pauses = answer.stop_reason == "pause" and not calls
    await run.chat.commit(
        CommitStep(step=step, messages=(message, *go_on(pauses)), calls=calls),
        *(() if pauses else _what_follows(run, calls, answer, step.usage)),
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
    "content_filter": Notice(
        code="content_filter",
        text="The provider ended the answer by its rules for content. Change the message or the model.",
    ),
}
