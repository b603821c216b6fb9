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
from holdfast.chats.synthetic import NOT_RUN
from holdfast.core.errors import AttemptFailed, InvalidInput
from holdfast.core.failures import Failure, ModelLimits
from holdfast.core.ids import FileId
from holdfast.core.parts import File, ToolCall
from holdfast.core.segments import estimated_tokens
from holdfast.core.usage import Usage
from holdfast.prompt.notices import CUT_SHORT, no_tools
from holdfast.providers.assemble import ModelAnswer
from holdfast.providers.configs import ModelConfig
from holdfast.providers.interface import ModelRequest
from holdfast.worker.actions import CallModel
from holdfast.worker.active_turn import ActiveTurn
from holdfast.worker.history import closes, go_on, in_vain, nudges
from holdfast.worker.hook_calls import held_for_hooks
from holdfast.worker.hook_turns import has_end_hooks, prompts_due
from holdfast.worker.progress import context_of
from holdfast.worker.requests import measured, stored, with_request
from holdfast.worker.stream import forget, stream
from holdfast.worker.surroundings import said
from holdfast.worker.unfinished import failed_attempt, in_all, lost_attempt, spent_before, unfinished_step


async def call_model(turn: ActiveTurn, action: CallModel) -> None:
    """Commits the model's answer, or a failure, or asks for a compaction."""
    closing = action.closing
    await wait_for_retry(turn)
    spent = spent_before(turn)
    if turn.begun != turn.episode:
        await turn.chat.commit(
            *await lost_attempt(turn), BeginAttempt(messages=await _said_before(turn, action))
        )
    step = turn.new_step()
    # Limits of the model that the provider named when it refused an earlier attempt. The next attempt
    # respects them.
    limits = ModelLimits()
    while True:
        if await prompts_due(turn):
            # Hooks look at what entered with this attempt before any model does.
            if noted := unfinished_step(turn, step, spent):
                await turn.chat.commit(*noted)
            turn.made_here, turn.begun = turn.episode, turn.episode
            return
        turn.begun = None
        step = replace(step, attempts=turn.chat.view.chat.attempt)
        try:
            model = turn.model()
            step = replace(step, model=model.config.name, provider=model.provider.name)
            request = await _request(turn, model.config, limits.room, closing=closing is not None)
            segments = await measured(turn)
            answer, step = await stream(turn, model, request, step, input_estimate=estimated_tokens(segments))
            step = in_all(await with_request(turn, step, model, segments), spent)
        except AttemptFailed as failed:
            spent += failed_attempt(turn)
            forget(turn)
            again = follow_limits(turn, failed, step.failures)
            limits = failed.limits or limits
            step = replace(step, failures=(*step.failures, failed.failure), seconds=turn.watch.seconds)
            turn.chat.metrics.failed_attempt(failed.failure.kind)
            if not again and not await _again(turn, failed, step, spent, closing):
                return
            await turn.chat.commit(BeginAttempt())
        except InvalidInput as error:
            await turn.chat.commit(
                FailTurn(failure=Failure(kind="config", message=error.text), step=in_all(step, spent))
            )
            return
        else:
            await _commit(turn, answer, step, closing)
            return


def follow_limits(turn: ActiveTurn, failed: AttemptFailed, before: Sequence[Failure]) -> bool:
    """If the refusal names a limit of the model, remembers it. True: make one more attempt at once."""
    if failed.limits is None or any(failure.kind == failed.failure.kind for failure in before):
        return False
    turn.models.learn(turn.model(), failed.limits)
    return True


async def _said_before(turn: ActiveTurn, action: CallModel) -> tuple[NewMessage, ...]:
    """What enters history before this call. The closing words are asked for once."""
    history = await turn.chat.history()
    asked = history.closing(turn.chat.view.chat.turn) is not None
    return (
        *await said(turn),
        *nudges(action.nudge),
        *in_vain(action.in_vain),
        *closes(None if asked else action.closing),
    )


async def _request(
    turn: ActiveTurn, config: ModelConfig, max_output: int | None, *, closing: bool
) -> ModelRequest:
    prompt = (await turn.chat.history()).prompt
    return ModelRequest(
        model=config,
        system=turn.setup.system,
        messages=prompt.shown(),
        files=await shown_files(turn, prompt.files),
        tools=turn.setup.tool_definitions,
        # The same tools, so that the prefix stays the same.
        tool_choice="none" if closing and turn.setup.tool_definitions else "auto",
        effort=turn.effort,
        max_output=max_output,
        cache_key=turn.chat.chat_id,
        turn=turn.chat.view.chat.turn,
        provider_tools=turn.setup.provider_tools,
        attempt=turn.chat.view.chat.attempt,
        trace_parent=await turn.in_step(),
    )


async def shown_files(turn: ActiveTurn, named: Sequence[File]) -> Mapping[FileId, bytes]:
    """What the files hold that the model is to see."""
    files, owner_id = turn.resources.files, turn.chat.view.chat.owner_id
    if not named or files is None:
        return {}
    return await turn.chat.prepare(lambda: files.shown(named, owner_id))


async def wait_for_retry(turn: ActiveTurn) -> None:
    """A wait that another worker began is waited out; never longer than it was meant to be, for clocks
    differ."""
    retry = turn.chat.view.chat.retry
    if retry is not None:
        left = (retry.next_at - turn.clock.now()).total_seconds()
        await asyncio.sleep(min(max(left, 0), retry.delay_ms / 1000))


async def _again(
    turn: ActiveTurn, failed: AttemptFailed, step: NewStep, spent: Usage, closing: Failure | None
) -> bool:
    """Decides what follows a failed attempt. True: it has waited, and another attempt follows. False: the end
    of the turn, or a request for a compaction, is committed. The cost of the attempts is committed in every
    case."""
    failure = failed.failure
    chat = turn.chat.view.chat
    if closing is not None and not failure.retryable:
        # The turn was about to end anyway: it does, without closing words.
        await turn.chat.commit(*unfinished_step(turn, step, spent), FinishTurn(limit=closing))
        return False
    if failure.kind == "context_overflow" and chat.compaction is None:
        await turn.chat.commit(*unfinished_step(turn, step, spent), RequestCompaction(request="overflow"))
        return False
    rule = turn.settings.retry
    delay = rule.delay_seconds(chat.attempt, failed.retry_after_seconds) if failure.retryable else None
    if delay is None:
        await turn.chat.commit(FailTurn(failure=failure, step=in_all(step, spent)))
        return False
    await turn.chat.commit(NoteRetry(failure=failure, delay_ms=round(delay * 1000), spent=spent))
    turn.chat.metrics.retried(failure.kind)
    await asyncio.sleep(delay)
    return True


async def _commit(turn: ActiveTurn, answer: ModelAnswer, step: NewStep, closing: Failure | None) -> None:
    """Commits the answer and, in the same transaction, what follows from it by itself: the start of its
    calls, or the end of the turn."""
    if closing is not None:
        await _close(turn, answer, step, closing)
        return
    modes = await turn.binding_modes() if any(isinstance(part, ToolCall) for part in answer.parts) else ()
    calls = turn.setup.new_calls(answer.parts, turn.clock.now(), modes)
    # What people decided may have been taken back or added since the turn began.
    if calls and (turn.setup.was_decided or any(call.waits_for == "approval" for call in calls)):
        await turn.hear_decisions()
        calls = turn.setup.new_calls(answer.parts, turn.clock.now(), modes)
    calls = await held_for_hooks(turn, calls, answer.parts)
    asks_at_end = not calls and await has_end_hooks(turn)
    message = NewMessage(
        role="assistant", parts=answer.parts, model=step.model, effort=turn.effort, usage=step.usage
    )
    pauses = answer.stop_reason == "pause" and not calls
    await turn.chat.commit(
        CommitStep(step=step, messages=(*_without_tools(step), message, *go_on(pauses)), calls=calls),
        *(() if pauses or asks_at_end else _what_follows(turn, calls, answer, step.usage)),
    )
    stored(turn)
    forget(turn)


async def _close(turn: ActiveTurn, answer: ModelAnswer, step: NewStep, limit: Failure) -> None:
    """The last words of a turn that reached a limit. Calls that were made all the same are not run."""
    calls = [part for part in answer.parts if isinstance(part, ToolCall) and not part.provider_executed]
    message = NewMessage(
        role="assistant", parts=answer.parts, model=step.model, effort=turn.effort, usage=step.usage
    )
    await turn.chat.commit(
        CommitStep(
            step=step,
            messages=(message,) if answer.parts else (),
            calls=tuple(
                NewCall(call_id=call.call_id, name=call.name, outcome="cancelled", output=NOT_RUN)
                for call in calls
            ),
        ),
        FinishTurn(limit=limit),
    )
    stored(turn)
    forget(turn)


def _without_tools(step: NewStep) -> tuple[NewMessage, ...]:
    """A notice for the person, if an attempt at this step showed that the model cannot use tools."""
    if not any(failure.kind == "no_tools" for failure in step.failures):
        return ()
    return (NewMessage(role="system", parts=(no_tools(step.model),), visibility="user"),)


def _what_follows(
    turn: ActiveTurn, calls: Sequence[NewCall], answer: ModelAnswer, usage: Usage
) -> tuple[Command, ...]:
    if any(call.waits_for == "hook" for call in calls):
        return ()
    ready = [call.call_id for call in calls if call.outcome is None and call.waits_for is None]
    if ready:
        return () if turn.stopping else (StartCalls(call_ids=tuple(ready[: turn.settings.calls_at_once])),)
    if any(call.waits_for for call in calls):
        return (RequireAction(),)
    context = context_of(usage.context_used, usage.context_limit, turn.setup.limits.compaction_threshold)
    if calls or context != "free" or turn.chat.view.chat.compaction is not None:
        return ()
    return (FinishTurn(notice=CUT_SHORT.get(answer.stop_reason)),)
