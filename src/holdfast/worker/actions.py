"""The actions a turn can take next, and the data that decision is based on. Plain data, for the decision in
`worker/turn.py` and for the code that carries it out."""

from typing import Literal

from holdfast.core.failures import Failure
from holdfast.core.parts import Notice
from holdfast.core.shapes import Record
from holdfast.worker.repeats import Repeats

# free: below the threshold, or unknown.  full: it reached the threshold.  over: it reached the limit.
Context = Literal["free", "full", "over"]


class HookProgress(Record, frozen=True, kw_only=True):
    """What the recorded runs of hooks say; there are hooks."""

    # A message of the user that not all hooks have looked at, or that one refused.
    prompts_due: bool = False
    # Calls that ended, and not all hooks were told.
    calls_due: bool = False
    # A hook ended the turn after a call.
    stop: Notice | None = None
    # There are hooks to ask before the turn ends.
    at_end: bool = False
    # How often they asked for one more step in this turn.
    asked: int = 0


class TurnProgress(Record, frozen=True, kw_only=True):
    """What the history says about the turn; see `worker/history.py` and `worker/progress.py`."""

    # The model has finished: nothing in history waits for an answer.
    complete: bool
    # A call of the newest step used a tool that ends the turn.
    ended_by_tool: bool = False
    # Calls that failed again and again.
    repeats: Repeats = Repeats()
    # A budget of the chat or one of its ancestors is spent.
    over_budget: bool = False
    # Why nothing more is expected of the agent of a run.
    given_up: Failure | None = None
    # How full the context was in the last step.
    context: Context = "free"
    # How many summaries of this turn were made without a smaller context after them; whether the notice that
    # says so is in history.
    compactions_in_vain: int = 0
    told_in_vain: bool = False
    # What hooks are still to be told of, or have said (see `worker/hook_runs.py`).
    hooks: "HookProgress | None" = None
    # The turn is to end for this reason, once the model has summed up.
    closing: Failure | None = None


class TurnLimits(Record, frozen=True, kw_only=True):
    steps: int = 1200
    # Whether the model may sum up before a limit ends its turn.
    closing: bool = True
    # Percent of the context at which history is summarised; 100: never by itself.
    compaction_threshold: int = 70


class RunCalls(Record, frozen=True, kw_only=True):
    """Tool calls that this server executes and that need no approval."""


class AskPeople(Record, frozen=True, kw_only=True):
    """Calls that need somebody: a client tool, an answer, an approval."""


class CompactHistory(Record, frozen=True, kw_only=True):
    source: Literal["manual", "overflow", "threshold"]


class RunHooks(Record, frozen=True, kw_only=True):
    """Calls of the model that hooks look at before anybody is asked."""


class CheckPrompts(Record, frozen=True, kw_only=True):
    """Messages of the user that hooks look at before the model."""


class AfterCalls(Record, frozen=True, kw_only=True):
    """Calls have ended, and hooks are told."""


class AskEndHooks(Record, frozen=True, kw_only=True):
    """The turn would end so; hooks may ask for one more step, if they `may`."""

    end: "Finish"
    may: bool


class Finish(Record, frozen=True, kw_only=True):
    """The turn is over; `limit` says which limit ended it, `notice` what else people should know."""

    limit: Failure | None = None
    notice: Notice | None = None


class EndWithFailure(Record, frozen=True, kw_only=True):
    failure: Failure


class CallModel(Record, frozen=True, kw_only=True):
    """`nudge`: the model is told first that it repeats itself. `in_vain`: that summaries did not help.
    `closing`: why the turn ends; the model sums up, without tools."""

    nudge: bool = False
    in_vain: bool = False
    closing: Failure | None = None


Action = (
    RunHooks
    | CheckPrompts
    | AfterCalls
    | AskEndHooks
    | RunCalls
    | AskPeople
    | CompactHistory
    | Finish
    | EndWithFailure
    | CallModel
)
