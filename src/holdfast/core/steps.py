"""Steps and turns: the rows that are also the trace's spans."""

from datetime import datetime
from typing import Literal

from holdfast.core.failures import Failure
from holdfast.core.ids import MessageId, StepId
from holdfast.core.segments import SegmentChange, StepCache
from holdfast.core.shapes import Record
from holdfast.core.usage import Usage

# What started a turn. A compaction requested between turns is a turn of its own.
TurnKind = Literal["message", "notice", "retry", "compaction"]
TurnOutcome = Literal["finished", "interrupted", "failed"]
# Titles, summaries and commit messages are made beside the turn that they are about, after its end.
StepKind = Literal["model", "compaction", "title", "summary", "commit_message"]


class Step(Record, frozen=True, kw_only=True):
    """One model call, however many attempts it took. `failures` lists the failed attempts before the last
    one."""

    id: StepId
    turn: int
    number: int
    kind: StepKind = "model"
    message_id: MessageId | None = None
    model: str | None = None
    provider: str | None = None
    response_id: str | None = None
    attempts: int = 1
    failures: tuple[Failure, ...] = ()
    usage: Usage
    started_at: datetime
    first_part_at: datetime | None = None
    finished_at: datetime
    outcome: TurnOutcome = "finished"
    # The version of the chat that wrote this row.
    revision: int = 0
    # The request it was, and what the provider's cache did for it. None: nobody looked.
    segments: SegmentChange | None = None
    cache: StepCache | None = None

    @property
    def beside(self) -> str | None:
        """What tells it from the other steps beside its turn; None: it is one of the turn's own. A turn has
        one title and one summary, and any number of commit messages."""
        match self.kind:
            case "title" | "summary":
                return self.kind
            case "commit_message":
                return self.id
            case "model" | "compaction":
                return None


class Turn(Record, frozen=True, kw_only=True):
    number: int
    kind: TurnKind
    message_id: MessageId | None = None
    started_at: datetime
    finished_at: datetime | None = None
    outcome: TurnOutcome | None = None
    failure: Failure | None = None
    # The version of the chat that last wrote this row.
    revision: int = 0
    # The span of another program that it is part of (W3C traceparent).
    trace_parent: str | None = None
