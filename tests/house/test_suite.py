"""The suite's own runner: failed tests are run once more, and told apart from broken ones."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.suite.record import Report
from tests.suite.results import after_repeat, reason_of, results_of, summary

ROOT = Path(__file__).parents[2]

TESTS = """
from pathlib import Path
import pytest

def test_steady(): pass
def test_unsteady():
    seen = Path(__file__).with_suffix(".seen")
    if not seen.exists():
        seen.touch()
        raise AssertionError("only the first time")
@pytest.mark.skip(reason="not today")
def test_skipped(): pass
"""
BROKEN = "def test_broken(): assert 1 == 2, 'always'\n"


def run_suite(directory: Path, tests: str) -> subprocess.CompletedProcess[str]:
    path = directory / "test_example.py"
    path.write_text(tests)
    (directory / "tests").mkdir()
    (directory / "tests" / "unsteady.md").write_text("# Unsteady\n")
    (directory / "pytest.ini").write_text("[pytest]\n")
    return subprocess.run(
        [sys.executable, "-m", "tests.suite", "-q", "-p", "no:cacheprovider", str(path)],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.heavy
def test_a_test_that_passes_alone_is_named_and_does_not_fail_the_run(tmp_path: Path) -> None:
    ended = run_suite(tmp_path, TESTS)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "unsteady: 1" in ended.stdout
    assert ended.stdout.rstrip().endswith("2 passed, 0 failed, 1 skipped")
    assert "not today" in ended.stdout
    note = (tmp_path / "tests" / "unsteady.md").read_text()
    assert "test_example.py::test_unsteady`: AssertionError: only the first time" in note


@pytest.mark.heavy
def test_a_test_that_fails_twice_fails_the_run(tmp_path: Path) -> None:
    ended = run_suite(tmp_path, TESTS + BROKEN)
    assert ended.returncode == 1
    assert "test_example.py::test_broken: AssertionError: always" in ended.stdout
    assert ended.stdout.rstrip().endswith("2 passed, 1 failed, 1 skipped")


def report(test: str, outcome: str, text: str = "") -> Report:
    return Report(test=test, outcome=outcome, seconds=1.0, text=text)


def test_a_failed_clean_up_counts_against_its_test() -> None:
    results = results_of([report("a", "passed"), report("a", "passed"), report("a", "failed", "E  leaked")])
    assert (results.passed, results.failed) == (0, 1)
    assert results.seconds == {"a": 3.0}


def test_what_did_not_run_again_stays_failed() -> None:
    first = results_of([report("a", "failed", "boom"), report("b", "failed", "bang"), report("c", "passed")])
    results = after_repeat(first, results_of([report("a", "passed")]))
    assert (results.passed, list(results.failures), list(results.unsteady)) == (2, ["b"], ["a"])


def test_the_summary_ends_with_the_count_alone() -> None:
    lines = summary(results_of([report("a", "passed"), report("b", "skipped", "no such program")]), 1.5)
    assert lines[-1] == "1 passed, 0 failed, 1 skipped"
    assert any("no such program" in line for line in lines)


def test_the_reason_of_a_failure_is_one_line() -> None:
    assert (
        reason_of("def test():\n>   assert x\nE   assert 1 == 2\n\ntests/a.py:3: AssertionError")
        == "assert 1 == 2"
    )
    assert reason_of("") == "no reason was given"
