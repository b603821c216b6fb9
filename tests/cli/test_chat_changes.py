"""Commands on chats as a whole, named agents, skills, the audit; and completion in the shell."""

import json
import shutil
import subprocess

import pytest

from tests.cli.running import HOLDFAST
from tests.cli.serving import Server

pytestmark = pytest.mark.heavy


def new_chat(server: Server, script: str) -> str:
    return json.loads(server.done("run", "--json-result", script))["chat_id"]


def messages(server: Server, chat: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in server.done("logs", chat, "--json").splitlines()]


def test_a_fork_goes_its_own_way(server: Server) -> None:
    chat = new_chat(server, "say: one")
    server.done("run", "--chat", chat, "say: two")
    first = messages(server, chat)[1]["id"]
    copy = json.loads(server.done("fork", chat, "--at", str(first), "--title", "A copy", "--json"))
    assert copy["title"] == "A copy"
    assert len(messages(server, copy["id"])) == 2
    assert len(messages(server, chat)) == 4


def test_an_edit_replaces_what_came_after(server: Server) -> None:
    chat = new_chat(server, "say: wrong")
    assert "Replaced" in server.done("edit", chat, "say: right")
    while json.loads(server.done("ps", "--json"))[0]["status"] != "idle":
        pass
    told = server.done("logs", chat)
    assert "\nright\n" in told
    assert "wrong" not in told


def test_archived_chats_come_back(server: Server) -> None:
    chat = new_chat(server, "say: put away")
    assert server.done("archive", chat[-8:]) == "1 archived.\n"
    assert chat not in server.done("ps", "--json")
    assert chat in server.done("ps", "--all", "--json")
    assert server.done("unarchive", chat[-8:]) == "1 brought back.\n"
    assert chat in server.done("ps", "--json")


def test_deleting_needs_a_yes(server: Server) -> None:
    chat = new_chat(server, "say: short-lived")
    assert server.run("delete", chat).returncode == 2
    with server.terminal("delete", chat) as terminal:
        terminal.wait_for("[y/N]")
        terminal.enter("")
        assert terminal.exit_code() == 0
        assert "Nothing was deleted." in terminal.screen.text
    assert server.done("delete", chat, "--yes") == "1 deleted.\n"
    assert server.run("logs", chat).returncode == 1


def test_named_agents(server: Server) -> None:
    (server.home / "told.md").write_text("Review carefully.\n")
    server.done("agent", "set", "reviewer", "-i", "@told.md", "--tool", "read_file", "--tool", "grep")
    server.done("agent", "set", "reviewer", "--description", "Looks at changes")
    shown = json.loads(server.done("agent", "show", "reviewer", "--json"))
    assert (shown["instructions"], shown["description"]) == ("Review carefully.\n", "Looks at changes")
    assert shown["tools"] == ["read_file", "grep"]
    assert "Looks at changes" in server.done("agent", "list")
    assert server.done("run", "--agent", "reviewer", "say: as it") == "as it\n"
    server.done("agent", "remove", "reviewer")
    assert server.run("agent", "show", "reviewer").returncode == 1


def test_skills_of_a_workspace(server: Server) -> None:
    project = server.home / "code" / "skilled"
    skill = project / ".agents" / "skills" / "testing"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(
        "---\nname: testing\ndescription: How tests are run here\n---\nRun them.\n"
    )
    assert server.run("skill", "list").returncode == 2
    assert "How tests are run here" in server.done("skill", "list", "-w", str(project))
    assert json.loads(server.done("skill", "list", "-w", str(project), "--json"))[0]["name"] == "testing"


def test_the_audit(server: Server) -> None:
    server.done("token", "create", "for-the-audit")
    assert "token" in server.done("audit")
    entries = json.loads(server.done("audit", "--json", "-n", "5"))
    assert 0 < len(entries) <= 5
    assert {"at", "action", "outcome"} <= entries[0].keys()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_shell_completes_commands(server: Server) -> None:
    # It finds out itself which shell asks.
    script = subprocess.run(
        ["bash", "-c", f'"{HOLDFAST}" --show-completion; true'],
        env=server.environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "_holdfast_completion" in script.stdout, script
    ask = f"""
    set -e
    export PATH="{HOLDFAST.parent}:$PATH"
    {script.stdout}
    COMP_WORDS=(holdfast wor) COMP_CWORD=1
    _holdfast_completion holdfast
    printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    told = subprocess.run(
        ["bash", "-c", ask], env=server.environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert set(told.stdout.split()) == {"workflow", "workspace"}, told
