"""Runs of flows, as stored: the run, a row for each of its steps, what it said. What happens next follows
from the rows alone (`flows/schedule.py`)."""

from datetime import datetime
from typing import Literal

import msgspec

from holdfast.core.ids import ChatId, FlowRunId, RunId, UserId, WorkspaceId
from holdfast.core.runs import AgentTerms, AskedBy
from holdfast.core.shapes import Json, Record
from holdfast.core.usage import Budget, Usage

# pending: waits for its turn. waiting: only people or time can move it, and no worker holds it.
FlowStatus = Literal["pending", "running", "waiting", "succeeded", "failed", "timed_out", "cancelled"]
StepKind = Literal["agent", "code", "approval", "switch", "workflow", "wait"]
# ready: it may run and waits for a slot, or for the end of its backoff.
StepState = Literal[
    "pending",
    "ready",
    "running",
    "waiting",
    "succeeded",
    "failed",
    "timed_out",
    "skipped",
    "upstream_failed",
    "cancelled",
]
# Why a step is in its state.
StepReason = Literal[
    "excluded",  # a switch chose other steps
    "condition",  # its own `when` is false
    "trigger_rule",  # the rule does not hold, and nothing has failed
    "upstream_failed",
    "slots",  # its batch, or the run, has no free slot
    "retry",  # waits for its next attempt
    "person",
    "timer",
    "denied",
    "approved",
    "timeout",
    "batch_timeout",
    "expression",  # a condition or template cannot be evaluated
    "budget",
    "error",
    "reused",
    "cancelled",
]

OVER: frozenset[FlowStatus] = frozenset(("succeeded", "failed", "timed_out", "cancelled"))
FINAL: frozenset[StepState] = frozenset(
    ("succeeded", "failed", "timed_out", "skipped", "upstream_failed", "cancelled")
)


class SwitchChoice(Record, frozen=True, kw_only=True):
    """What a switch decided: the case (None: none was true) and the steps that follow."""

    label: str | None
    steps: tuple[str, ...]


class Answer(Record, frozen=True, kw_only=True):
    """What a person said to an approval; None: nobody did, and its timeout decided."""

    decision: Literal["approve", "deny"]
    by: str | None = None
    user_id: UserId | None = None
    note: str | None = None
    answer: Json = None


class FlowStep(Record, frozen=True, kw_only=True):
    """A step of a run. `attempt` rises with every try, also of people; whatever belongs to an older one is
    refused."""

    id: str
    kind: StepKind
    position: int
    state: StepState = "pending"
    reason: StepReason | None = None
    # A sentence for people.
    detail: str | None = None
    attempt: int = 0
    # Automatic retries that were used.
    retried: int = 0
    batch: str | None = None
    chat_id: ChatId | None = None
    # Of the attempt before: it must be at rest before the next begins.
    previous_chat_id: ChatId | None = None
    # The run of a workflow step.
    workflow_run_id: RunId | None = None
    # What an approval asks.
    text: str | None = None
    output: Json = None
    choice: SwitchChoice | None = None
    answer: Answer | None = None
    # Of what decides an agent's answer.
    hash: str | None = None
    reused: bool = False
    usage: Usage | None = None
    terms: AgentTerms | None = None
    # The first start of any attempt, and the start of this one.
    begun_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    # When time moves it: an attempt is over, an approval is decided, a wait or a backoff has passed.
    deadline_at: datetime | None = None
    # Not stored but so when it was read: its agent, or one below it, waits for a person.
    asks: bool = False

    @property
    def is_final(self) -> bool:
        return self.state in FINAL


class FlowLine(Record, frozen=True, kw_only=True):
    number: int
    kind: Literal["log", "warning"]
    text: str
    at: datetime
    step_id: str | None = None


class FlowError(Record, frozen=True, kw_only=True):
    """Why a run failed, and the steps it is about."""

    message: str
    steps: tuple[str, ...] = ()


class FlowRun(Record, frozen=True, kw_only=True):
    """The run's own row."""

    id: FlowRunId
    owner_id: UserId
    name: str
    status: FlowStatus = "pending"
    version: int = 1
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    lease_number: int = 0
    workspace_id: WorkspaceId | None = None
    # Output tokens of all agents.
    budget: Budget = Budget()
    args_hash: str
    resumed_from: FlowRunId | None = None
    asked_by: AskedBy | None = None
    # What its agents may use, as in the settings of a chat; the model of those that name none.
    tools: Json = None
    model: str | None = None
    effort: str | None = None
    # Why steps of another run are reused, or are not.
    reuse: str | None = None
    workspace_state: str | None = None
    final_state: str | None = None
    # The span of another program that it is part of (W3C traceparent).
    trace_parent: str | None = None
    error: FlowError | None = None
    args: Json | msgspec.UnsetType = msgspec.UNSET
    # As it was written, and as it was read (`flows/definition.py`).
    text: str
    definition: str
    result: Json = None


class FlowDetails(Record, frozen=True, kw_only=True):
    """A run with everything that belongs to it, as of one moment."""

    run: FlowRun
    steps: tuple[FlowStep, ...]
    lines: tuple[FlowLine, ...] = ()
