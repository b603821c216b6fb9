"""The commands against a real server: what they say, to people and as JSON, and how they end."""

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cli.serving import Server

pytestmark = pytest.mark.heavy

ASK = 'call: ask_user {"questions": [{"id": "q", "text": "Which?"}]}\nsay: You said {result}'


def new_chat(server: Server, script: str) -> str:
    """The id of a chat in which this has been done."""
    lines = server.done("run", "--json", script).splitlines()
    return json.loads(lines[0])["data"]["message"]["chat_id"]


def test_chats_are_listed(server: Server) -> None:
    chat = new_chat(server, "say: hello")
    assert chat[-8:] in server.done("ps")
    listed = json.loads(server.done("ps", "--json"))
    assert chat in [one["id"] for one in listed]
    assert json.loads(server.done("ps", "--json", "--status", "error")) == []
    assert server.run("ps", "--status", "sleepy").returncode == 2


def test_a_title_cannot_order_the_terminal(server: Server) -> None:
    new_chat(server, "say: \x1b]0;title\x07\x1b[2J")
    told = server.done("ps")
    assert "\x1b" not in told
    assert "say: ]0;title [2J" in told


def test_logs_by_any_name_of_the_chat(server: Server) -> None:
    chat = new_chat(server, 'think: hm\ncall: todo {"items": []}\nsay: The \x1b[31mend')
    for name in (chat, chat[-8:], "last"):
        told = server.done("logs", name)
        assert "you: think: hm" in told
        assert "(thought) hm" in told
        assert "* todo" in told
        assert "The ␛[31mend" in told
    assert len(server.done("logs", chat, "--tail", "1").splitlines()) == 1
    messages = [json.loads(line) for line in server.done("logs", chat, "--json").splitlines()]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant"]
    assert messages[-1]["parts"][0]["text"] == "The \x1b[31mend"


def test_logs_tell_why_a_turn_failed(server: Server) -> None:
    failed = server.run("run", "--json", "fail: auth")
    assert failed.returncode == 1
    chat = json.loads(failed.stdout.splitlines()[0])["data"]["message"]["chat_id"]
    asked, told = server.done("logs", chat).splitlines()
    assert "you: fail: auth" in asked
    assert "The demo model was told to fail: auth." in told
    server.done("send", chat, "say: better")
    assert "fail: auth." not in server.done("logs", chat)


def test_logs_follow(server: Server) -> None:
    chat = new_chat(server, "say: first")
    following = server.begin("logs", "-f", chat)
    assert following.stdout is not None
    try:
        assert "first" in following.stdout.readline()
        assert following.stdout.readline() == "first\n"
        server.done("send", chat, "say: second")
        assert "you: say: second" in following.stdout.readline()
        assert following.stdout.readline() == "second\n"
    finally:
        following.kill()
        following.communicate()


def test_a_chat_that_is_not_there(server: Server) -> None:
    for name, code in (("00000000", 1), ("01900000-0000-7000-8000-000000000000", 1), ("x", 2), ("", 2)):
        told = server.run("logs", name)
        assert (told.returncode, told.stdout) == (code, ""), told
        assert len(told.stderr.splitlines()) == 1


def test_something_is_said_queued_and_stopped(server: Server) -> None:
    told = server.run("run", "--json", ASK)
    assert told.returncode == 1
    chat = json.loads(told.stdout.splitlines()[0])["data"]["message"]["chat_id"]
    assert "question: ask_user" in server.done("ps")
    assert server.done("send", chat, "say: later") == "Queued at position 1.\n"
    queued = json.loads(server.done("send", chat, "-", "--json", given="say: even later\n"))
    assert list(queued) == ["queued"], "as the API answers"
    assert queued["queued"]["position"] == 1
    assert server.done("stop", chat) == "Stopping.\n"
    assert server.run("send", chat, "x", "--steer", "--interrupt").returncode == 2
    while "even later\n" not in server.done("logs", chat).splitlines(keepends=True):
        pass
    refused = server.run("stop", chat)
    assert refused.returncode == 1
    assert "idle" in refused.stderr


def test_a_trace(server: Server) -> None:
    chat = new_chat(server, 'call: todo {"items": []}\nsay: done')
    told = server.done("trace", chat)
    assert "turn 1: call: todo" in told
    assert "  todo" in told
    spans = json.loads(server.done("trace", chat, "--json"))
    assert {span["kind"] for span in spans} == {"turn", "step", "model_call", "tool_call"}
    assert json.loads(server.done("trace", chat, "--json", "--turn", "7")) == []


def test_a_debug_record(server: Server) -> None:
    chat = new_chat(server, "say: done")
    assert "Nothing is recorded" in server.done("debug", chat)
    assert json.loads(server.done("debug", chat, "--json")) == []
    assert server.done("debug", chat, "--on") == "The debug record of this chat is on from its next turn.\n"
    server.done("send", chat, "say: recorded")
    while (
        not (found := json.loads(server.done("debug", chat, "--json"))) or found[0]["status"] != "completed"
    ):
        pass
    (run,) = found
    assert [step["status"] for step in run["steps"]] == ["completed"]
    told = server.done("debug", chat, "--run", run["id"])
    assert "step 1  stream  completed" in told


def test_an_export(server: Server, tmp_path: Path) -> None:
    chat = new_chat(server, "say: to keep")
    assert "to keep" in server.done("export", chat, "--format", "markdown")
    file = tmp_path / "chat.json"
    assert server.done("export", chat, "-o", str(file)) == f"Wrote {file}.\n"
    assert len(json.loads(file.read_text())["messages"]) == 2
    # Neither a link nor a device is replaced by a file.
    link = tmp_path / "link"
    link.symlink_to(file)
    server.done("export", chat, "-o", str(link))
    assert link.is_symlink()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as threads:
        read = threads.submit(pipe.read_text)
        server.done("export", chat, "-o", str(pipe))
        assert read.result(60) == file.read_text()
    assert pipe.is_fifo()
    missing = server.run("export", chat, "-o", str(tmp_path / "none" / "x"))
    assert (missing.returncode, len(missing.stderr.splitlines())) == (1, 1)
    gone = server.run("export", "00000000", "-o", str(tmp_path / "x"))
    assert gone.returncode == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chat.json", "link", "pipe"]


def test_an_import(server: Server, tmp_path: Path) -> None:
    chat = new_chat(server, "say: to keep")
    file = tmp_path / "chat.json"
    server.done("export", chat, "-o", str(file))
    told = server.done("import", str(file))
    assert told.startswith("Imported as ")
    new = told.split()[2].rstrip(".")
    assert new != chat
    assert "to keep" in server.done("logs", new)
    # The same again is the same chat.
    assert server.done("import", str(file)) == f"Already imported as {new}.\n"
    shown = json.loads(server.done("import", "-", "--json", given=file.read_text()))
    assert (shown["id"], shown["status"]) == (new, "idle")
    broken = tmp_path / "broken.json"
    broken.write_text('{"holdfast_export": 1')
    refused = server.run("import", str(broken))
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
    missing = server.run("import", str(tmp_path / "none"))
    assert (missing.returncode, len(missing.stderr.splitlines())) == (1, 1)
    away = server.run("import", str(file), "--url", "http://127.0.0.1:9")
    assert away.returncode == 3


def test_users_come_and_go(server: Server) -> None:
    assert "/login#token=hf_" in server.done("user", "add", "mia")
    assert server.run("user", "add", "mia").returncode == 1
    assert "/login#token=hf_" in server.done("user", "sign-in", "mia")
    assert server.done("user", "sign-in").startswith(f"{server.url}/login#token=")
    server.done("user", "suspend", "mia")
    users = {user["name"]: user for user in json.loads(server.done("user", "list", "--json"))}
    assert users["mia"]["suspended_at"] is not None
    server.done("user", "resume", "mia")
    assert "suspended" not in server.done("user", "list")
    assert server.run("user", "suspend", "nobody").returncode == 1


def test_tokens_are_made_used_and_revoked(server: Server) -> None:
    secret = server.done("token", "create", "reader", "--scope", "chats:read", "--expires", "1d")
    assert secret.startswith("hf_")
    token = secret.strip()
    assert server.run("ps", HOLDFAST_TOKEN=token).returncode == 0
    assert server.run("send", "last", "x", HOLDFAST_TOKEN=token).returncode == 1
    assert "reader" in server.done("token", "list")
    assert token not in server.done("token", "list", "--json")
    server.done("token", "revoke", "reader")
    assert "reader" not in server.done("token", "list")
    refused = server.run("ps", HOLDFAST_TOKEN=token)
    assert refused.returncode == 1
    assert "HOLDFAST_TOKEN" in refused.stderr
    assert token not in refused.stderr
    assert server.run("token", "create", "x", "--expires", "soon").returncode == 2
    assert server.run("token", "create", "x", "--scope", "everything").returncode == 2


def test_models_and_providers(server: Server) -> None:
    assert "demo" in server.done("model", "list")
    assert server.done("model", "test", "demo").startswith("demo: answers")
    assert server.done("provider", "test", "demo").startswith("demo: answers")
    place = ("--kind", "openai", "--base-url", "http://127.0.0.1:9/v1")
    assert "demo" in server.done("model", "discover", "demo")
    added = server.done("model", "discover", "demo", "--add", "demo", "--as", "second")
    assert added.startswith("Added as second.")
    assert server.done("model", "test", "second").startswith("second: answers")
    assert server.done("model", "default", "second") == "The default model is second.\n"
    assert server.done("model", "default") == "The default model is second.\n"
    assert server.done("model", "default", "--clear") == "The default model is second.\n"
    assert "there is no such model" in server.run("model", "default", "nobody").stderr
    server.done("model", "remove", "second")
    server.done("provider", "set", "local", *place, "--key-stdin", given="sk-secret\n")
    server.done("model", "set", "mine", "--provider", "local", "--model", "some-model")
    listed = json.loads(server.done("provider", "list", "--json"))
    assert "sk-secret" not in str(listed)
    assert [one["has_key"] for one in listed if one["name"] == "local"] == [True]
    failed = server.run("provider", "test", "local")
    assert failed.returncode == 1
    assert "mine: FAILED" in failed.stdout
    unlisted = server.run("model", "discover", "local")
    assert unlisted.returncode == 1
    assert "Nobody answers" in unlisted.stderr
    assert server.run("model", "discover", "--add", "x").returncode == 2
    moved = server.run("provider", "set", "local", "--kind", "openai", "--base-url", "http://127.0.0.1:8/v1")
    assert moved.returncode != 0, "another address needs the key again"
    server.done("model", "remove", "mine")
    server.done("provider", "remove", "local")
    assert server.run("provider", "test", "local").returncode == 1
    assert server.run("provider", "set", "x", "--kind", "openai", "--key-env", "NO_SUCH_KEY").returncode == 2


def test_a_command_for_a_terminal_says_so_elsewhere(server: Server) -> None:
    told = server.run("attach", "last")
    assert told.returncode == 2
    assert "holdfast send" in told.stderr


def test_a_server_that_is_not_there(server: Server) -> None:
    told = server.run("ps", HOLDFAST_URL="http://127.0.0.1:9")
    assert told.returncode == 3
    assert "holdfast serve" in told.stderr
    assert server.run("ps", "--url", "nonsense").returncode == 2


def test_the_doctor_finds_nothing_wrong(server: Server) -> None:
    findings = json.loads(server.done("doctor", "--json"))
    assert [one for one in findings if one["state"] == "broken"] == []
    told = {one["about"]: one["text"] for one in findings}
    assert f"Running at {server.url}" in told["server"]
    assert "demo model" in told["providers"]
    assert "wall" in told


def test_the_doctor_says_what_is_wrong(server: Server, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    data.chmod(0o755)
    (data / "holdfast.db").write_text("not a database")
    told = server.run(
        "doctor",
        HOLDFAST_SERVER_DATA=str(data),
        HOLDFAST_PROVIDERS_ANTHROPIC_KIND="anthropic",
        HOLDFAST_URL="http://127.0.0.1:9",
    )
    assert told.returncode == 1
    lines = told.stdout.splitlines()
    broken = [line for line in lines if line.startswith("BROKEN")]
    assert any(f"chmod 700 {data}" in line for line in broken)
    assert any("ANTHROPIC_API_KEY" in line for line in broken)
    assert any("database" in line for line in broken)
    assert any("HOLDFAST_URL" in line for line in broken)
    assert stat.S_IMODE(data.stat().st_mode) == 0o755, "looking changes nothing"
    unknown = server.run("doctor", HOLDFAST_SERVER_COLOUR="green")
    assert unknown.returncode == 1
    assert unknown.stdout.startswith("BROKEN  configuration")
