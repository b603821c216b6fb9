"""`holdfast flow` against a real server: run, shown, approved, run again, cancelled; its exit codes."""

import json
from pathlib import Path

import pytest

from tests.cli.serving import Server

pytestmark = pytest.mark.heavy

GREET = """\
name: greet
description: Greets
steps:
  - {id: hello, kind: agent, prompt: "say: hello {{ args.who }}"}
  - {id: loud, kind: code, deps: [hello], python: "return results['hello'].upper()"}
report: "{{ results.loud }}"
"""
ASKS = """\
name: asks
description: Asks
steps:
  - {id: ok, kind: approval, text: "Go on?"}
  - {id: bad, kind: code, deps: [ok], python: "return 1 / 0"}
"""


@pytest.fixture(scope="module")
def flows(server: Server) -> Path:
    (server.home / "greet.yaml").write_text(GREET)
    (server.home / "asks.yaml").write_text(ASKS)
    (server.home / "broken.yaml").write_text("name: x\nname: y")
    return server.home


def test_what_can_be_run_is_listed(server: Server) -> None:
    told = server.done("flow", "list")
    assert "review-and-fix" in told
    listed = json.loads(server.done("flow", "list", "--json"))
    assert [flow["name"] for flow in listed][-1] == "upgrade-dependency"


@pytest.mark.usefixtures("flows")
def test_the_result_goes_to_the_pipe_and_steps_beside_it(server: Server) -> None:
    done = server.run("flow", "run", "greet.yaml", "-a", "who=mia")
    assert done.returncode == 0, done
    assert done.stdout.strip() == "HELLO MIA"
    assert "✓ hello succeeded" in done.stderr
    shown = server.done("flow", "show", "last")
    assert "greet" in shown
    assert "HELLO MIA" in shown
    assert "greet" in server.done("flow", "show")


@pytest.mark.usefixtures("flows")
def test_an_approval_is_answered_and_a_failed_run_is_run_again(server: Server) -> None:
    run_id = server.done("flow", "run", "asks.yaml", "-d").strip()
    for _ in range(200):
        seen = json.loads(server.done("flow", "show", run_id, "--json"))
        if seen["status"] == "waiting":
            break
    assert "ok waits for you: Go on?" in server.done("flow", "show", run_id)
    assert server.done("flow", "approve", run_id, "--note", "yes").strip() == "Approved."
    followed = server.run("flow", "show", run_id, "-f")
    assert followed.returncode == 1, followed
    assert "ZeroDivisionError" in followed.stderr
    again = server.run("flow", "retry", run_id)
    assert again.returncode == 1, again
    assert json.loads(server.done("flow", "show", run_id, "--json"))["steps"][1]["attempt"] >= 2


@pytest.mark.usefixtures("flows")
def test_cancel_and_bad_files(server: Server) -> None:
    run_id = server.done("flow", "run", "asks.yaml", "-d").strip()
    assert server.done("flow", "cancel", run_id).strip() == "Cancelled."
    broken = server.run("flow", "run", "broken.yaml")
    assert broken.returncode != 0
    assert "Line 2, column 1" in broken.stderr
