"""`holdfast workflow` against a real server: in a pipe, on a terminal, in a chat; its exit codes; Ctrl-C; a
server that dies in the middle."""

import json
import signal
import time
from pathlib import Path

import pytest

from tests.cli.serving import Server, served

pytestmark = pytest.mark.heavy

SIDES = """\
export const meta = { name: 'sides', description: 'Two sides', phases: [{ title: 'Argue' }] }
phase('Argue')
log('begins \\u001b[31m')
const sides = await parallel(['for', 'against'].map(side => () => agent(`say: ${side}`, { label: side })))
return { sides, args }
"""
SLOW = """\
meta = {"name": "slow", "description": "Takes its time"}
first = await agent("say: first", label="quick")
words = " ".join([f"word{n}" for n in range(args["words"])])
return await agent("pace: 0.2\\nsay slowly: " + words, label="long")
"""


@pytest.fixture(scope="module")
def scripts(server: Server) -> Path:
    (server.home / "sides.js").write_text(SIDES)
    (server.home / "slow.py").write_text(SLOW)
    (server.home / "broken.js").write_text("export const meta = { name: 'x', description: 'y' }\nconst = 1")
    return server.home


def last(server: Server) -> dict[str, object]:
    return json.loads(server.done("workflow", "show", "last", "--json"))


def test_what_can_be_run_is_listed(server: Server) -> None:
    told = server.done("workflow", "list")
    assert "deep-research  catalogue  question [angles] [sources]" in told
    listed = json.loads(server.done("workflow", "list", "--json"))
    assert "review-code" in [workflow["name"] for workflow in listed]


@pytest.mark.usefixtures("scripts")
def test_the_result_goes_to_the_pipe_and_progress_beside_it(server: Server) -> None:
    done = server.run("workflow", "run", "sides.js", "-a", "n=1", "-a", "who=mia", "--fresh")
    assert done.returncode == 0, done
    assert json.loads(done.stdout) == {"sides": ["for", "against"], "args": {"n": 1, "who": "mia"}}
    lines = done.stderr.splitlines()
    assert lines[1:4] == [
        "- Nothing is reused: a fresh run was asked for.",
        "# Argue",
        "- begins ␛[31m",
    ]
    assert sorted(line.split(" · ")[0] for line in lines if line.startswith("*")) == ["* against", "* for"]
    assert lines[-1].startswith("= sides · succeeded · 2 agents")
    again = server.run("workflow", "run", "sides.js", "--args", '{"who": "mia", "n": 1}', "--reuse")
    assert json.loads(again.stdout) == json.loads(done.stdout)
    assert "* for · reused" in again.stderr
    shown = server.done("workflow", "show", "last")
    assert "2 agents, 2 reused" in shown
    assert "begins ␛[31m" in shown
    assert "sides" in server.done("workflow", "show")


@pytest.mark.usefixtures("scripts")
def test_events_as_the_feed_has_them(server: Server) -> None:
    events = [json.loads(line) for line in server.done("workflow", "run", "sides.js", "--json").splitlines()]
    assert {"run", "phase", "log", "call", "budget", "caught_up"} <= {event["event"] for event in events}
    assert events[-1] == {"event": "closing", "id": events[-1]["id"], "data": {"reason": "over"}}
    assert events[-2]["data"]["status"] == "succeeded"


@pytest.mark.usefixtures("scripts")
@pytest.mark.parametrize(
    "arguments, code, told",
    [
        (("nosuch",), 2, "There is no workflow"),
        (("nosuch.js",), 2, "No such file"),
        (("broken.js",), 2, "Line 2"),
        (("deep-research",), 2, "question"),
        (("sides.js", "--args", "{"), 2, "not JSON"),
        (("sides.js", "-a", "x"), 2, "KEY=VALUE"),
        (("sides.js", "-a", "x=1", "--args", "1"), 2, "not both"),
        (("sides.js", "--fresh", "--resume-from", "last"), 2, "not both"),
        (("sides.js", "--resume-from", "00000000"), 1, "holdfast workflow show"),
        (("sides.js", "--workspace", "nosuch"), 1, "nosuch"),
        (("sides.js", "--model", "nosuch"), 2, "nosuch"),
        (("sides.js", "--url", "http://127.0.0.1:9"), 3, "holdfast serve"),
    ],
)
def test_what_cannot_be_run(server: Server, arguments: tuple[str, ...], code: int, told: str) -> None:
    done = server.run("workflow", "run", *arguments)
    assert (done.returncode, done.stdout) == (code, ""), done
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_run_that_fails(server: Server, scripts: Path) -> None:
    (scripts / "fails.py").write_text(
        "meta = {'name': 'fails', 'description': 'y'}\nraise ValueError('no luck')"
    )
    done = server.run("workflow", "run", "fails.py")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no luck (script line 2)" in done.stderr
    assert f"holdfast workflow resume {last(server)['id']}" in done.stderr
    assert "failed: " in server.done("workflow", "show", "last")
    assert [
        run["name"] for run in json.loads(server.done("workflow", "show", "--status", "failed", "--json"))
    ] == ["fails"]


@pytest.mark.usefixtures("scripts")
def test_ctrl_c_cancels_and_resume_goes_on(server: Server) -> None:
    running = server.begin("workflow", "run", "slow.py", "-a", "words=300", "--fresh")
    assert running.stderr is not None
    while "* quick" not in running.stderr.readline():
        pass
    running.send_signal(signal.SIGINT)
    rest, errors = running.communicate(timeout=100)
    assert (running.returncode, rest) == (130, ""), errors
    assert "The run was cancelled." in errors
    cancelled = last(server)
    assert cancelled["status"] == "cancelled"
    resumed = server.done("workflow", "resume", "last", "--detach").strip()
    watching = server.begin("workflow", "show", "-f", resumed)
    assert watching.stderr is not None
    while "* quick · reused" not in watching.stderr.readline():
        pass
    assert server.done("workflow", "cancel", resumed) == "Cancelled.\n"
    assert watching.communicate(timeout=100)[0] == ""
    assert watching.returncode == 130
    run = last(server)
    assert (run["id"], run["resumed_from"], run["args"]) == (resumed, cancelled["id"], {"words": 300})
    assert server.done("workflow", "cancel", resumed) == "Cancelled.\n"


@pytest.mark.usefixtures("scripts")
def test_on_a_terminal(server: Server) -> None:
    command = ("workflow", "run", str(server.home / "slow.py"), "-a", "words=60", "--fresh")
    with server.terminal(*command) as terminal:
        terminal.wait_for("✓ quick · succeeded")
        shown = terminal.wait_for("◌ long · ")
        assert "slow · running · 1 of 2 agents" in shown
        assert terminal.exit_code() == 0
        assert "✓ slow · succeeded · 2 agents" in terminal.screen.text
        assert "◌" not in terminal.screen.text
        assert "word59" in terminal.screen.text
    with server.terminal(*command) as terminal:
        terminal.wait_for("◌ long · ")
        terminal.type("\x03")
        assert terminal.exit_code() == 130
        assert "■ long · cancelled" in terminal.screen.text


@pytest.mark.usefixtures("scripts")
def test_an_agent_that_needs_a_person_is_told_of(server: Server) -> None:
    ask = 'call: ask_user {"questions": [{"id": "q", "text": "Which?"}]}\nsay: {result}'
    script = f"meta = {{'name': 'asks', 'description': 'y'}}\nreturn await agent({ask!r}, label='curious')"
    (server.home / "asks.py").write_text(script)
    running = server.begin("workflow", "run", "asks.py")
    assert running.stderr is not None
    while not (line := running.stderr.readline()).startswith("?"):
        assert line, "it ended"
    assert "curious needs you. Answer it with: holdfast attach" in line
    server.done("workflow", "cancel", "last")
    running.communicate(timeout=100)


@pytest.mark.usefixtures("scripts")
def test_in_a_chat(server: Server) -> None:
    with server.terminal("chat") as terminal:
        terminal.wait_for("/help")
        terminal.enter("/workflow")
        terminal.wait_for("deep-research")
        terminal.enter(f'/workflow {server.home / "sides.js"} {{"n": 7}}')
        terminal.wait_for("= sides · succeeded · 2 agents")
        terminal.wait_for('"n": 7')
        terminal.enter("/workflow nosuch")
        terminal.wait_for("There is no workflow")
        terminal.enter("say: still here")
        terminal.wait_until(lambda shown: shown.count("still here") >= 2)
        terminal.type("\x04")
        assert terminal.exit_code() == 0


def test_a_server_that_dies_and_comes_back(tmp_path: Path) -> None:
    """The run goes on where it was, and nothing is told twice."""
    (tmp_path / "slow.py").write_text(SLOW)
    with served(tmp_path) as server:
        running = server.begin("workflow", "run", "slow.py", "-a", "words=30")
        assert running.stderr is not None
        while "* quick" not in running.stderr.readline():
            pass
        server.kill()
        time.sleep(0.5)  # so that it notices; whether it does or not, the end is the same
        server.start()
        result, errors = running.communicate(timeout=110)
        assert running.returncode == 0, errors
        assert result == " ".join(f"word{n}" for n in range(30)) + "\n"
        assert "* quick" not in errors
        assert errors.count("* long") == 1
