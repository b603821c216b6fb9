"""A flow as data: what its file says, checked, with every default filled in. A run keeps it as JSON, so that
a later change of the file or of the defaults does not change a run."""

from typing import ClassVar, Literal

import msgspec

from holdfast.core.runs import Language
from holdfast.core.shapes import Json, Record

TriggerRule = Literal[
    "all_success",
    "one_success",
    "all_done",
    "all_failed",
    "one_failed",
    "none_failed",
    "none_failed_min_one_success",
    "always",
]
OnFailure = Literal["fail_run", "continue"]

AGENT_SECONDS = 300.0
BACKOFF_SECONDS = 5.0


class _Step(Record, frozen=True, kw_only=True, tag_field="kind"):
    id: str
    deps: tuple[str, ...] = ()
    trigger_rule: TriggerRule = "all_success"
    # An expression; when it is false the step is skipped.
    when: str | None = None
    # Counted from the start of an attempt; None: no limit.
    timeout_seconds: float | None = None
    # Further attempts after a failure or a timeout. The wait before them doubles.
    retries: int = 0
    backoff_seconds: float = BACKOFF_SECONDS
    batch: str | None = None
    on_failure: OnFailure = "fail_run"
    # The name shown to people; None: the id.
    title: str | None = None
    # Its line in the file.
    line: int = 1

    kind: ClassVar[str]


class AgentStep(_Step, frozen=True, kw_only=True, tag="agent"):
    kind: ClassVar[str] = "agent"
    prompt: str
    agent: str | None = None
    model: str | None = None
    effort: str | None = None
    tools: tuple[str, ...] | None = None
    schema: dict[str, Json] | None = None
    isolation: Literal["worktree"] | None = None
    # Output tokens.
    budget: int | None = None


class CodeStep(_Step, frozen=True, kw_only=True, tag="code"):
    kind: ClassVar[str] = "code"
    language: Language
    source: str
    # The line in the file on which the source begins.
    source_line: int = 1


class ApprovalStep(_Step, frozen=True, kw_only=True, tag="approval"):
    kind: ClassVar[str] = "approval"
    text: str
    # A JSON Schema of the form that the person fills in.
    form: dict[str, Json] | None = None
    # Names of users; None: whoever started the run.
    approvers: tuple[str, ...] | None = None
    on_timeout: Literal["deny", "approve", "fail"] = "deny"
    on_deny: Literal["fail", "skip"] = "fail"


class Case(Record, frozen=True, kw_only=True):
    label: str
    when: str
    steps: tuple[str, ...]


class SwitchStep(_Step, frozen=True, kw_only=True, tag="switch"):
    kind: ClassVar[str] = "switch"
    cases: tuple[Case, ...] = ()
    # The steps that run when no case is true.
    default: tuple[str, ...] = ()

    @property
    def targets(self) -> frozenset[str]:
        return frozenset((*self.default, *(step for case in self.cases for step in case.steps)))


class WorkflowStep(_Step, frozen=True, kw_only=True, tag="workflow"):
    kind: ClassVar[str] = "workflow"
    name: str
    # Texts inside may be templates.
    args: Json = None
    budget: int | None = None


class WaitStep(_Step, frozen=True, kw_only=True, tag="wait"):
    kind: ClassVar[str] = "wait"
    # One of the two is set; templates.
    duration: str | None = None
    until: str | None = None


Step = AgentStep | CodeStep | ApprovalStep | SwitchStep | WorkflowStep | WaitStep
KINDS = ("agent", "code", "approval", "switch", "workflow", "wait")


class FlowBatch(Record, frozen=True, kw_only=True):
    """Steps that share slots. `timeout_seconds` counts from the first start in the batch. With `join`, a
    step outside that depends on one of them waits for all of them, and the rule must hold for all."""

    max: int = 1
    timeout_seconds: float | None = None
    join: TriggerRule | None = None


class Flow(Record, frozen=True, kw_only=True):
    name: str
    description: str
    when_to_use: str | None = None
    # A JSON Schema; None: any JSON, or nothing.
    args: dict[str, Json] | None = None
    # Output tokens of all agents.
    budget: int | None = None
    batches: dict[str, FlowBatch] = msgspec.field(default_factory=dict[str, FlowBatch])
    steps: tuple[Step, ...]
    # A template of the result, and the name of the file it is saved as.
    report: str | None = None
    output: str | None = None


def encode(flow: Flow) -> str:
    return msgspec.json.encode(flow).decode()


decode = msgspec.json.Decoder(Flow).decode
