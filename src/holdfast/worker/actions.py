"""What a turn can do next, and what that is decided on: plain data, for the decision in `worker/turn.py` and
for those who carry it out."""

from typing import Literal

from holdfast.core.failures import Failure
from holdfast.core.shapes import Record
from holdfast.worker.repeats import Repeats

# free: below the threshold, or nobody knows.  full: it reached the threshold.  over: it reached the limit.
Context = Literal["free", "full", "over"]


class TurnProgress(Record, frozen=True, kw_only=True):
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


class TurnLimits(Record, frozen=True, kw_only=True):
    steps: int = 1200
    # Percent of the context at which history is summarised; 100: never by itself.
    compaction_threshold: int = 70


class RunCalls(Record, frozen=True, kw_only=True):
    """Tool calls that this server executes and nobody must approve."""


class AskPeople(Record, frozen=True, kw_only=True):
    """Calls that need somebody: a client tool, an answer, an approval."""


class CompactHistory(Record, frozen=True, kw_only=True):
    source: Literal["manual", "overflow", "threshold"]


class Finish(Record, frozen=True, kw_only=True):
    """The turn is over; `limit` says which limit ended it."""

    limit: Failure | None = None


class EndWithFailure(Record, frozen=True, kw_only=True):
    failure: Failure


class CallModel(Record, frozen=True, kw_only=True):
    """`nudge`: the model is told first that it repeats itself."""

    nudge: bool = False


Action = RunCalls | AskPeople | CompactHistory | Finish | EndWithFailure | CallModel
