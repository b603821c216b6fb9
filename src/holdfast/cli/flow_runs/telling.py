"""Runs of flows as text for people: lists, one run with its steps, and each change as a line."""

from collections.abc import Sequence
from datetime import datetime

from holdfast.cli.runs.telling import result_text, spent
from holdfast.cli.safe_text import neutral, neutral_line
from holdfast.cli.tables import table
from holdfast.cli.wording import ago, short
from holdfast.core.flow_shapes import FlowRunListed, FlowRunShown, FlowStepShown
from holdfast.flows.durations import shown

_MARKS = {
    "succeeded": "✓",
    "failed": "✗",
    "timed_out": "✗",
    "skipped": "-",
    "upstream_failed": "-",
    "cancelled": "-",
    "running": "…",
    "waiting": "?",
    "ready": "·",
    "pending": "·",
}


def step_line(step: FlowStepShown) -> str:
    """What became of a step, in one line."""
    words = [_MARKS[step.state], step.id, step.state.replace("_", " ")]
    if step.reused:
        words.append("(reused)")
    if step.attempt > 1:
        words.append(f"(attempt {step.attempt})")
    if step.state == "waiting" and step.text is not None:
        words.append(f"- {neutral_line(step.text, 300)}")
    elif step.detail is not None:
        words.append(f"- {neutral_line(step.detail, 300)}")
    return " ".join(words)


def run_lines(run: FlowRunShown, now: datetime, width: int | None = None) -> list[str]:
    lines = [f"{neutral_line(run.name, 100)} · {run.id}"]
    facts = [run.status.replace("_", " "), _took(run, now), f"{len(run.steps)} steps", spent(run.budget)]
    lines.append(" · ".join(fact for fact in facts if fact))
    if run.reuse is not None:
        lines.append(f"reuse: {neutral_line(run.reuse, 500)}")
    if run.error is not None:
        lines.append(f"failed: {neutral_line(run.error.message, 1000)}")
    rows = [
        (
            step.id,
            step.kind,
            step.state.replace("_", " ") + (" (reused)" if step.reused else ""),
            _lasted(step, now),
            "-" if step.chat_id is None else short(step.chat_id),
            neutral_line(step.detail or "", 200) or "-",
        )
        for step in run.steps
    ]
    lines += ["", *table(("step", "kind", "state", "took", "chat", "why"), rows, width)]
    for step in waiting(run):
        lines += ["", f"{step.id} waits for you: {neutral(step.text or '')}"]
        lines.append(f"  holdfast flow approve {short(run.id)} {step.id}   (or --deny)")
    if run.log:
        marks = {"log": "-", "warning": "!"}
        lines += ["", *(f"{marks[line.kind]} {line.at:%H:%M:%S} {neutral(line.text)}" for line in run.log)]
    if run.result is not None:
        lines += ["", result_text(run.result).rstrip("\n")]
    return lines


def waiting(run: FlowRunShown) -> list[FlowStepShown]:
    """Approvals that nobody has answered."""
    return [step for step in run.steps if step.kind == "approval" and step.state == "waiting"]


def runs_table(runs: Sequence[FlowRunListed], now: datetime) -> list[tuple[str, ...]]:
    return [
        (
            short(run.id),
            run.status.replace("_", " "),
            ago(run.created_at, now),
            _took(run, now) or "-",
            spent(run.budget) or "-",
            neutral_line(run.name, 100),
        )
        for run in runs
    ]


def _took(run: FlowRunListed, now: datetime) -> str:
    if run.started_at is None:
        return ""
    return shown(round(((run.finished_at or now) - run.started_at).total_seconds()))


def _lasted(step: FlowStepShown, now: datetime) -> str:
    if step.started_at is None:
        return "-"
    return shown(round(((step.finished_at or now) - step.started_at).total_seconds(), 1))
