"""A server that is killed while a model answers: the debug record says so."""

import itertools
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.serving import Server, served

pytestmark = pytest.mark.slow

PATIENCE_SECONDS = 90.0


def until_recorded(server: Server, statuses: list[str]) -> dict[str, Any]:
    """The newest debug run, when its steps are like this."""
    ends = time.monotonic() + PATIENCE_SECONDS
    for seconds in itertools.repeat(0.1):
        runs: list[dict[str, Any]] = json.loads(server.done("debug", "last", "--json"))
        if runs and [step["status"] for step in runs[0]["steps"]] == statuses:
            return runs[0]
        assert time.monotonic() < ends, runs
        time.sleep(seconds)
    raise AssertionError


def test_what_a_kill_left_is_interrupted(tmp_path: Path) -> None:
    with served(tmp_path, HOLDFAST_DEBUG_MODE="on") as server:
        with server.begin("run", "pace: 0.1\nsay slowly: " + "on and on " * 40) as asking:
            while not json.loads(server.done("ps", "--json")):
                pass
            assert until_recorded(server, ["in_progress"])["status"] == "in_progress"
            server.kill()
            server.start()
            # The turn goes on, and so does its record.
            run = until_recorded(server, ["interrupted", "completed"])
            asking.kill()
        assert run["steps"][0]["finished_at"] is not None
        assert run["summary"]["steps"] == 2
