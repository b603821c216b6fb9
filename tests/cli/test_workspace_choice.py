"""`chat` and `run` work in the current directory: registered when a person agrees, asked once."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import HOLDFAST
from tests.cli.serving import Server, served
from tests.cli.terminals import Terminal, terminal

pytestmark = pytest.mark.heavy

LOOK = "call: list\nsay: {result}"


@pytest.fixture(scope="module")
def rooted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose workspaces may be below `code` of its home."""
    home = tmp_path_factory.mktemp("rooted")
    (home / "code").mkdir()
    made = home / "templates" / "start"
    made.mkdir(parents=True)
    (made / "template.toml").write_text(
        'description = "A start."\nsetup = \'echo "setting up $TEMPLATE_TITLE" | tee said.txt; sleep 0.5\'\n'
        '[parameters.properties.title]\ntype = "string"\n[parameters.properties.port]\ntype = "integer"\n'
    )
    (home / "templates" / "bad").mkdir()
    (home / "templates" / "bad" / "template.toml").write_text("name = ")
    with served(home, HOLDFAST_TEMPLATES_ROOTS=str(home / "templates")) as running:
        yield running


def project(server: Server, name: str) -> Path:
    path = server.home / "code" / name
    path.mkdir(parents=True)
    (path / "here.txt").write_text("x\n")
    return path


def run_in(
    server: Server, where: Path, *arguments: str, given: str | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [HOLDFAST, *arguments],
        cwd=where,
        env=server.environ,
        input=given,
        stdin=subprocess.DEVNULL if given is None else None,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def terminal_in(where: Path, *arguments: str) -> tuple[str, ...]:
    """The current directory of a program on a terminal is that of this process, so a shell goes there."""
    return ("-c", 'cd "$1" && shift && exec "$@"', "sh", str(where), str(HOLDFAST), *arguments)


def opened(server: Server, where: Path, *arguments: str) -> Iterator[Terminal]:
    words = terminal_in(where, *arguments)
    # Wide enough for any temporary directory.
    with terminal(*words, environ=server.environ, program="/bin/sh", columns=400) as shown:
        yield shown


def workspaces(server: Server) -> dict[str, str]:
    return {one["path"]: one["name"] for one in json.loads(server.done("workspace", "list", "--json"))}


def test_a_named_directory_becomes_a_workspace(rooted: Server) -> None:
    where = project(rooted, "named")
    done = run_in(rooted, where, "run", "-w", ".", LOOK)
    assert (done.returncode, done.stdout, done.stderr) == (0, "here.txt\n", "")
    assert workspaces(rooted)[str(where)] == "named"
    assert run_in(rooted, where, "run", LOOK).stdout == "here.txt\n", "known from now on"
    (where / "sub").mkdir()
    (where / ".git").mkdir()
    inside = run_in(rooted, where / "sub", "run", LOOK)
    assert "here.txt" in inside.stdout, "the repository is the workspace"


def test_in_a_pipe_nobody_is_asked_and_nothing_is_registered(rooted: Server) -> None:
    where = project(rooted, "piped")
    done = run_in(rooted, where, "run", LOOK)
    assert done.returncode == 0
    assert "here.txt" not in done.stdout
    assert "-w ." in done.stderr
    assert str(where) not in workspaces(rooted)


def test_outside_of_the_roots_it_says_why(rooted: Server) -> None:
    outside = rooted.home / "elsewhere"
    outside.mkdir()
    quiet = run_in(rooted, outside, "run", "say: hi")
    assert (quiet.returncode, quiet.stderr) == (0, "")
    refused = run_in(rooted, outside, "run", "-w", ".", "say: hi")
    assert refused.returncode == 1
    assert "Allowed roots" in refused.stderr


def test_a_person_is_asked_once(rooted: Server) -> None:
    where = project(rooted, "asked")
    for shown in opened(rooted, where, "run", LOOK):
        shown.wait_for("[Y/n]")
        assert f"files in {where}?" in shown.screen.text.replace("\n", "")
        shown.enter("maybe")
        shown.wait_until(lambda text: text.count("[Y/n]") == 2)
        shown.enter("n")
        assert shown.exit_code() == 0
        assert "here.txt" not in shown.screen.text
    for shown in opened(rooted, where, "run", LOOK):
        assert shown.exit_code() == 0
        assert "[Y/n]" not in shown.screen.text
    assert str(where) not in workspaces(rooted)
    declined = rooted.home / ".local" / "state" / "holdfast" / "declined"
    assert declined.stat().st_mode & 0o077 == 0


def test_a_chat_works_here_after_a_yes(rooted: Server) -> None:
    where = project(rooted, "chatting")
    for shown in opened(rooted, where, "chat"):
        shown.wait_for("[Y/n]")
        shown.enter("")
        shown.wait_until(lambda text: "now the workspace chatting." in " ".join(text.split()))
        shown.enter(LOOK)
        shown.wait_for("\n\nhere.txt\n")
        shown.type("say: @her\t")
        shown.wait_for("› say: @here.txt")
    for shown in opened(rooted, where, "chat"):
        shown.wait_until(lambda text: f"Working in {where}." in text.replace("\n", ""))
        assert "[Y/n]" not in shown.screen.text


def test_workspaces_are_added_listed_and_removed(rooted: Server) -> None:
    where = project(rooted, "listed")
    assert "listed" in rooted.done("workspace", "add", str(where))
    assert rooted.done("workspace", "add", str(where)) == rooted.done("workspace", "add", str(where))
    other = where / "sub" / "listed"
    other.mkdir(parents=True)
    assert "listed-2" in rooted.done("workspace", "add", str(other)), "a name that is taken gets a number"
    assert str(where) in rooted.done("workspace", "list")
    rooted.done("workspace", "remove", "listed-2")
    rooted.done("workspace", "remove", str(where))
    assert str(where) not in workspaces(rooted)
    assert (where / "here.txt").exists()
    gone = rooted.run("workspace", "remove", "listed")
    assert gone.returncode == 1
    assert "workspace list" in gone.stderr
    assert os.path.exists(other)


def test_a_workspace_is_made_from_a_template(rooted: Server) -> None:
    listed = rooted.done("workspace", "new")
    assert "A start." in listed
    assert "cannot be read" in listed
    done = rooted.run("workspace", "new", "start", "--name", "fresh", "-p", "title=12", "-p", "port=80")
    assert done.returncode == 0, done.stderr
    made = rooted.home / "code" / "fresh"
    assert str(made) in done.stdout
    assert (made / "said.txt").read_text() == "setting up 12\n"
    for wrong, said in (
        (("-p", "port=x"), "do not fit"),
        (("-p", "port"), "NAME=VALUE"),
        (("--name", "fresh"), "already is"),
        (("--name", "../up"), "name of a workspace"),
    ):
        refused = rooted.run("workspace", "new", "start", *wrong)
        assert refused.returncode != 0
        assert said in refused.stderr, refused.stderr
    assert "template" in rooted.run("workspace", "new", "nowhere").stderr
    found = json.loads(rooted.run("doctor", "--json").stdout)
    said = {one["text"]: one["state"] for one in found if one["about"] == "templates"}
    assert said[f"{rooted.home / 'templates'} has 2."] == "ok"
    assert list(said.values()).count("broken") == 1


def test_a_failed_start_gives_the_message_back(rooted: Server) -> None:
    with rooted.terminal("chat", "--model", "nosuch") as shown:
        shown.wait_for("Ctrl-D exits")
        shown.enter("a long thought\nof two lines")
        shown.wait_for("nosuch")
        shown.wait_for("› a long thought\n  of two lines")
        shown.type("\x03")
        shown.wait_for("Press Ctrl-C again to exit.")
        shown.enter("/model demo")
        shown.wait_for("Using demo from the next message.")
        shown.type("\x1b[A\x1b[A")
        shown.wait_until(lambda text: text.rstrip().endswith("› a long thought\n  of two lines"))


def test_what_was_not_sent_is_printed_when_one_leaves(tmp_path: Path) -> None:
    with served(tmp_path) as server, server.terminal("chat") as shown:
        shown.wait_for("Ctrl-D exits")
        server.kill()
        shown.enter("say: never sent")
        shown.wait_for("The server is not responding")
        shown.type("\x04")
        assert shown.exit_code() == 0
        assert "Not sent: say: never sent" in shown.screen.text


def test_scripts_of_the_current_directory_are_found(rooted: Server) -> None:
    """Once it is a workspace; until then it is told how to make it one."""
    where = project(rooted, "scripts")
    flows = where / ".holdfast" / "flows"
    flows.mkdir(parents=True)
    (where / ".git").mkdir()
    (flows / "mine.yaml").write_text(
        "name: mine\ndescription: Mine\nsteps: [{id: a, kind: code, python: return 7}]\n"
    )
    before = run_in(rooted, where, "flow", "run", "mine")
    assert before.returncode == 2
    assert "-w .` makes it one" in before.stderr
    assert json.loads(run_in(rooted, where, "flow", "run", "-w", ".", "mine").stdout) == {"a": 7}
    deeper = where / "src"
    deeper.mkdir()
    assert json.loads(run_in(rooted, deeper, "flow", "run", "mine").stdout) == {"a": 7}
    assert "mine" in run_in(rooted, where, "flow", "list").stdout
