"""The turn on one page, from the moment a worker has the chat until the turn's last commit.

A turn is a sequence of actions. Each action ends with a commit, and the next one is decided by a pure
function of committed rows, never of what a process remembers: a worker that takes a chat over after a crash
reaches the same decision as the one that died. Failures, cancellation and late results are handled around
this page, in `worker/runner.py`.
"""

from holdfast.chats import commands
from holdfast.chats.view import View
from holdfast.core.failures import Failure
from holdfast.prompt.notices import IN_VAIN
from holdfast.worker.actions import (
    Action,
    AfterCalls,
    AskEndHooks,
    AskPeople,
    CallModel,
    CheckPrompts,
    CompactHistory,
    EndWithFailure,
    Finish,
    HookProgress,
    RunCalls,
    RunHooks,
    TurnLimits,
    TurnProgress,
)
from holdfast.worker.active_turn import ActiveTurn
from holdfast.worker.compact import compact
from holdfast.worker.execute import run_calls
from holdfast.worker.generate import call_model
from holdfast.worker.hook_calls import after_calls, judge_calls
from holdfast.worker.hook_turns import ask_end_hooks, check_prompts
from holdfast.worker.interrupt import finish_interrupt
from holdfast.worker.progress import read_progress
from holdfast.worker.repeats import STOP_AFTER

# How often in a row hooks may ask for one more step.
MORE_STEPS = 3
NO_HOOKS = HookProgress()
# How many summaries in a row may fail to help.
COMPACTIONS_IN_VAIN = 2


async def go_on(turn: ActiveTurn) -> None:
    """What the chat's status asks for: complete an interrupt, or take actions until the turn is over."""
    if turn.chat.view.chat.status == "interrupting":
        await finish_interrupt(turn)
    else:
        await take_actions(turn)


async def take_actions(turn: ActiveTurn) -> None:
    """One action after another, as long as the same turn is running and the chat is ours."""
    number = turn.chat.view.chat.turn
    while True:
        await take_action(turn)
        chat = turn.chat.view.chat
        if turn.stopping or not turn.chat.owned or (chat.status, chat.turn) != ("running", number):
            return


async def take_action(turn: ActiveTurn) -> None:
    match await decide(turn, turn.chat.view):
        case RunHooks():
            # What they say is recorded with each run, then the calls are judged in one commit.
            await judge_calls(turn)
        case AfterCalls():
            await after_calls(turn)
        case CheckPrompts():
            await check_prompts(turn)
        case AskEndHooks() as action:
            await ask_end_hooks(turn, action)
        case RunCalls():
            # Each call is started and finished by its own commit; the last one also starts the next attempt.
            await run_calls(turn, decide)
        case AskPeople():
            await turn.chat.commit(commands.RequireAction())
        case CompactHistory() as action:
            await compact(turn, action)
        case Finish(limit=limit, notice=notice):
            await turn.chat.commit(commands.FinishTurn(limit=limit, notice=notice))
        case EndWithFailure(failure=failure):
            await turn.chat.commit(commands.FailTurn(failure=failure))
        case CallModel() as action:
            # Instructions of the workspace enter history with the attempt. The answer is committed together
            # with what follows from it without anybody's doing: the start of its calls, or the turn's end.
            await call_model(turn, action)


async def decide(turn: ActiveTurn, view: View) -> Action:
    """The next action, if the chat were as this view says."""
    if waits_for_hooks(view):
        return RunHooks()
    if has_calls_to_run(view):
        # Every second action is this one, and it needs only the view.
        return RunCalls()
    return next_action(view, await read_progress(turn, view), turn.setup.limits)


def next_action(view: View, progress: TurnProgress, limits: TurnLimits) -> Action:
    """Checks in order of priority."""
    # Calls that hooks look at first; then those that this server executes.
    if waits_for_hooks(view):
        return RunHooks()
    if has_calls_to_run(view):
        return RunCalls()
    # Calls that wait for a person or a client. The others are finished; all results are committed together.
    calls = [call for call in view.calls if not call.abandoned]
    if any(call.state == "waiting" for call in calls):
        return AskPeople()
    # Hooks are told of what the calls came to, and one may end the turn.
    hooks = progress.hooks or NO_HOOKS
    if hooks.calls_due:
        return AfterCalls()
    if hooks.stop is not None:
        return Finish(notice=hooks.stop)
    # A tool that ends the turn has answered. Checked before a summary, which would hide that the tool was
    # called.
    if progress.ended_by_tool:
        return Finish()
    # What a user says is looked at before any model sees it.
    if hooks.prompts_due:
        return CheckPrompts()
    # A limit was reached, and the model was asked to sum up: its answer is the last thing of this turn.
    complete = _is_complete(view, progress)
    if (closing := progress.closing) is not None:
        summed_up = complete or progress.over_budget or bool(calls)
        return Finish(limit=closing) if summed_up else CallModel(closing=closing)
    # A compaction that was asked for, or is needed.
    if (action := _compaction(view, progress, complete=complete)) is not None:
        return action
    # Summaries were of no use, and there is still some room.
    in_vain = (
        progress.compactions_in_vain >= COMPACTIONS_IN_VAIN
        and progress.context == "full"
        and not progress.told_in_vain
    )
    # The model has said its last word.
    if complete:
        end = Finish(notice=IN_VAIN if in_vain else None)
        asks = hooks.at_end and view.chat.turn_kind != "compaction"
        return AskEndHooks(end=end, may=hooks.asked < MORE_STEPS) if asks else end
    # The step limit, the loop guard, the budget, or what binds the agent of a run.
    if (limit := _limit(view, progress, limits)) is not None:
        closes = limits.closing and not progress.over_budget and limit.kind in ("step_limit", "loop_guard")
        return CallModel(closing=limit) if closes else Finish(limit=limit)
    return CallModel(nudge=progress.repeats.nudge_is_due, in_vain=in_vain)


def waits_for_hooks(view: View) -> bool:
    return any(call.waits_for == "hook" and not call.abandoned for call in view.calls)


def has_calls_to_run(view: View) -> bool:
    # A new owner has dealt with what its predecessor started: calls that are started now are ours.
    return any(call.state in ("pending", "started") and not call.abandoned for call in view.calls)


def _is_complete(view: View, progress: TurnProgress) -> bool:
    """A turn that was only to summarise is over when that is done."""
    if any(not call.abandoned for call in view.calls):
        return False
    return progress.complete or view.chat.turn_kind == "compaction"


def _compaction(view: View, progress: TurnProgress, *, complete: bool) -> Action | None:
    asked = view.chat.compaction
    if asked is None and progress.context == "free":
        return None
    source = asked or "threshold"
    if progress.over_budget:
        return Finish(limit=BUDGET_SPENT) if source != "threshold" or not complete else None
    if source == "manual" or progress.compactions_in_vain < COMPACTIONS_IN_VAIN:
        return CompactHistory(source=source)
    if not complete and (source == "overflow" or progress.context == "over"):
        return EndWithFailure(failure=CONTEXT_TOO_LARGE)
    return None


def _limit(view: View, progress: TurnProgress, limits: TurnLimits) -> Failure | None:
    if view.chat.turn_steps >= limits.steps:
        return Failure(
            kind="step_limit",
            message=f"The turn reached the limit of {limits.steps} steps. Send a message to continue.",
        )
    if progress.repeats.stop_is_due:
        return Failure(
            kind="loop_guard",
            message=f"Calls failed {STOP_AFTER} times in a row; the turn was stopped.",
        )
    return BUDGET_SPENT if progress.over_budget else progress.given_up


# A message continues from any state this left the chat in; a retry only from an error.
BUDGET_SPENT = Failure(
    kind="budget_exhausted", message="The budget is spent. Raise it, then send a message to continue."
)
CONTEXT_TOO_LARGE = Failure(
    kind="context_overflow",
    message=(
        "The conversation does not fit into the model's context, and summarising it twice did not help. "
        "Send a shorter message, choose a model with a larger context, edit an earlier message, or go on in "
        "a new chat."
    ),
)
