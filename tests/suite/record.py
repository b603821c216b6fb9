"""A pytest plugin that records how every test ended, one JSON line each, for `tests.suite` to read. It is
enabled with `-p tests.suite.record`; the path of the record is in the environment."""

import os
from pathlib import Path

import msgspec
import pytest

RECORD = "HOLDFAST_SUITE_RECORD"


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """One phase of one test: set-up, the call itself, or the clean-up. A module that cannot be imported is
    reported under its path."""

    test: str
    outcome: str
    seconds: float
    # Why it was skipped, or the failure as pytest prints it.
    text: str = ""


class Recorder:
    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._write(report, report.duration)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed or report.skipped:
            self._write(report, 0.0)

    def pytest_unconfigure(self) -> None:
        self._file.close()

    def _write(self, report: pytest.TestReport | pytest.CollectReport, seconds: float) -> None:
        line = Report(test=report.nodeid, outcome=report.outcome, seconds=seconds, text=_text(report))
        self._file.write(msgspec.json.encode(line) + b"\n")
        self._file.flush()


def _text(report: pytest.TestReport | pytest.CollectReport) -> str:
    if report.skipped and isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    return report.longreprtext


def read_record(path: Path) -> list[Report]:
    return [msgspec.json.decode(line, type=Report) for line in path.read_bytes().splitlines()]


def pytest_configure(config: pytest.Config) -> None:
    # The workers of xdist hand their reports to the controller, which alone writes.
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(Path(os.environ[RECORD])))
