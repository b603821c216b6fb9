"""Outputs of tools: folded, with the end of what failed, and diffs in colour."""

from datetime import UTC, datetime

import pytest

from holdfast.cli.entries import CallEntry
from holdfast.cli.plain import plain
from holdfast.cli.results import END_LINES, folded, reason, text_of, unfolded
from holdfast.cli.terminal.pretty import Pretty
from holdfast.core.ids import CallId
from holdfast.core.parts import Outcome, ToolResult
from holdfast.core.shapes import Json

AT = datetime(2030, 1, 2, tzinfo=UTC)
LONG = "\n".join(f"line {number}" for number in range(1, 31)) + "\n"
DIFF = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n"


def result(output: Json, outcome: Outcome = "succeeded", diff: str | None = None) -> ToolResult:
    return ToolResult(
        call_id=CallId("c"),
        name="execute",
        output=output,
        outcome=outcome,
        diff=diff,
        started_at=AT,
        finished_at=AT,
    )


def command(code: int, output: str) -> ToolResult:
    outcome: Outcome = "failed" if code else "succeeded"
    return result({"process_id": "p", "status": "exited", "exit_code": code, "output": output}, outcome)


def shown(done: ToolResult) -> list[str]:
    return [line.text for line in folded(done, "how to see more")]


def test_the_beginning_of_what_went_well() -> None:
    assert shown(command(0, LONG)) == ["line 1", "line 2", "line 3", "… 27 more lines · how to see more"]
    assert shown(command(0, "one\ntwo\nthree\nfour\n")) == ["one", "two", "three", "four"]
    assert shown(result("text")) == ["text"]
    assert shown(result({"items": []})) == []


def test_the_end_of_what_failed_and_no_json() -> None:
    failed = command(3, LONG)
    assert reason(failed) == "exit code 3"
    assert shown(failed)[0] == f"… {30 - END_LINES} earlier lines · how to see more"
    assert shown(failed)[-1] == "line 30"
    assert len(shown(failed)) == END_LINES + 1
    assert "{" not in plain(CallEntry(failed, {"command": "make"}))
    assert plain(CallEntry(failed, {"command": "make"})).endswith("\n  | line 30")


@pytest.mark.parametrize(
    "output, told",
    [
        ("There is no nope.", "There is no nope."),
        ({"exit_code": 137, "signal": "SIGKILL", "output": ""}, "exit code 137 (SIGKILL)"),
        ({"some": "data"}, '{"some":"data"}'),
        (LONG, ""),
    ],
)
def test_why_a_call_failed(output: Json, told: str) -> None:
    assert reason(result(output, "failed")) == told


def test_a_short_reason_is_said_once() -> None:
    assert shown(result("There is no nope.", "failed")) == []


def test_a_note_is_part_of_the_text() -> None:
    assert text_of({"output": "partial\n", "note": "It did not end."}) == "partial\nIt did not end."


def test_a_diff_has_its_colours() -> None:
    changed = result("Edited a.txt.", diff=DIFF)
    assert [(line.text, line.style) for line in folded(changed)] == [
        ("@@ -1,2 +1,2 @@", "place"),
        (" one", "plain"),
        ("-two", "removed"),
        ("+three", "added"),
    ]
    drawn = Pretty().show([CallEntry(changed, {"path": "a.txt"})], 80)
    assert "\x1b[31m  -two" in drawn
    assert "\x1b[32m  +three" in drawn


def test_no_line_is_wider_than_the_window_and_none_orders_the_terminal() -> None:
    drawn = Pretty().show([CallEntry(command(0, "x" * 300 + "\n\x1b[2Jevil\n\ttab"), None)], 40)
    assert "\x1b[2J" not in drawn
    assert "␛[2Jevil" in drawn
    assert "x" * 41 not in drawn


def test_everything_can_be_seen() -> None:
    assert len(unfolded(command(0, LONG))) == 30
    assert [line.text for line in unfolded(result({"items": []}))] == ['{"items":[]}']
