"""A flow's graph for clients to draw: steps with their dependencies, branches of switches, batches."""

from holdfast.core.flow_runs import StepKind
from holdfast.core.shapes import Json, Record
from holdfast.flows.definition import ApprovalStep, Flow, OnFailure, Step, SwitchStep, TriggerRule


class Branch(Record, frozen=True, kw_only=True):
    """A case of a switch; without a label: its default."""

    label: str | None
    when: str | None
    steps: tuple[str, ...]


class GraphStep(Record, frozen=True, kw_only=True):
    id: str
    kind: StepKind
    title: str | None
    deps: tuple[str, ...]
    trigger_rule: TriggerRule
    when: str | None
    batch: str | None
    retries: int
    timeout_seconds: float | None
    on_failure: OnFailure
    branches: tuple[Branch, ...] = ()
    # The form that a person fills in to approve.
    form: dict[str, Json] | None = None
    approvers: tuple[str, ...] | None = None


class GraphBatch(Record, frozen=True, kw_only=True):
    name: str
    max: int
    timeout_seconds: float | None
    join: TriggerRule | None


class FlowGraph(Record, frozen=True, kw_only=True):
    steps: tuple[GraphStep, ...]
    batches: tuple[GraphBatch, ...]
    # The name of the report's file.
    output: str | None


def graph_of(flow: Flow) -> FlowGraph:
    return FlowGraph(
        steps=tuple(_step(step) for step in flow.steps),
        batches=tuple(
            GraphBatch(name=name, max=batch.max, timeout_seconds=batch.timeout_seconds, join=batch.join)
            for name, batch in flow.batches.items()
        ),
        output=flow.output,
    )


def _step(step: Step) -> GraphStep:
    return GraphStep(
        id=step.id,
        kind=step.kind,  # pyright: ignore[reportArgumentType] - a tag
        title=step.title,
        deps=step.deps,
        trigger_rule=step.trigger_rule,
        when=step.when,
        batch=step.batch,
        retries=step.retries,
        timeout_seconds=step.timeout_seconds,
        on_failure=step.on_failure,
        branches=_branches(step) if isinstance(step, SwitchStep) else (),
        form=step.form if isinstance(step, ApprovalStep) else None,
        approvers=step.approvers if isinstance(step, ApprovalStep) else None,
    )


def _branches(step: SwitchStep) -> tuple[Branch, ...]:
    cases = tuple(Branch(label=case.label, when=case.when, steps=case.steps) for case in step.cases)
    return (*cases, Branch(label=None, when=None, steps=step.default)) if step.default else cases
