"""Runs of flows as clients see them, through the API and on the feed: shapes, and how rows become these."""

from datetime import datetime
from typing import Literal

import msgspec
from msgspec.structs import asdict

from holdfast.core.flow_runs import (
    FlowDetails,
    FlowError,
    FlowLine,
    FlowRun,
    FlowStatus,
    FlowStep,
    StepKind,
    StepReason,
    StepState,
)
from holdfast.core.ids import ChatId, FlowRunId, RunId, WorkspaceId
from holdfast.core.shapes import Json, Record
from holdfast.core.usage import Budget, Usage


class FlowRunListed(Record, frozen=True, kw_only=True):
    """A run in a list. Of its budget, `tokens` are output tokens."""

    id: FlowRunId
    name: str
    status: FlowStatus
    error: FlowError | None
    budget: Budget
    resumed_from: FlowRunId | None
    # A sentence: why steps of another run are reused, or are not; null: there was none.
    reuse: str | None
    workspace_id: WorkspaceId | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class FlowRunData(FlowRunListed, frozen=True, kw_only=True):
    """Of the event `run`: what other events tell of a run is not in it."""

    args: Json
    result: Json


class FlowAnswer(Record, frozen=True, kw_only=True):
    decision: Literal["approve", "deny"]
    # The name of whoever said so; null: the timeout did.
    by: str | None
    note: str | None
    answer: Json


class FlowStepShown(Record, frozen=True, kw_only=True):
    id: str
    kind: StepKind
    state: StepState
    reason: StepReason | None
    # A sentence.
    detail: str | None
    attempt: int
    batch: str | None
    chat_id: ChatId | None
    # Of a step of kind workflow.
    workflow_run_id: RunId | None
    # What an approval asks.
    text: str | None
    output: Json
    answer: FlowAnswer | None
    # Lent by an earlier run, so it cost nothing; then the chat is that run's.
    reused: bool
    # Its agent, or one that it started, waits for a person; or it is an approval that does.
    needs_you: bool
    usage: Usage | None
    started_at: datetime | None
    finished_at: datetime | None
    # When time decides: an attempt is over, an approval is decided, a wait or a backoff has passed.
    deadline_at: datetime | None


class FlowSwitch(Record, frozen=True, kw_only=True):
    """What a switch decided; without a label it was the default."""

    step_id: str
    label: str | None
    steps: tuple[str, ...]


class FlowLineShown(Record, frozen=True, kw_only=True):
    number: int
    kind: Literal["log", "warning"]
    text: str
    step_id: str | None
    at: datetime


class FlowRunShown(FlowRunData, frozen=True, kw_only=True):
    """A run with everything that belongs to it."""

    # As it was when the run began, whatever became of the file since.
    flow: str
    steps: tuple[FlowStepShown, ...]
    switches: tuple[FlowSwitch, ...]
    log: tuple[FlowLineShown, ...]
    # How many of the steps.
    reused: int


def flow_run_shown(details: FlowDetails) -> FlowRunShown:
    return FlowRunShown(
        **asdict(flow_run_data(details.run)),
        flow=details.run.text,
        steps=tuple(step_shown(row) for row in details.steps),
        switches=tuple(
            FlowSwitch(step_id=row.id, label=row.choice.label, steps=row.choice.steps)
            for row in details.steps
            if row.choice is not None
        ),
        log=tuple(flow_line_shown(line) for line in details.lines),
        reused=sum(row.reused for row in details.steps),
    )


def flow_run_data(run: FlowRun) -> FlowRunData:
    args = None if run.args is msgspec.UNSET else run.args
    return FlowRunData(**asdict(flow_run_listed(run)), args=args, result=run.result)


def flow_run_listed(run: FlowRun) -> FlowRunListed:
    return FlowRunListed(
        id=run.id,
        name=run.name,
        status=run.status,
        error=run.error,
        budget=run.budget,
        resumed_from=run.resumed_from,
        reuse=run.reuse,
        workspace_id=run.workspace_id,
        created_at=run.created_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
    )


def step_shown(row: FlowStep) -> FlowStepShown:
    answer = row.answer
    return FlowStepShown(
        id=row.id,
        kind=row.kind,
        state=row.state,
        reason=row.reason,
        detail=row.detail,
        attempt=row.attempt,
        batch=row.batch,
        chat_id=row.chat_id,
        workflow_run_id=row.workflow_run_id,
        text=row.text,
        output=row.output,
        answer=None
        if answer is None
        else FlowAnswer(decision=answer.decision, by=answer.by, note=answer.note, answer=answer.answer),
        reused=row.reused,
        needs_you=row.asks or (row.kind == "approval" and row.state == "waiting"),
        usage=row.usage,
        started_at=row.started_at,
        finished_at=row.finished_at,
        deadline_at=row.deadline_at,
    )


def flow_line_shown(line: FlowLine) -> FlowLineShown:
    return FlowLineShown(number=line.number, kind=line.kind, text=line.text, step_id=line.step_id, at=line.at)
