"""The tool calls of a step: several at once, each started and finished by a commit. Directly before an effect
the lease is checked. The end of a call is recorded whatever happened to the chat meanwhile, as long as the
lease is ours."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog
from msgspec.structs import replace

from holdfast.chats.commands import BeginAttempt, FinishCall, Release, StartCalls
from holdfast.chats.view import Call, View
from holdfast.telemetry.crash_marks import marked
from holdfast.worker.actions import Action, CallModel
from holdfast.worker.active_turn import ActiveTurn
from holdfast.worker.history import closes, in_vain, nudges
from holdfast.worker.hook_calls import notes
from holdfast.worker.owned_chat import NotOurs, Stale
from holdfast.worker.perform import PerformedCall, perform
from holdfast.worker.surroundings import mode_is_news, moved, renewal_is_due, wrote

log = structlog.get_logger(__name__)

Running = dict[asyncio.Task[PerformedCall], Call]
# The next action, if the chat were as a view says.
Decide = Callable[[ActiveTurn, View], Awaitable[Action]]


async def run_calls(turn: ActiveTurn, decide: Decide) -> None:
    """Runs what may run, until every call of the step is finished or waits for somebody."""
    turn.running_calls = True
    try:
        await _run_calls(turn, decide)
    finally:
        turn.running_calls = False
    if moved(turn.chat.view):
        await turn.set_up_again()


async def _run_calls(turn: ActiveTurn, decide: Decide) -> None:
    if _somebody_is_to_be_asked(turn):
        # The next owner deals with it as after a crash; that may be us.
        await turn.chat.record(Release())
        return
    running: Running = {}
    try:
        pending = _in_state(turn.chat.view, "pending")[: turn.settings.calls_at_once]
        if pending and not _in_state(turn.chat.view, "started"):
            await turn.chat.commit(StartCalls(call_ids=tuple(call.call_id for call in pending)))
        await _begin_started(turn, running)
        while running:
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in sorted(done, key=lambda task: running[task].position):
                await _finish(turn, decide, running[task], task.result(), last=len(running) == 1)
                del running[task]
            await _begin_started(turn, running)
    except BaseException:
        # Interrupted, edited, deleted, or the lease is lost: running calls end before anything else starts.
        await _stop(turn, running)
        raise


def _somebody_is_to_be_asked(turn: ActiveTurn) -> bool:
    """Whether a call that must not be repeated was started here and its result is unknown."""
    return any(
        call.on_uncertain == "ask"
        and call.effect == "unsafe"
        and (call.call_id, call.run) in turn.begun_calls
        for call in _in_state(turn.chat.view, "started")
    )


def _in_state(view: View, state: str) -> list[Call]:
    return [call for call in view.calls if call.state == state and not call.abandoned]


async def _begin_started(turn: ActiveTurn, running: Running) -> None:
    """Starts a task for every call that is marked as started and has none."""
    begun = {call.call_id for call in running.values()}
    fresh = [call for call in _in_state(turn.chat.view, "started") if call.call_id not in begun]
    if not fresh:
        return
    asked = (await turn.chat.history()).calls
    for call in fresh:
        name = f"call {call.name[:50]} {call.call_id}"
        given = asked[call.call_id].input if call.input is None else call.input
        work = marked(perform(turn, call, given))
        running[asyncio.create_task(work, name=name)] = call


async def _finish(turn: ActiveTurn, decide: Decide, call: Call, ended: PerformedCall, *, last: bool) -> None:
    """Records the end and, in the same commit, what follows: the next call, or the next attempt."""
    end = _end(call, ended)
    before = turn.chat.view
    following = await _what_follows(turn, decide, _with_end(before, end), last=last)
    try:
        if following is None:
            await turn.chat.record(end)
        else:
            await turn.chat.commit(end, following)
    except Stale:
        await _finish_late(turn, call, end)
        return
    if isinstance(following, BeginAttempt):
        # A wish that came just before makes one more commit necessary.
        turn.begun = None if await renewal_is_due(turn) else turn.episode
    elif _moved(before, turn.chat.view):
        raise Stale("the chat moved on while the call was recorded")


def _with_end(view: View, end: FinishCall) -> View:
    calls = [
        replace(call, state="finished", outcome=end.outcome) if call.call_id == end.call_id else call
        for call in view.calls
    ]
    return replace(view, calls=tuple(calls))


async def _what_follows(
    turn: ActiveTurn, decide: Decide, view: View, *, last: bool
) -> StartCalls | BeginAttempt | None:
    if turn.stopping or view.chat.status != "running":
        return None
    if pending := _in_state(view, "pending"):
        return StartCalls(call_ids=(pending[0].call_id,))
    # Written files are checked first, but recording the ends of the calls does not wait for that.
    if not last or wrote(turn, view) or moved(view):
        return None
    if await mode_is_news(turn) or await renewal_is_due(turn):
        return None
    # What hooks have to say enters with the results.
    if await notes(turn, view):
        return None
    if isinstance(action := await decide(turn, view), CallModel):
        return BeginAttempt(
            messages=(*nudges(action.nudge), *in_vain(action.in_vain), *closes(action.closing))
        )
    return None


async def _finish_late(turn: ActiveTurn, call: Call, end: FinishCall) -> None:
    """The chat moved, or the commit was made although its answer was lost. The end is valid all the same; the
    other calls continue only in the second case."""
    before = turn.chat.view
    await turn.chat.reload()
    if any(other.call_id == call.call_id and other.state == "started" for other in turn.chat.view.calls):
        await turn.chat.record(end)
    if _moved(before, turn.chat.view):
        raise Stale("the chat moved on while the call was recorded")


def _moved(before: View, after: View) -> bool:
    """Whether the work in progress no longer fits the chat."""
    old, new = before.chat, after.chat
    return (old.status, old.history_version) != (new.status, new.history_version)


def _end(call: Call, ended: PerformedCall) -> FinishCall:
    return FinishCall(
        call_id=call.call_id,
        run=call.run,
        outcome=ended.outcome,
        output=ended.output,
        diff=ended.diff,
        full_output=ended.full_output,
        consumes=ended.consumes,
        seconds=ended.seconds,
    )


async def _stop(turn: ActiveTurn, running: Running) -> None:
    """Cancels running calls and records those that really ended in time; the others are given up, their
    outcome unknown."""
    if not running:
        return
    for task in running:
        task.cancel()
    ending = asyncio.ensure_future(_record_ends(turn, running))
    while not ending.done():
        # Another cancellation has to wait as well: nothing else may start before this has ended.
        with suppress(asyncio.CancelledError):
            await asyncio.shield(ending)
    if not ending.cancelled() and (error := ending.exception()) is not None:
        log.error("ends of calls not recorded", chat_id=turn.chat.chat_id, exc_info=error)


async def _record_ends(turn: ActiveTurn, running: Running) -> None:
    done, late = await asyncio.wait(running, timeout=turn.settings.cancel_seconds)
    for task in late:
        log.warning("call did not end when it was cancelled", name=task.get_name(), chat_id=turn.chat.chat_id)
        turn.given_up.add((running[task].call_id, running[task].run))
        task.cancel()
    started = {(call.call_id, call.run) for call in turn.chat.view.calls if call.state == "started"}
    for task in done:
        call = running[task]
        if task.cancelled() or task.exception() is not None or (call.call_id, call.run) not in started:
            continue
        # Stale: somebody else gave the call up, or the lease is no longer ours.
        with suppress(Stale, NotOurs):
            await turn.chat.record(_end(call, task.result()))
