"""`holdfast changes`, `holdfast rewind`, and `/changes`, `/undo`, `/rewind` in a conversation."""

import json
from pathlib import Path

import pytest

from tests.cli.serving import Server
from tests.cli.test_chat_input import is_idle, ready

pytestmark = pytest.mark.heavy


def write(path: str, content: str) -> str:
    return f"call: write_file {json.dumps({'path': path, 'content': content})}\nsay: Written."


@pytest.fixture
def project(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = server.home / "code" / tmp_path_factory.mktemp("project").name
    path.mkdir(parents=True)
    (path / "app.py").write_text("one\n")
    return path


def test_files_turns_and_messages_are_taken_back(server: Server, project: Path) -> None:
    app, other = project / "app.py", project / "other.py"
    server.done("run", "-w", str(project), write("app.py", "two\n"))
    server.done("run", "-c", "last", write("other.py", "new\n"))
    shown = server.done("changes", "last", "--diff")
    assert "app.py" in shown
    assert "+two" in shown
    assert "app.py" not in server.done("changes", "last", "--since", "turn")

    server.done("changes", "last", "--undo", "app.py")
    assert app.read_text() == "one\n"
    server.done("changes", "last", "--undo-turn", "2")
    assert not other.exists()

    third = project / "third.py"
    server.done("run", "-c", "last", write("third.py", "three\n"))
    assert "third.py" in server.done("rewind", "last", "--preview")
    assert third.exists()
    assert "/undo" in server.done("rewind", "last", "--what", "both")
    assert not third.exists()
    assert "three" not in server.done("logs", "last")


def test_a_rewind_in_a_conversation_is_undone(server: Server, project: Path) -> None:
    app = project / "app.py"
    with server.terminal("chat", "-w", str(project)) as terminal:
        ready(terminal)
        terminal.enter(write("app.py", "two\n").replace("\n", "\x1b\r"))
        terminal.wait_until(lambda shown: "Written." in shown.split("say: Written.")[-1] and is_idle(shown))
        terminal.enter("/changes")
        terminal.wait_for("+two")
        terminal.enter("/rewind")
        terminal.wait_for("/undo")
        assert app.read_text() == "one\n"
        terminal.enter("/undo")
        terminal.wait_until(lambda _: app.read_text() == "two\n")
