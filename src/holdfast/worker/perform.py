"""One tool call, from its input to its outcome. Whatever a tool does (raise, hang, block, answer nonsense) is
the outcome of that call and no more."""

import asyncio
import inspect
from typing import Any

import structlog

from holdfast.chats.commands import DeliveryKey
from holdfast.chats.synthetic import UNCERTAIN
from holdfast.chats.view import Call
from holdfast.core.parts import Outcome
from holdfast.core.shapes import Json, Record
from holdfast.tools.contract import Answer, Context, Input, Tool, ToolError
from holdfast.tools.output import shown
from holdfast.worker.owned import NotOurs, Stale
from holdfast.worker.run import Run
from holdfast.worker.threads import start_thread

log = structlog.get_logger(__name__)


class Ended(Record, frozen=True, kw_only=True):
    """How a call ended; `full_output` when the model is given less than all."""

    outcome: Outcome
    output: Json
    diff: str | None = None
    full_output: str | None = None
    consumes: tuple[DeliveryKey, ...] = ()


async def perform(run: Run, call: Call, call_input: Json) -> Ended:
    """Cancelled, it still gives what the tool made of it, if the tool made anything of it."""
    begun = (call.call_id, call.run)
    if begun in run.begun_calls and call.effect == "unsafe":
        # It was begun here, and nobody heard how it ended.
        return Ended(outcome="uncertain", output=UNCERTAIN)
    tool = run.tools.get(call.name)
    if tool is None or tool.run is None:
        return Ended(outcome="failed", output=run.tools.unknown(call.name))
    context = Context(
        chat_id=run.chat.chat_id,
        owner_id=run.chat.view.chat.owner_id,
        workspace_id=run.chosen.workspace_id,
        call_id=call.call_id,
        run=call.run,
        seconds=run.settings.tool_seconds.get(tool.name),
        approved_by=None if call.approval is None else call.approval.user_id,
    )
    try:
        parsed = tool.parse(call_input)
        await run.chat.ready()
        run.begun_calls.add(begun)
        return _ended(tool, await _run(tool, context, parsed))
    except ToolError as error:
        return _ended(tool, Answer(output=str(error), outcome="failed"))
    except (NotOurs, Stale):
        raise
    except asyncio.CancelledError:
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise
        return Ended(outcome="failed", output=f"{tool.name} was cancelled.")
    except (Exception, SystemExit) as error:
        log.exception("tool failed", tool=tool.name, chat_id=run.chat.chat_id, call_id=call.call_id)
        return _ended(
            tool, Answer(output=f"{tool.name} failed: {type(error).__name__}: {error}", outcome="failed")
        )


async def _run(tool: Tool, context: Context, parsed: Input) -> Any:
    if inspect.iscoroutinefunction(tool.run):
        return await _on_the_loop(tool, context, tool.run(context, parsed))
    answer = await _in_a_thread(tool, context, parsed)
    return await _on_the_loop(tool, context, answer) if inspect.isawaitable(answer) else answer


def _seconds(tool: Tool, context: Context) -> float | None:
    """How long it is waited for; None: it minds the time itself."""
    return None if tool.timeout_seconds is None else context.seconds or tool.timeout_seconds


async def _on_the_loop(tool: Tool, context: Context, work: Any) -> Any:
    limit = asyncio.timeout(seconds := _seconds(tool, context))
    try:
        async with limit:
            return await work
    except TimeoutError:
        if not limit.expired():
            raise  # the tool's own
        raise ToolError(
            f"{tool.name} did not end within {seconds:g} s and was stopped; it may have had effects."
        ) from None


async def _in_a_thread(tool: Tool, context: Context, parsed: Input) -> Any:
    assert tool.run is not None
    future = start_thread(tool.run, context, parsed, name=f"holdfast-{tool.name}")
    future.add_done_callback(_hear)
    seconds = _seconds(tool, context)
    try:
        done, _ = await asyncio.wait({future}, timeout=seconds)
    except asyncio.CancelledError:
        # A thread cannot be stopped: its real end is worth waiting for, until somebody loses patience.
        done, _ = await asyncio.wait({future})
    if not done:
        raise ToolError(
            f"{tool.name} did not end within {seconds:g} s. It could not be stopped and may "
            "still have effects."
        )
    return future.result()


def _hear(future: "asyncio.Future[Any]") -> None:
    """An error after everybody left is nobody's."""
    if not future.cancelled():
        future.exception()


def _ended(tool: Tool, answer: Any) -> Ended:
    if not isinstance(answer, Answer):
        return Ended(outcome="failed", output=f"{tool.name} gave no answer but {type(answer).__name__}.")
    try:
        output, full_output = shown(answer.output)
    except ValueError as error:
        return Ended(outcome="failed", output=f"{tool.name} gave an answer that is not JSON: {error}.")
    return Ended(
        outcome=answer.outcome,
        output=output,
        diff=answer.diff,
        full_output=full_output,
        consumes=answer.consumes,
    )
