"""Small flows and rows, written briefly."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from holdfast.core.flow_runs import FlowStep, StepState, SwitchChoice
from holdfast.flows.definition import (
    AgentStep,
    ApprovalStep,
    Case,
    CodeStep,
    Flow,
    FlowBatch,
    Step,
    SwitchStep,
    WaitStep,
    WorkflowStep,
)
from holdfast.flows.schedule import Decision, Graph, Moves, decide

NOW = datetime(2030, 1, 1, tzinfo=UTC)
STATES: dict[str, StepState] = {
    "S": "succeeded",
    "F": "failed",
    "T": "timed_out",
    "K": "skipped",
    "U": "upstream_failed",
    "C": "cancelled",
    "P": "pending",
    "R": "running",
    "W": "waiting",
    "Y": "ready",
}


def agent(name: str, *deps: str, **more: Any) -> AgentStep:
    return AgentStep(id=name, deps=deps, prompt="p", **more)


def code(name: str, *deps: str, **more: Any) -> CodeStep:
    return CodeStep(id=name, deps=deps, language="python", source="return 1", **more)


def wait(name: str, *deps: str, **more: Any) -> WaitStep:
    return WaitStep(id=name, deps=deps, duration="1m", **more)


def workflow(name: str, *deps: str, **more: Any) -> WorkflowStep:
    return WorkflowStep(id=name, deps=deps, name="w", **more)


def approval(name: str, *deps: str, **more: Any) -> ApprovalStep:
    return ApprovalStep(id=name, deps=deps, text="Go on?", **more)


def switch(
    name: str,
    *deps: str,
    cases: Mapping[str, tuple[str, ...]] = {},
    default: tuple[str, ...] = (),
    **more: Any,
) -> SwitchStep:
    made = tuple(Case(label=label, when="true", steps=steps) for label, steps in cases.items())
    return SwitchStep(id=name, deps=deps, cases=made, default=default, **more)


def flow(*steps: Step, **batches: FlowBatch) -> Flow:
    return Flow(name="f", description="d", steps=steps, batches=batches)


def rows_of(made: Flow, states: str = "", **known: Any) -> dict[str, FlowStep]:
    """`states`: a letter for each step in its order, `P` for the rest. `known`: other fields of a step."""
    letters = states.ljust(len(made.steps), "P")
    return {
        step.id: FlowStep(
            id=step.id,
            kind=step.kind,  # pyright: ignore[reportArgumentType]
            position=place,
            state=STATES[letters[place]],
            batch=step.batch,
            **known.get(step.id, {}),
        )
        for place, step in enumerate(made.steps)
    }


def chose(*steps: str, label: str | None = "yes") -> dict[str, Any]:
    return {"choice": SwitchChoice(label=label, steps=steps)}


def decided(made: Flow, states: str = "", *, slots: int = 16, after: float = 0, **known: Any) -> Decision:
    now = NOW + timedelta(seconds=after)
    return decide(Graph(made), rows_of(made, states, **known), now, slots=slots)


def told(decision: Decision) -> dict[str, str]:
    """A round as words: what becomes of which step."""
    assert isinstance(decision, Moves), decision
    found = {row.id: f"{row.state}:{row.reason}" if row.reason else row.state for row in decision.changed}
    for word in ("ask", "choose", "compute", "begin"):
        found |= dict.fromkeys(getattr(decision, word), word)
    return found
