"""Flows as the API lists them, and as text for people."""

from collections.abc import Mapping, Sequence

from holdfast.cli.runs.details import takes
from holdfast.cli.safe_text import neutral_line
from holdfast.core.shapes import Json, Record


class ListedFlow(Record, frozen=True, kw_only=True):
    name: str
    description: str | None = None
    source: str
    path: str
    steps: int = 0
    args: Mapping[str, Json] | None = None
    hides_builtin: bool = False
    hidden_by: str | None = None
    error: str | None = None
    line: int | None = None
    column: int | None = None


def flows_table(flows: Sequence[ListedFlow]) -> list[tuple[str, ...]]:
    return [
        (
            neutral_line(flow.name, 80),
            flow.source,
            str(flow.steps),
            takes(flow.args),
            neutral_line(flow.description or "-", 200),
        )
        for flow in flows
        if flow.error is None and flow.hidden_by is None
    ]


def remarks(flows: Sequence[ListedFlow]) -> list[str]:
    """What cannot be run, and what stands before something else."""
    lines: list[str] = []
    for flow in flows:
        path = neutral_line(flow.path, 300)
        if flow.error is not None:
            at = "".join(f":{place}" for place in (flow.line, flow.column) if place is not None)
            lines.append(f"{path}{at}: {neutral_line(flow.error, 1000)}")
        elif flow.hidden_by is not None:
            lines.append(f"{path} is hidden by {neutral_line(flow.hidden_by, 300)}, which has the same name.")
        elif flow.hides_builtin:
            lines.append(f"{path} stands before the built-in flow {flow.name}.")
    return lines
