"""The next action of a turn: a pure function over committed rows, never over what a process remembers. A
worker that takes a chat over after a crash comes to the same answer as the one that died."""

from typing import Literal

from holdfast.chats.view import View
from holdfast.core.failures import Failure
from holdfast.core.shapes import Record
from holdfast.worker.repeats import STOP_AFTER, Repeats

# free: below the threshold, or nobody knows.  full: it reached the threshold.  over: it reached the limit.
Context = Literal["free", "full", "over"]

# Summaries that may be made in vain, one after the other.
COMPACTIONS_IN_VAIN = 2


class Progress(Record, frozen=True, kw_only=True):
    """What history says about the turn; see `worker/history.py` and `worker/progress.py`."""

    # The model has said its last word: nothing in history waits for an answer.
    complete: bool
    # A call of the newest step went to a tool that ends the turn.
    ended_by_tool: bool = False
    # Calls that failed again and again.
    repeats: Repeats = Repeats()
    # A budget of the chat or of somebody above it is spent.
    over_budget: bool = False
    # Why no more is expected of the agent of a run.
    given_up: Failure | None = None
    # What the last step was shown, compared with what the model can take.
    context: Context = "free"
    # How many summaries were made without a smaller context after them.
    compactions_in_vain: int = 0


class Limits(Record, frozen=True, kw_only=True):
    steps: int = 1200
    # Percent of the context at which history is summarised; 100: never by itself.
    compaction_threshold: int = 70


class RunCalls(Record, frozen=True, kw_only=True):
    pass


class RequireAction(Record, frozen=True, kw_only=True):
    pass


class Compact(Record, frozen=True, kw_only=True):
    source: Literal["manual", "overflow", "threshold"]


class Finish(Record, frozen=True, kw_only=True):
    limit: Failure | None = None


class Fail(Record, frozen=True, kw_only=True):
    failure: Failure


class CallModel(Record, frozen=True, kw_only=True):
    nudge: bool = False


Action = RunCalls | RequireAction | Compact | Finish | Fail | CallModel


def next_action(view: View, progress: Progress, limits: Limits) -> Action:
    if has_calls_to_run(view):
        return RunCalls()
    chat = view.chat
    calls = [call for call in view.calls if not call.abandoned]
    if any(call.state == "waiting" for call in calls):
        return RequireAction()
    # Before a summary, which would hide that the tool was called.
    if progress.ended_by_tool:
        return Finish()
    # A turn that was to summarise and no more is over when that is done.
    complete = (progress.complete or chat.turn_kind == "compaction") and not calls
    if chat.compaction is not None or progress.context != "free":
        source = chat.compaction or "threshold"
        if progress.over_budget:
            if source != "threshold" or not complete:
                return Finish(limit=BUDGET_SPENT)
        elif source == "manual" or progress.compactions_in_vain < COMPACTIONS_IN_VAIN:
            return Compact(source=source)
        elif not complete and (source == "overflow" or progress.context == "over"):
            return Fail(failure=CONTEXT_TOO_LARGE)
    if complete:
        return Finish()
    if limit := _limit(view, progress, limits):
        return Finish(limit=limit)
    return CallModel(nudge=progress.repeats.nudge_is_due)


def has_calls_to_run(view: View) -> bool:
    # A new owner has sorted out what its predecessor started: what is started now is ours.
    return any(call.state in ("pending", "started") and not call.abandoned for call in view.calls)


def context_of(used: int | None, limit: int | None, threshold_percent: int) -> Context:
    if used is None or not limit or threshold_percent >= 100:
        return "free"
    if used >= limit:
        return "over"
    return "full" if used * 100 >= limit * threshold_percent else "free"


def _limit(view: View, progress: Progress, limits: Limits) -> Failure | None:
    if view.chat.turn_steps >= limits.steps:
        return Failure(
            kind="step_limit",
            message=f"The turn took {limits.steps} steps, which is the limit. Send a message to go on.",
        )
    if progress.repeats.stop_is_due:
        return Failure(
            kind="loop_guard",
            message=f"The same call failed {STOP_AFTER} times in a row; the turn was stopped.",
        )
    return BUDGET_SPENT if progress.over_budget else progress.given_up


# A message goes on from wherever this left the chat; a retry only from an error.
BUDGET_SPENT = Failure(
    kind="budget_exhausted", message="The budget is spent. Raise it, then send a message to go on."
)
CONTEXT_TOO_LARGE = Failure(
    kind="context_overflow",
    message=(
        "The conversation does not fit into the model's context, and summarising it did not help. "
        "Use a model with a larger context, or edit an earlier message."
    ),
)
