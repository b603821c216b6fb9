"""One tool call, from its input to its outcome. Whatever a tool does (raise, hang, block, return nonsense) is
the outcome of that call and affects nothing else."""

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import structlog
from msgspec.structs import replace

from holdfast.chats.commands import DeliveryKey
from holdfast.chats.synthetic import UNCERTAIN
from holdfast.chats.view import Call
from holdfast.core.calls import Approval, CallMoment, Scope
from holdfast.core.clock import Stopwatch
from holdfast.core.errors import NotBegun, Shortage
from holdfast.core.parts import Outcome
from holdfast.core.shapes import Json, Record
from holdfast.core.shortage import is_shortage, shortage_of
from holdfast.tools.contract import Input, Tool, ToolAnswer, ToolContext, ToolError
from holdfast.tools.modes import denied_text, forbidding, is_read_only
from holdfast.tools.output import shown
from holdfast.worker.active_turn import ActiveTurn
from holdfast.worker.owned_chat import NotOurs, Stale
from holdfast.worker.threads import start_thread

log = structlog.get_logger(__name__)


# A minute in total.
SHORTAGE_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 25.0)


class PerformedCall(Record, frozen=True, kw_only=True):
    """How a call ended; `full_output` is set when the model is given only part of it."""

    outcome: Outcome
    output: Json
    diff: str | None = None
    full_output: str | None = None
    consumes: tuple[DeliveryKey, ...] = ()
    seconds: float | None = None


async def perform(turn: ActiveTurn, call: Call, call_input: Json) -> PerformedCall:
    """The end of the call, with its duration."""
    watch = Stopwatch(turn.clock)
    ended = await _perform(turn, call, call_input)
    return ended if ended.outcome == "uncertain" else replace(ended, seconds=watch.seconds)


async def _perform(turn: ActiveTurn, call: Call, call_input: Json) -> PerformedCall:
    """If cancelled, it still returns the tool's result, if the tool produced one."""
    begun = (call.call_id, call.run)
    if begun in turn.begun_calls and call.effect == "unsafe":
        # It was started here, and its result is unknown.
        return PerformedCall(outcome="uncertain", output=UNCERTAIN)
    tool = turn.setup.tools.get(call.name)
    if tool is None or tool.run is None:
        return PerformedCall(outcome="failed", output=turn.setup.tools.unknown(call.name))
    context = ToolContext(
        chat_id=turn.chat.chat_id,
        owner_id=turn.chat.view.chat.owner_id,
        workspace_id=turn.setup.chosen.workspace_id,
        call_id=call.call_id,
        run=call.run,
        lease_number=turn.chat.view.chat.lease_number,
        still_ours=lambda: begun not in turn.given_up and turn.chat.lease.until_fresh_in_thread(),
        seconds=turn.settings.tool_seconds.get(tool.name),
        approved_by=None if call.approval is None else call.approval.user_id,
        approved_for=_reach_of(call.approval),
        trace_parent=await turn.in_call(call),
    )
    try:
        # Parsed again from the stored input: the call may have been judged days ago, by another process.
        parsed = tool.parse(call_input)
        modes = await turn.binding_modes()
        # The mode may have changed since the call was judged.
        if (mode := forbidding(modes, tool.name, tool, walled=turn.setup.permitted.rules.walled)) is not None:
            return PerformedCall(outcome="denied", output=denied_text(mode, tool.name))
        context = replace(context, read_only=is_read_only(modes))
        await turn.chat.ready()
        moment = _moment(turn, call)
        async with _watched(turn, moment):
            turn.begun_calls.add(begun)
            try:
                answer = _ended(tool, await _repeated(turn, call, lambda: _run(tool, context, parsed)))
            except ToolError as error:
                answer = _ended(tool, ToolAnswer(output=str(error), outcome="failed"))
            return answer if moment is None else await _with_changes(turn, moment, answer)
    except ToolError as error:
        return _ended(tool, ToolAnswer(output=str(error), outcome="failed"))
    except (NotOurs, Stale):
        raise
    except asyncio.CancelledError:
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise
        return PerformedCall(outcome="failed", output=f"{tool.name} was cancelled.")
    except KeyboardInterrupt:
        raise  # pressed by somebody at the terminal: it is for the process
    except BaseException as error:
        # Also GeneratorExit, or a group with one in it: whatever a tool raises ends only its call.
        if is_shortage(error):
            return _ended(
                tool, ToolAnswer(output=f"{tool.name} failed: {shortage_of(error).text}", outcome="failed")
            )
        log.exception("tool failed", tool=tool.name, chat_id=turn.chat.chat_id, call_id=call.call_id)
        return _ended(
            tool, ToolAnswer(output=f"{tool.name} failed: {type(error).__name__}: {error}", outcome="failed")
        )


def _moment(turn: ActiveTurn, call: Call) -> CallMoment | None:
    """None: the call cannot change the workspace."""
    if call.effect == "read" or call.reach == "none":
        return None
    chat = turn.chat.view.chat
    return CallMoment(
        chat_id=chat.id,
        owner_id=chat.owner_id,
        workspace_id=turn.setup.chosen.workspace_id,
        call_id=call.call_id,
        turn=call.turn,
        step=max(chat.turn_steps, 1),
    )


@asynccontextmanager
async def _watched(turn: ActiveTurn, moment: CallMoment | None) -> AsyncGenerator[None]:
    """What is different afterwards was changed by this call, also if it is interrupted."""
    watch = turn.resources.checkpoints
    if moment is None or watch is None:
        yield
        return
    try:
        await watch.before(moment)
        await turn.chat.ready()
        yield
    except BaseException:
        watch.leave(moment)
        raise


async def _with_changes(turn: ActiveTurn, moment: CallMoment, ended: PerformedCall) -> PerformedCall:
    """What a command changed is shown with it, as file tools show their own diffs."""
    if turn.resources.checkpoints is None:
        return ended
    diff = await turn.resources.checkpoints.after(moment)
    return replace(ended, diff=diff) if diff and ended.diff is None else ended


def _reach_of(approval: Approval | None) -> Scope:
    """The scope of an approval: what the person chose, or what their rule says for all their chats."""
    if approval is None:
        return "once"
    return "always" if approval.by == "rule" else approval.scope


async def _repeated(turn: ActiveTurn, call: Call, work: Callable[[], Awaitable[Any]]) -> Any:
    """While the machine is short of something, a call is started again if it may be repeated or had not
    begun."""
    for seconds in SHORTAGE_SECONDS:
        try:
            return await work()
        except Exception as error:
            if not is_shortage(error) or (call.effect == "unsafe" and not isinstance(error, NotBegun)):
                raise
            log.warning("call put off", tool=call.name, chat_id=turn.chat.chat_id, reason=str(error))
        await asyncio.sleep(seconds)
        await turn.chat.ready()
    return await work()


async def _run(tool: Tool, context: ToolContext, parsed: Input) -> Any:
    if inspect.iscoroutinefunction(tool.run):
        return await _on_the_loop(tool, context, tool.run(context, parsed))
    answer = await _in_a_thread(tool, context, parsed)
    return await _on_the_loop(tool, context, answer) if inspect.isawaitable(answer) else answer


def _seconds(tool: Tool, context: ToolContext) -> float | None:
    """How long it is waited for; None: the tool enforces its own time limit."""
    return None if tool.timeout_seconds is None else context.seconds or tool.timeout_seconds


async def _on_the_loop(tool: Tool, context: ToolContext, work: Any) -> Any:
    limit = asyncio.timeout(seconds := _seconds(tool, context))
    try:
        async with limit:
            return await work
    except TimeoutError:
        if not limit.expired():
            raise  # raised by the tool itself
        raise ToolError(
            f"{tool.name} did not end within {seconds:g} s and was stopped; it may have had effects."
        ) from None


async def _in_a_thread(tool: Tool, context: ToolContext, parsed: Input) -> Any:
    assert tool.run is not None
    try:
        future = start_thread(tool.run, context, parsed, name=f"holdfast-{tool.name}")
    except Shortage as error:
        raise NotBegun(error.text) from error
    future.add_done_callback(_hear)
    seconds = _seconds(tool, context)
    try:
        done, _ = await asyncio.wait({future}, timeout=seconds)
    except asyncio.CancelledError:
        # A thread cannot be stopped, so its real end is worth waiting for, up to a limit.
        done, _ = await asyncio.wait({future})
    if not done:
        raise ToolError(
            f"{tool.name} did not end within {seconds:g} s. It could not be stopped and may "
            "still have effects."
        )
    return future.result()


def _hear(future: "asyncio.Future[Any]") -> None:
    """Retrieves an error that nobody waits for any more."""
    if not future.cancelled():
        future.exception()


def _ended(tool: Tool, answer: Any) -> PerformedCall:
    if not isinstance(answer, ToolAnswer):
        return PerformedCall(
            outcome="failed", output=f"{tool.name} returned no answer but {type(answer).__name__}."
        )
    try:
        output, full_output = shown(answer.output)
    except ValueError as error:
        return PerformedCall(
            outcome="failed", output=f"{tool.name} returned an answer that is not JSON: {error}."
        )
    return PerformedCall(
        outcome=answer.outcome,
        output=output,
        diff=answer.diff,
        full_output=full_output,
        consumes=answer.consumes,
    )
