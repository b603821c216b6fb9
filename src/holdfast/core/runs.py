"""Runs of workflow scripts, as stored and as clients see them: the run, its calls, its log lines."""

from datetime import datetime
from typing import Literal, NamedTuple

import msgspec

from holdfast.core.ids import CallId, ChatId, RunId, UserId, WorkspaceId
from holdfast.core.shapes import Json, Record
from holdfast.core.usage import Budget, Usage

Language = Literal["javascript", "python"]
# pending: waiting for a slot.
RunStatus = Literal["pending", "running", "succeeded", "failed", "cancelled"]
CallKind = Literal["agent", "workflow", "pause"]
CallStatus = Literal["pending", "running", "succeeded", "failed", "cancelled"]
# Succeeded: the script got a value. Failed: it got null or an error. Only successful calls are reused by
# other runs.
CallOutcome = Literal["succeeded", "failed", "cancelled"]
LineKind = Literal["log", "warning", "phase"]

OVER: frozenset[RunStatus] = frozenset(("succeeded", "failed", "cancelled"))


class CallError(Record, frozen=True, kw_only=True):
    """Thrown in the script where it waits for the call."""

    kind: Literal["failed", "refused", "budget"]
    message: str


class RunError(Record, frozen=True, kw_only=True):
    """Why a run failed, and the line of the script, if known."""

    message: str
    line: int | None = None


class RunPhase(Record, frozen=True, kw_only=True):
    """A phase that the script has planned, started, or both."""

    title: str
    detail: str | None = None
    model: str | None = None
    started_at: datetime | None = None


class RunLine(Record, frozen=True, kw_only=True):
    """A log line: from the script (then `place` counts its lines) or from the server."""

    number: int
    scope: int = 0
    kind: LineKind
    text: str
    at: datetime
    place: int | None = None


class AgentTerms(Record, frozen=True, kw_only=True):
    """What limits an agent of a run, besides the settings of its chat."""

    schema: dict[str, Json] | None = None
    max_steps: int | None = None
    max_tool_calls: int | None = None


class PinnedScript(Record, frozen=True, kw_only=True):
    language: Language
    text: str


class CallKey(NamedTuple):
    """What determines the answer of a call, and the call's number among those of the run with the same
    key."""

    hash: str
    occurrence: int


class Ended(Record, frozen=True, kw_only=True):
    """How a call ended."""

    outcome: CallOutcome
    value: Json = None
    error: CallError | None = None


class RunCall(Record, frozen=True, kw_only=True):
    """A call in the journal. It is written when it is made, when it has ended, and when the script gets the
    answer."""

    scope: int
    number: int
    kind: CallKind
    hash: str
    occurrence: int
    label: str | None = None
    phase: str | None = None
    branch: str | None = None
    chat_id: ChatId | None = None
    # Reused from an earlier run, so it cost nothing; the chat then belongs to that run.
    reused: bool = False
    started_at: datetime | None = None
    finished_at: datetime | None = None
    outcome: CallOutcome | None = None
    value: Json = None
    error: CallError | None = None
    # Its place in the order in which the script received answers, and what had been spent by then.
    delivery: int | None = None
    spent: int | None = None
    usage: Usage | None = None
    terms: AgentTerms | None = None
    script: PinnedScript | None = None
    # Not stored in the journal; true if its agent, or one below it, was waiting for a person when this was
    # read.
    asks: bool = False

    @property
    def key(self) -> CallKey:
        return CallKey(self.hash, self.occurrence)

    @property
    def ended(self) -> Ended | None:
        if self.outcome is None:
            return None
        return Ended(outcome=self.outcome, value=self.value, error=self.error)

    @property
    def status(self) -> CallStatus:
        if self.outcome is not None:
            return self.outcome
        return "pending" if self.started_at is None else "running"


class AskedBy(Record, frozen=True, kw_only=True):
    """The chat that a run was asked for in: by a call that waits for it, or (None) by the person, who is told
    of its start and its end by notices."""

    chat_id: ChatId
    call_id: CallId | None = None


class Run(Record, frozen=True, kw_only=True):
    """The run's own row."""

    id: RunId
    owner_id: UserId
    name: str
    language: Language
    status: RunStatus = "pending"
    version: int = 1
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    lease_number: int = 0
    workspace_id: WorkspaceId | None = None
    model: str | None = None
    effort: str | None = None
    max_concurrency: int | None = None
    # `tokens`, and what is spent of them, are output tokens of the script with all its agents.
    budget: Budget = Budget()
    args_hash: str
    resumed_from: RunId | None = None
    asked_by: AskedBy | None = None
    tools: Json = None
    # As planned by the script.
    phases: tuple[RunPhase, ...] = ()
    error: RunError | None = None
    args: Json | msgspec.UnsetType = msgspec.UNSET
    script: str
    result: Json = None
    # Why calls of another run are reused, or are not.
    reuse: str | None = None
    # The state of the workspace when the run was requested, and when it ended.
    workspace_state: str | None = None
    final_state: str | None = None
    # The span of another program that it is part of (W3C traceparent).
    trace_parent: str | None = None


class RunDetails(Record, frozen=True, kw_only=True):
    """A run with everything that belongs to it, as of one moment."""

    run: Run
    calls: tuple[RunCall, ...]
    lines: tuple[RunLine, ...]

    @property
    def phases(self) -> tuple[RunPhase, ...]:
        return phases_of(self.run, self.lines)

    @property
    def reused(self) -> int:
        return sum(call.reused for call in self.calls)


def phases_of(run: Run, lines: tuple[RunLine, ...]) -> tuple[RunPhase, ...]:
    """The planned phases in order, then those that started without a plan."""
    found = {phase.title: phase for phase in run.phases}
    for line in lines:
        known = found.get(line.text) if line.kind == "phase" else None
        if line.kind == "phase" and (known is None or known.started_at is None):
            found[line.text] = msgspec.structs.replace(known or RunPhase(title=line.text), started_at=line.at)
    return tuple(found.values())
