"""Runs as clients see them through the API and the feed: the shapes, and how stored rows are converted to
them."""

from datetime import datetime
from typing import Literal

import msgspec
from msgspec.structs import asdict

from holdfast.core.ids import ChatId, RunId, WorkspaceId
from holdfast.core.runs import (
    CallStatus,
    Language,
    Run,
    RunCall,
    RunDetails,
    RunError,
    RunLine,
    RunPhase,
    RunStatus,
)
from holdfast.core.shapes import Json, Record
from holdfast.core.usage import Budget, Usage


class RunListed(Record, frozen=True, kw_only=True):
    """A run in a list. `tokens` of its budget are output tokens."""

    id: RunId
    name: str
    language: Language
    status: RunStatus
    error: RunError | None
    budget: Budget
    resumed_from: RunId | None
    # A sentence that says why calls of another run are reused or not; null if there is no such run.
    reuse: str | None
    workspace_id: WorkspaceId | None
    # The chat it was asked for in, by its person or by a call of its agent.
    chat_id: ChatId | None
    model: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class RunData(RunListed, frozen=True, kw_only=True):
    """The data of the event `run`, without what other events already carry."""

    args: Json
    result: Json


class CallShown(Record, frozen=True, kw_only=True):
    """A call of an agent or of another workflow. `id` is its own within the run."""

    id: str
    kind: Literal["agent", "workflow"]
    label: str | None
    phase: str | None
    status: CallStatus
    # The agent, or one it started, waits for a person.
    needs_you: bool = False
    # Reused from an earlier run, so it cost nothing; the chat then belongs to that run.
    reused: bool
    chat_id: ChatId | None
    usage: Usage | None
    error: str | None
    started_at: datetime | None
    finished_at: datetime | None


class LineShown(Record, frozen=True, kw_only=True):
    """A log line, from the script or from the server about the run. Numbers increase; a line may belong to a
    phase."""

    number: int
    kind: Literal["log", "warning"]
    text: str
    at: datetime


class RunShown(RunData, frozen=True, kw_only=True):
    """A run with everything that belongs to it."""

    # The script's text when the run started, whatever happened to the workflow since.
    script: str
    phases: tuple[RunPhase, ...]
    calls: tuple[CallShown, ...]
    log: tuple[LineShown, ...]
    # The number of calls.
    reused: int


def run_shown(details: RunDetails) -> RunShown:
    calls = tuple(shown for call in details.calls if (shown := call_shown(call)) is not None)
    return RunShown(
        **asdict(run_data(details.run)),
        script=details.run.script,
        phases=details.phases,
        calls=calls,
        log=tuple(line_shown(line) for line in details.lines if line.kind != "phase"),
        reused=sum(call.reused for call in calls),
    )


def run_data(run: Run) -> RunData:
    args = None if run.args is msgspec.UNSET else run.args
    return RunData(**asdict(run_listed(run)), args=args, result=run.result)


def run_listed(run: Run) -> RunListed:
    return RunListed(
        id=run.id,
        name=run.name,
        language=run.language,
        status=run.status,
        error=run.error,
        budget=run.budget,
        resumed_from=run.resumed_from,
        reuse=run.reuse,
        workspace_id=run.workspace_id,
        chat_id=None if run.asked_by is None else run.asked_by.chat_id,
        model=run.model,
        created_at=run.created_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
    )


def call_shown(call: RunCall) -> CallShown | None:
    """None for a pause, which nobody works on."""
    if call.kind == "pause":
        return None
    return CallShown(
        id=f"{call.scope}.{call.number}",
        kind=call.kind,
        label=call.label,
        phase=call.phase,
        status=call.status,
        needs_you=call.asks,
        reused=call.reused,
        chat_id=call.chat_id,
        usage=call.usage,
        error=None if call.error is None else call.error.message,
        started_at=call.started_at,
        finished_at=call.finished_at,
    )


def line_shown(line: RunLine) -> LineShown:
    kind = "warning" if line.kind == "warning" else "log"
    return LineShown(number=line.number, kind=kind, text=line.text, at=line.at)
