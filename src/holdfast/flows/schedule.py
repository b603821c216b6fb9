"""What happens next in a run: one pure function over its rows. It reads no clock and has no effects; the
driver performs the answer, writes the rows and calls it again. The same rows always give the same
answer, so a worker that takes over continues as the previous one would have."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from msgspec.structs import replace

from holdfast.core.flow_runs import Answer, FlowStep, StepReason, StepState
from holdfast.flows.definition import ApprovalStep, Flow, Step, SwitchStep, TriggerRule, WaitStep
from holdfast.flows.durations import shown

Rows = Mapping[str, FlowStep]

# How a dependency ended, as a trigger rule sees it.
Outcome = Literal["pending", "succeeded", "failed", "skipped"]
# The verdict of a trigger rule.
Verdict = Literal["wait", "run", "skipped", "upstream_failed"]
# Whether switches exclude a step: every path to it is excluded, one is open, or it is not known yet.
Way = Literal["excluded", "open", "unknown"]

_OUTCOME: dict[StepState, Outcome] = {
    "succeeded": "succeeded",
    "failed": "failed",
    "timed_out": "failed",
    "upstream_failed": "failed",
    "cancelled": "failed",
    "skipped": "skipped",
}
# Steps in these states hold a slot of their batch.
ACTIVE: tuple[StepState, ...] = ("running", "waiting")
MAX_BACKOFF_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Moves:
    """One round. Rows in `changed` only need to be written. The other fields name steps that need work
    first, all of one kind: evaluate a condition (`ask`), decide a switch, run code, or start a step."""

    changed: tuple[FlowStep, ...] = ()
    ask: tuple[str, ...] = ()
    choose: tuple[str, ...] = ()
    compute: tuple[str, ...] = ()
    begin: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing to do until something ends, or until the time `until`. `is_waiting`: only people or time can
    change that."""

    until: datetime | None
    is_waiting: bool


@dataclass(frozen=True, slots=True)
class FlowFinished:
    """Every step has ended. `failed`: those that fail the run."""

    failed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stuck:
    steps: tuple[str, ...]


Decision = Moves | Rest | FlowFinished | Stuck


class Graph:
    """A flow with lookup tables. Steps are ordered so that none comes before its dependencies; steps in a
    cycle, which no checked flow has, come last."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.steps = {step.id: step for step in flow.steps}
        self.followers: dict[str, list[str]] = {step.id: [] for step in flow.steps}
        for step in flow.steps:
            for dep in step.deps:
                self.followers.setdefault(dep, []).append(step.id)
        self.targets = {step.id: step.targets for step in flow.steps if isinstance(step, SwitchStep)}
        self.members: dict[str, list[str]] = {name: [] for name in flow.batches}
        for step in flow.steps:
            if step.batch is not None:
                self.members.setdefault(step.batch, []).append(step.id)
        self.order = self._ordered()

    def below(self, step_id: str) -> set[str]:
        """All steps that depend on a step, directly or not."""
        found: set[str] = set()
        waiting = list(self.followers.get(step_id, ()))
        while waiting:
            at = waiting.pop()
            if at not in found:
                found.add(at)
                waiting += self.followers.get(at, ())
        return found

    def _ordered(self) -> tuple[Step, ...]:
        left = {step.id: len(step.deps) for step in self.flow.steps}
        free = [step.id for step in self.flow.steps if not step.deps]
        order: list[str] = []
        for at in free:
            order.append(at)
            for follower in self.followers[at]:
                left[follower] -= 1
                if left[follower] == 0:
                    free.append(follower)
        placed = set(order)
        return tuple(self.steps[name] for name in (*order, *(s for s in left if s not in placed)))


def decide(graph: Graph, rows: Rows, now: datetime, *, slots: int) -> Decision:
    """`slots`: how many agents and workflows of the run may work at the same time."""
    if expired := _expired(graph, rows, now):
        return Moves(changed=expired)
    ways = ways_of(graph, rows)
    changed: list[FlowStep] = []
    ask: list[str] = []
    free: list[Step] = []
    for step in graph.order:
        row = rows.get(step.id)
        if row is None:
            continue
        if row.state == "ready":
            free.append(step)
        elif row.state == "pending":
            verdict = verdict_on(graph, rows, ways, step)
            if verdict in ("skipped", "upstream_failed"):
                changed.append(_passed_over(graph, rows, ways, step, row, verdict, now))
            elif verdict == "run" and step.when is not None:
                ask.append(step.id)
            elif verdict == "run":
                free.append(step)
    if changed or ask:
        return Moves(changed=tuple(changed), ask=tuple(ask))
    return _begin(graph, rows, free, now, slots) or _end(graph, rows, now)


# --- rules ---


def judge(rule: TriggerRule, outcomes: Iterable[Outcome]) -> Verdict:
    """Whether a step may run, given how its dependencies ended. A verdict given before all of them have
    ended stays the same, whatever order the others end in."""
    found = list(outcomes)
    if not found or rule == "always":
        return "run"
    pending, succeeded, failed, skipped = (
        word in found for word in ("pending", "succeeded", "failed", "skipped")
    )
    match rule:
        case "all_success":
            return _first((failed, "upstream_failed"), (pending, "wait"), (skipped, "skipped"))
        case "one_success":
            if succeeded:
                return "run"
            return _first((pending, "wait"), (failed, "upstream_failed"), (True, "skipped"))
        case "all_done":
            return "wait" if pending else "run"
        case "all_failed":
            return _first((succeeded or skipped, "skipped"), (pending, "wait"))
        case "one_failed":
            return "run" if failed else "wait" if pending else "skipped"
        case "none_failed":
            return _first((failed, "upstream_failed"), (pending, "wait"))
        case "none_failed_min_one_success":
            return _first((failed, "upstream_failed"), (pending, "wait"), (not succeeded, "skipped"))


def _first(*cases: tuple[bool, Verdict]) -> Verdict:
    for holds, verdict in cases:
        if holds:
            return verdict
    return "run"


def verdict_on(graph: Graph, rows: Rows, ways: Mapping[str, Way], step: Step) -> Verdict:
    way = ways[step.id]
    if way == "excluded":
        return "skipped"
    if step.trigger_rule == "always":
        return "run" if way == "open" else "wait"
    return judge(step.trigger_rule, outcomes_for(graph, rows, ways, step))


def outcomes_for(graph: Graph, rows: Rows, ways: Mapping[str, Way], step: Step) -> list[Outcome]:
    """The outcomes of a step's dependencies, as this step sees them. Steps that a switch excluded count as
    skipped; if the join of a batch does not hold, all its steps count as failed or skipped."""
    joins: dict[str, Verdict] = {}
    found: list[Outcome] = []
    for dep in step.deps:
        batch = graph.steps[dep].batch if dep in graph.steps else None
        if batch is not None and batch != step.batch and (rule := graph.flow.batches[batch].join) is not None:
            if batch not in joins:
                members = graph.members[batch]
                joins[batch] = judge(rule, [_outcome(rows, ways, member) for member in members])
            joined = joins[batch]
            if joined != "run":
                found.append(_JOINED[joined])
                continue
        found.append(
            "skipped" if _edge(graph, rows, ways, dep, step.id) == "excluded" else _outcome(rows, ways, dep)
        )
    return found


_JOINED: dict[Verdict, Outcome] = {"wait": "pending", "skipped": "skipped", "upstream_failed": "failed"}


def _outcome(rows: Rows, ways: Mapping[str, Way], step_id: str) -> Outcome:
    row = rows.get(step_id)
    if row is None:
        return "pending"
    if row.state == "pending" and ways.get(step_id) == "excluded":
        return "skipped"
    return _OUTCOME.get(row.state, "pending")


# --- switches ---


def ways_of(graph: Graph, rows: Rows) -> dict[str, Way]:
    ways: dict[str, Way] = {}
    for step in graph.order:
        if not step.deps:
            ways[step.id] = "open"
            continue
        edges = {_edge(graph, rows, ways, dep, step.id) for dep in step.deps}
        ways[step.id] = "open" if "open" in edges else "unknown" if "unknown" in edges else "excluded"
    return ways


def _edge(graph: Graph, rows: Rows, ways: Mapping[str, Way], dep: str, step_id: str) -> Way:
    way = ways.get(dep, "unknown")
    if way == "excluded" or step_id not in graph.targets.get(dep, ()):
        return way
    row = rows.get(dep)
    if row is None or not row.is_final:
        return "unknown"
    if row.state != "succeeded" or row.choice is None:
        return "open"
    return "open" if step_id in row.choice.steps else "excluded"


def chosen(switch: SwitchStep, case: int | None) -> tuple[str | None, tuple[str, ...]]:
    """The label and steps of the case that is true, or of the default if none is."""
    if case is None:
        return None, switch.default
    return switch.cases[case].label, switch.cases[case].steps


def _passed_over(
    graph: Graph,
    rows: Rows,
    ways: Mapping[str, Way],
    step: Step,
    row: FlowStep,
    verdict: Verdict,
    now: datetime,
) -> FlowStep:
    reason: StepReason
    if ways[step.id] == "excluded":
        reason, detail = "excluded", _excluded_by(graph, rows, step)
    elif verdict == "upstream_failed":
        bad = [dep for dep in step.deps if dep in rows and _OUTCOME.get(rows[dep].state) == "failed"]
        named = ", ".join(bad) if bad else f"the batch {_batches(graph, step)}"
        reason, detail = "upstream_failed", f"{step.trigger_rule}: {named} did not succeed."
    else:
        reason, detail = "trigger_rule", f"{step.trigger_rule} does not hold for {', '.join(step.deps)}."
    state: StepState = "upstream_failed" if verdict == "upstream_failed" else "skipped"
    return ended(row, state, now, reason=reason, detail=detail)


def _excluded_by(graph: Graph, rows: Rows, step: Step) -> str:
    for dep in step.deps:
        row = rows.get(dep)
        if dep in graph.targets and row is not None and row.choice is not None:
            label = row.choice.label
            return f"The switch {dep} chose {'its default' if label is None else label}."
    return f"All it depends on was excluded: {', '.join(step.deps)}."


def _batches(graph: Graph, step: Step) -> str:
    return ", ".join(sorted({graph.steps[dep].batch or "" for dep in step.deps} - {""}))


# --- time ---


def _expired(graph: Graph, rows: Rows, now: datetime) -> tuple[FlowStep, ...]:
    late: list[FlowStep] = []
    closed = {name for name, until in batch_deadlines(graph, rows).items() if until <= now}
    for step in graph.flow.steps:
        row = rows.get(step.id)
        if row is None or row.state not in ("running", "waiting", "ready"):
            continue
        if step.batch in closed:
            limit = graph.flow.batches[step.batch or ""].timeout_seconds or 0
            detail = f"The batch {step.batch} took longer than {shown(limit)}."
            late.append(ended(row, "timed_out", now, reason="batch_timeout", detail=detail))
        elif row.state in ACTIVE and row.deadline_at is not None and row.deadline_at <= now:
            late.append(timed_out(step, row, now))
    return tuple(late)


def batch_deadlines(graph: Graph, rows: Rows) -> dict[str, datetime]:
    """Deadlines of batches that have started and have a timeout."""
    found: dict[str, datetime] = {}
    for name, batch in graph.flow.batches.items():
        if batch.timeout_seconds is None:
            continue
        begun = [row.begun_at for member in graph.members[name] if (row := rows.get(member)) and row.begun_at]
        if begun:
            found[name] = min(begun) + timedelta(seconds=batch.timeout_seconds)
    return found


def timed_out(step: Step, row: FlowStep, now: datetime) -> FlowStep:
    """The row of a step whose deadline has passed."""
    limit = "" if step.timeout_seconds is None else f" within {shown(step.timeout_seconds)}"
    match step:
        case WaitStep():
            return ended(row, "succeeded", now, reason="timer")
        case ApprovalStep(on_timeout="approve"):
            answer = Answer(decision="approve", note=f"Nobody answered{limit}.")
            return answered(step, row, answer, now)
        case ApprovalStep(on_timeout="deny"):
            answer = Answer(decision="deny", note=f"Nobody answered{limit}.")
            return answered(step, row, answer, now)
        case ApprovalStep():
            return ended(row, "timed_out", now, reason="timeout", detail=f"Nobody answered{limit}.")
        case _:
            return failed(step, row, now, reason="timeout", detail=f"It did not end{limit}.")


def answered(step: ApprovalStep, row: FlowStep, answer: Answer, now: datetime) -> FlowStep:
    """The row of an approval that a person decided, or the timeout in their place."""
    row = replace(
        row,
        answer=answer,
        output={"decision": answer.decision, "note": answer.note, "answer": answer.answer, "by": answer.by},
    )
    if answer.decision == "approve":
        return ended(row, "succeeded", now, reason="approved", detail=answer.note)
    state: StepState = "skipped" if step.on_deny == "skip" else "failed"
    return ended(row, state, now, reason="denied", detail=answer.note)


def failed(
    step: Step, row: FlowStep, now: datetime, *, reason: StepReason, detail: str | None, final: bool = False
) -> FlowStep:
    """The row after an attempt failed or timed out: it waits for the next attempt, if there is one.
    `final`: another attempt would fail in the same way."""
    if final or row.retried >= step.retries:
        state: StepState = "timed_out" if reason == "timeout" else "failed"
        return ended(row, state, now, reason=reason, detail=detail)
    seconds = min(step.backoff_seconds * 2**row.retried, MAX_BACKOFF_SECONDS)
    return replace(
        row,
        state="ready",
        reason="retry",
        detail=f"Retry {row.retried + 1} of {step.retries}, after: {detail or reason}",
        attempt=row.attempt + 1,
        retried=row.retried + 1,
        previous_chat_id=row.chat_id,
        chat_id=None,
        workflow_run_id=None,
        started_at=None,
        deadline_at=now + timedelta(seconds=seconds),
    )


def ended(
    row: FlowStep,
    state: StepState,
    now: datetime,
    *,
    reason: StepReason | None = None,
    detail: str | None = None,
) -> FlowStep:
    return replace(row, state=state, reason=reason, detail=detail, finished_at=now, deadline_at=None)


# --- begins ---


def _begin(graph: Graph, rows: Rows, free: list[Step], now: datetime, slots: int) -> Moves | None:
    """Starts switches, else code, else steps that take time, as long as there are slots. Steps without a
    slot say so."""
    if switches := tuple(step.id for step in free if step.kind == "switch"):
        return Moves(choose=switches)
    late = {name for name, until in batch_deadlines(graph, rows).items() if until <= now}
    closed = [
        ended(
            rows[step.id],
            "timed_out",
            now,
            reason="batch_timeout",
            detail=f"The time of the batch {step.batch} was over before it began.",
        )
        for step in free
        if step.batch in late
    ]
    if closed:
        return Moves(changed=tuple(closed))
    room = {name: batch.max for name, batch in graph.flow.batches.items()}
    for step in graph.flow.steps:
        row = rows.get(step.id)
        if row is not None and row.state in ACTIVE:
            if step.batch is not None:
                room[step.batch] -= 1
            if step.kind in ("agent", "workflow"):
                slots -= 1
    admitted: list[Step] = []
    refused: list[FlowStep] = []
    # Code is run first, so it is admitted first.
    for step in sorted(free, key=lambda step: step.kind != "code"):
        row = rows[step.id]
        works = step.kind in ("agent", "workflow")
        if row.state == "ready" and not _is_due(row, now):
            continue
        if (step.batch is not None and room[step.batch] <= 0) or (works and slots <= 0):
            if row.state == "pending":
                refused.append(replace(row, state="ready", reason="slots"))
            continue
        if step.batch is not None:
            room[step.batch] -= 1
        slots -= works
        admitted.append(step)
    if computed := tuple(step.id for step in admitted if step.kind == "code"):
        return Moves(compute=computed)
    if admitted or refused:
        return Moves(changed=tuple(refused), begin=tuple(step.id for step in admitted))
    return None


def _is_due(row: FlowStep, now: datetime) -> bool:
    """Whether the backoff is over and the previous attempt is at rest."""
    return row.previous_chat_id is None and (row.deadline_at is None or row.deadline_at <= now)


# --- ends ---


def _end(graph: Graph, rows: Rows, now: datetime) -> Decision:
    open_rows = [row for step in graph.flow.steps if (row := rows.get(step.id)) and not row.is_final]
    if not open_rows and len(rows) == len(graph.steps):
        return FlowFinished(failed=failing(graph, rows))
    if not any(row.state in ("running", "waiting", "ready") for row in open_rows):
        missing = [step.id for step in graph.flow.steps if step.id not in rows]
        return Stuck(steps=(*(row.id for row in open_rows), *missing))
    moments = [row.deadline_at for row in open_rows if row.deadline_at is not None]
    concerned = {row.batch for row in open_rows if row.state != "pending"}
    moments += [until for name, until in batch_deadlines(graph, rows).items() if name in concerned]
    works = any(row.state == "running" for row in open_rows)
    settled = all(row.previous_chat_id is None for row in open_rows)
    return Rest(until=min(moments, default=None), is_waiting=settled and not works)


def failing(graph: Graph, rows: Rows) -> tuple[str, ...]:
    """Steps that fail the run: they failed or timed out, `on_failure` does not continue, and no later step
    succeeded."""
    return tuple(
        step.id
        for step in graph.flow.steps
        if step.on_failure == "fail_run"
        and rows[step.id].state in ("failed", "timed_out")
        and not any(rows[name].state == "succeeded" for name in graph.below(step.id))
    )


def begins_again(graph: Graph, rows: Rows, wanted: Iterable[str]) -> tuple[FlowStep, ...]:
    """Resets these steps and all that depend on them. The attempt number rises, so late results of earlier
    attempts are refused."""
    names = set(wanted)
    for name in tuple(names):
        names |= graph.below(name)
    return tuple(
        FlowStep(
            id=row.id,
            kind=row.kind,
            position=row.position,
            batch=row.batch,
            attempt=row.attempt + 1,
            previous_chat_id=None if row.reused else row.chat_id,
        )
        for row in rows.values()
        if row.id in names
    )
