"""Compaction: a model summarises the history, and from then on prompts begin with that summary. Nothing is
deleted; what users said since the last whole answer is carried over word for word."""

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.chats.commands import (
    BeginAttempt,
    CommitStep,
    FailTurn,
    NewMessage,
    NewStep,
    NoteRetry,
)
from holdfast.core.errors import AttemptFailed, InvalidInput
from holdfast.core.failures import Failure, ModelLimits
from holdfast.core.messages import HistoryEntry
from holdfast.core.parts import Text, ToolCall, ToolResult
from holdfast.core.shapes import Json, Record
from holdfast.core.usage import Usage
from holdfast.prompt.history import files_of
from holdfast.prompt.notices import CONTINUED
from holdfast.prompt.segments import estimate
from holdfast.prompt.summaries import ASK_COMPACTION, BOUNDARY, SUMMARY_SYSTEM
from holdfast.providers.configs import ModelConfig
from holdfast.providers.interface import ModelRequest, PromptMessage
from holdfast.worker.actions import CompactHistory
from holdfast.worker.active_turn import ActiveTurn
from holdfast.worker.debug_steps import compaction_failed, compaction_succeeded, recorded_compaction
from holdfast.worker.generate import follow_limits, shown_files, wait_for_retry
from holdfast.worker.hook_turns import before_compaction
from holdfast.worker.stream import forget, stream
from holdfast.worker.unfinished import failed_attempt, in_all, lost_attempt, spent_before

TOOL = "chat_summarized"
# Attempts at one summary: nobody should wait half an hour to hear that there is none.
ATTEMPTS = 5
# How often the oldest part is left out when not even the summary's own prompt fits.
HALVINGS = 3


class Summary(Record, frozen=True, kw_only=True):
    text: str
    step: NewStep


async def compact(turn: ActiveTurn, action: CompactHistory) -> None:
    await wait_for_retry(turn)
    await before_compaction(turn, action.source)
    spent = spent_before(turn)
    step = turn.new_step("compaction")
    await turn.chat.commit(*await lost_attempt(turn, "compaction"), BeginAttempt(admit=False))
    # What watchers see while it is made, and what is committed with its result.
    call = ToolCall(call_id=turn.new_call_id(), name=TOOL, input={"source": action.source})
    with recorded_compaction(turn):
        summary = await _summarise(turn, call, step, spent)
        if summary is not None:
            await _commit(turn, action, call, summary)
            compaction_succeeded(turn)


async def _summarise(turn: ActiveTurn, call: ToolCall, step: NewStep, spent: Usage) -> Summary | None:
    """The summary; None when the turn has failed instead."""
    leave_out = 0
    limits = ModelLimits()
    while True:
        step = replace(step, attempts=turn.chat.view.chat.attempt)
        try:
            model = turn.models.resolve(turn.settings.compaction_model or turn.model_name)
            step = replace(step, model=model.config.name, provider=model.provider.name)
            request = await _request(turn, model.config, leave_out, limits.room)
            async with asyncio.timeout(turn.settings.compaction_seconds):
                answer, done = await stream(
                    turn, model, request, step, input_estimate=estimate(request), shown_as=call
                )
            text = "\n".join(part.text for part in answer.parts if isinstance(part, Text)).strip()
            if text:
                return Summary(text=text, step=in_all(done, spent))
            failure = Failure(kind="server", message="The model gave an empty summary.", retryable=True)
            failed = AttemptFailed(failure)
        except AttemptFailed as error:
            failed = error
        except TimeoutError:
            seconds = f"{turn.settings.compaction_seconds:g} s"
            failed = AttemptFailed(
                Failure(kind="timeout", message=f"The summary took longer than {seconds}.", retryable=True)
            )
        except InvalidInput as error:
            failed = AttemptFailed(Failure(kind="config", message=error.text))
        spent += failed_attempt(turn)
        forget(turn)
        compaction_failed(turn, failed.failure)
        again = follow_limits(turn, failed, step.failures)
        limits = failed.limits or limits
        step = replace(step, failures=(*step.failures, failed.failure), seconds=turn.watch.seconds)
        turn.chat.metrics.failed_attempt(failed.failure.kind)
        if again:
            pass
        elif failed.failure.kind == "context_overflow" and leave_out < HALVINGS:
            leave_out += 1
        elif not await _wait(turn, failed, step, spent, attempts=len(step.failures) - leave_out):
            return None
        await turn.chat.commit(BeginAttempt(admit=False))


async def _wait(
    turn: ActiveTurn, failed: AttemptFailed, step: NewStep, spent: Usage, *, attempts: int
) -> bool:
    """Waits for the next attempt; False when the turn has failed instead."""
    delay = turn.settings.retry.delay_seconds(attempts, failed.retry_after_seconds)
    if not failed.failure.retryable or attempts >= ATTEMPTS or delay is None:
        message = f"The conversation could not be summarised: {failed.failure.message}"
        await turn.chat.commit(
            FailTurn(failure=replace(failed.failure, message=message), step=in_all(step, spent))
        )
        return False
    await turn.chat.commit(NoteRetry(failure=failed.failure, delay_ms=round(delay * 1000), spent=spent))
    turn.chat.metrics.retried(failed.failure.kind)
    await asyncio.sleep(delay)
    return True


async def _request(
    turn: ActiveTurn, config: ModelConfig, leave_out: int, max_output: int | None
) -> ModelRequest:
    shown = without_oldest((await turn.chat.history()).prompt.shown(), leave_out)
    asked = Text(text=turn.settings.compaction_prompt or ASK_COMPACTION)
    return ModelRequest(
        model=config,
        system=(SUMMARY_SYSTEM,),
        messages=(
            *shown,
            PromptMessage(role="user", parts=(asked,)),
        ),
        files=await shown_files(turn, files_of(shown)),
        max_output=max_output,
        cache_key=turn.chat.chat_id,
        purpose="compaction",
        attempt=turn.chat.view.chat.attempt,
        trace_parent=await turn.in_step(),
    )


def without_oldest(shown: Sequence[PromptMessage], halvings: int) -> tuple[PromptMessage, ...]:
    """The newest 1/2, 1/4, 1/8 of the messages. Results stay with their calls, and the first word is a
    user's."""
    if not halvings:
        return tuple(shown)
    start = len(shown) - max(len(shown) >> halvings, 1)
    while shown[start].role == "tool":
        start -= 1
    kept = tuple(shown[start:])
    if kept[0].role == "assistant":
        return (PromptMessage(role="user", parts=(CONTINUED,)), *kept)
    return kept


async def _commit(turn: ActiveTurn, action: CompactHistory, call: ToolCall, summary: Summary) -> None:
    history = await turn.chat.history()
    # From here on nobody knows how full the context is, until a step says so.
    spent = replace(summary.step.usage, context_used=0)
    step = replace(summary.step, usage=spent)
    await turn.chat.commit(
        CommitStep(
            step=step,
            messages=(
                NewMessage(
                    role="assistant",
                    parts=(call,),
                    visibility="user",
                    model=step.model,
                    usage=spent,
                    compaction=True,
                ),
                NewMessage(
                    role="tool",
                    parts=(_result(turn, action, call, summary),),
                    visibility="user",
                    compaction=True,
                ),
                NewMessage(
                    role="user",
                    parts=(Text(text=BOUNDARY + summary.text),),
                    visibility="model",
                    compaction=True,
                ),
                *(_carried(entry) for entry in history.unanswered),
            ),
        )
    )
    forget(turn)


def _result(turn: ActiveTurn, action: CompactHistory, call: ToolCall, summary: Summary) -> ToolResult:
    usage = turn.chat.view.chat.usage
    limit, used = usage.context_limit, usage.context_used
    output: dict[str, Json] = {
        "summary": summary.text,
        "source": action.source,
        "threshold_percent": turn.setup.limits.compaction_threshold,
        "usage_percent": round(used * 100 / limit) if used is not None and limit else None,
        "context_tokens": used,
        "context_limit_tokens": limit,
    }
    return ToolResult(
        call_id=call.call_id,
        name=TOOL,
        output=output,
        outcome="succeeded",
        started_at=summary.step.started_at,
        finished_at=turn.watch.now(),
    )


def _carried(entry: HistoryEntry) -> NewMessage:
    return NewMessage(role=entry.role, parts=entry.parts, visibility="model")
