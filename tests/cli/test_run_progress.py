"""What is told of a run: events folded into progress, progress into lines; and arguments as people type
them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from holdfast.cli.events import Lost, Reconnected
from holdfast.cli.runs.arguments import arguments, order, script
from holdfast.cli.runs.details import ListedWorkflow, remarks, workflows_table
from holdfast.cli.runs.outputs import live_lines
from holdfast.cli.runs.progress import RunProgress
from holdfast.cli.runs.telling import plain, result_text, spent, why
from holdfast.core.errors import WrongUsage
from holdfast.core.ids import RunId
from holdfast.core.run_shapes import CallShown, LineShown, RunData
from holdfast.core.runs import RunError, RunPhase, RunStatus
from holdfast.core.usage import Budget, Usage

NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
RUN = RunData(
    id=RunId("01900000-0000-7000-8000-000000000001"),
    name="sides",
    language="python",
    status="running",
    error=None,
    budget=Budget(tokens=9000, spent_tokens=1234),
    resumed_from=None,
    reuse=None,
    workspace_id=None,
    chat_id=None,
    model=None,
    created_at=NOW,
    started_at=NOW,
    finished_at=None,
    args=None,
    result=None,
)
CALL = CallShown(
    id="0.4",
    kind="agent",
    label=None,
    phase=None,
    status="running",
    reused=False,
    chat_id=None,
    usage=None,
    error=None,
    started_at=NOW,
    finished_at=None,
)


def with_status(status: RunStatus) -> RunData:
    return replace(RUN, status=status)


def call(**changes: Any) -> CallShown:
    return replace(CALL, **changes)


def told(*events: Any) -> list[str]:
    progress = RunProgress()
    return [plain(entry) for event in events for entry in progress.apply(event)]


def test_events_as_lines() -> None:
    ended = call(
        label="a\x1b[2J",
        status="failed",
        error="it broke\nbadly",
        finished_at=NOW + timedelta(seconds=2),
        usage=Usage(total=4321),
    )
    assert told(
        RUN,
        RunPhase(title="Argue"),
        RunPhase(title="Argue", started_at=NOW),
        LineShown(number=1, kind="log", text="one\ntwo", at=NOW),
        LineShown(number=2, kind="warning", text="odd", at=NOW),
        CALL,
        ended,
        ended,
        Lost("x"),
        Reconnected(),
        with_status("cancelled"),
    ) == [
        "# Argue",
        "- one\ntwo",
        "! odd",
        "* a␛[2J · failed · 2.0 s · 4.3k tokens · it broke badly",
        "(Connection lost. Reconnecting…)",
        "(Reconnected.)",
        "= sides · cancelled · 1 agent · 1.2k of 9.0k output tokens",
    ]


def test_what_is_at_work_is_shown_live() -> None:
    progress = RunProgress()
    for event in (RUN, RunPhase(title="Argue", started_at=NOW), CALL, call(id="0.5", started_at=None)):
        progress.apply(event)
    lines = "\n".join(live_lines(progress, NOW + timedelta(seconds=3), 200))
    assert "agent 4" in lines
    assert "3.0 s" in lines
    assert "queued" in lines
    assert "sides · running · Argue · 0 of 2 agents · 1.2k of 9.0k output tokens · 3.0 s" in lines
    for number in range(40):
        progress.apply(call(id=f"0.{number + 10}", status="pending"))
    assert "… and 30 more" in "\n".join(live_lines(progress, NOW, 200))


def test_words() -> None:
    assert spent(Budget()) == ""
    assert spent(Budget(spent_tokens=5, spent_usd_micros=1_500_000)) == "5 output tokens · $1.50"
    assert why(RunError(message="no\nluck", line=3)) == "no luck (script line 3)"
    assert result_text("a\x07\n\n") == "a␇\n"
    assert result_text({"a": 1}) == '{\n  "a": 1\n}\n'
    assert result_text(None) == ""


def test_workflows_that_wonder() -> None:
    workflows = (
        ListedWorkflow(
            name="a",
            language="python",
            source="project",
            path=".holdfast/workflows/a.py",
            description="Does a",
            args={"properties": {"x": {}, "y": {}}, "required": ["x"]},
        ),
        ListedWorkflow(
            name="a", language="python", source="catalogue", path="a.py", hidden_by=".holdfast/a.py"
        ),
        ListedWorkflow(name="b", language="python", source="home", path="~/b.py", error="Line 1: no", line=1),
    )
    assert workflows_table(workflows) == [("a", "project", "x [y]", "Does a")]
    assert remarks(workflows) == [
        ".holdfast/a.py hides the built-in a",
        "~/b.py cannot be run: Line 1: no",
    ]


def test_arguments(tmp_path: Path) -> None:
    assert arguments(None, []) == {}
    assert arguments("null", []) == {"args": None}
    assert arguments(None, ["a=1", "b=two", 'c={"d":[]}', "e=x=y", "f="]) == {
        "args": {"a": 1, "b": "two", "c": {"d": []}, "e": "x=y", "f": ""}
    }
    (tmp_path / "args.json").write_text("[1]")
    assert arguments(f"@{tmp_path}/args.json", []) == {"args": [1]}
    (tmp_path / "x.py").write_text("meta")
    assert script(f"{tmp_path}/x.py") == {"script": "meta", "language": "python"}
    assert script("a name") == {"name": "a name"}
    assert order('review path="a b" n=2') == {"name": "review", "args": {"path": "a b", "n": 2}}
    assert order("review") == {"name": "review"}
    assert order('review {"n": 2}') == {"name": "review", "args": {"n": 2}}
    for wrong in ("review {", "review x", 'review "x', "/nowhere/x.js"):
        with pytest.raises(WrongUsage):
            order(wrong)
