"""A run, and lists of runs and workflows, as text for people."""

from collections.abc import Mapping
from datetime import datetime
from typing import cast

from holdfast.cli.runs.progress import label_of
from holdfast.cli.runs.telling import agents, outcome, result_text, spent, state, took, why
from holdfast.cli.safe_text import neutral, neutral_line
from holdfast.cli.tables import table
from holdfast.cli.wording import ago, short
from holdfast.core.run_shapes import RunListed, RunShown
from holdfast.core.shapes import Json, Record, encode_text


class ListedWorkflow(Record, frozen=True, kw_only=True):
    name: str
    description: str | None = None
    language: str
    source: str
    path: str
    args: Mapping[str, Json] | None = None
    hides_builtin: bool = False
    hidden_by: str | None = None
    error: str | None = None
    line: int | None = None


def run_lines(run: RunShown, now: datetime, width: int | None = None) -> list[str]:
    lines = [f"{neutral_line(run.name, 100)} · {run.id}", *_facts(run, now)]
    if run.phases:
        done = [
            f"{neutral_line(phase.title, 60)}{'' if phase.started_at else ' (-)'}" for phase in run.phases
        ]
        lines.append(f"phases: {' → '.join(done)}")
    if run.calls:
        rows = [
            (
                neutral_line(label_of(call), 40),
                neutral_line(call.phase or "-", 30),
                "-" if call.chat_id is None else short(call.chat_id),
                outcome(call),
            )
            for call in run.calls
        ]
        lines += ["", *table(("agent", "phase", "chat", "how"), rows, width)]
    if run.log:
        marks = {"log": "-", "warning": "!"}
        lines += ["", *(f"{marks[line.kind]} {line.at:%H:%M:%S} {neutral(line.text)}" for line in run.log)]
    if run.result is not None:
        lines += ["", result_text(run.result).rstrip("\n")]
    return lines


def _facts(run: RunShown, now: datetime) -> list[str]:
    words = [state(run.status), run.language, took(run, now)]
    words += [agents(len(run.calls), run.reused), spent(run.budget)]
    lines = [" · ".join(word for word in words if word)]
    if run.args is not None:
        lines.append(f"args: {neutral_line(encode_text(run.args), 500)}")
    if run.resumed_from is not None:
        lines.append(f"resumed from: {run.resumed_from}")
    if run.reuse is not None:
        lines.append(f"reuse: {neutral_line(run.reuse, 500)}")
    if run.error is not None:
        lines.append(f"failed: {why(run.error)}")
    return lines


def runs_table(runs: tuple[RunListed, ...], now: datetime) -> list[tuple[str, ...]]:
    return [
        (
            short(run.id),
            state(run.status),
            ago(run.created_at, now),
            took(run, now),
            spent(run.budget) or "-",
            neutral_line(run.name, 100),
        )
        for run in runs
    ]


def workflows_table(workflows: tuple[ListedWorkflow, ...]) -> list[tuple[str, ...]]:
    """Those that can be run."""
    return [
        (
            neutral_line(workflow.name, 60),
            workflow.source,
            takes(workflow.args),
            neutral_line(workflow.description or "", 300),
        )
        for workflow in workflows
        if workflow.error is None and workflow.hidden_by is None
    ]


def remarks(workflows: tuple[ListedWorkflow, ...]) -> list[str]:
    """What somebody may wonder about: files that cannot be run, and what hides what."""
    lines: list[str] = []
    for workflow in workflows:
        path = neutral_line(workflow.path, 200)
        if workflow.error is not None:
            lines.append(f"{path} cannot be run: {neutral_line(workflow.error, 300)}")
        elif workflow.hidden_by is not None:
            kind = "the built-in" if workflow.source == "catalogue" else f"{path}, the"
            nearer = neutral_line(workflow.hidden_by, 200)
            lines.append(f"{nearer} hides {kind} {neutral_line(workflow.name, 60)}")
    return lines


def takes(schema: Mapping[str, Json] | None) -> str:
    """The names of the arguments, those that need not be given in brackets."""
    if schema is None or not isinstance(properties := schema.get("properties"), Mapping):
        return "-"
    required = schema.get("required")
    needed = cast(list[Json], required) if isinstance(required, list) else []
    names = [name if name in needed else f"[{name}]" for name in cast(Mapping[str, Json], properties)]
    return neutral_line(" ".join(names), 60) or "-"
