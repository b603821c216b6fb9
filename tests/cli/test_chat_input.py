"""`holdfast chat` on a real terminal: outputs, completion, history, commands of this machine, other chats."""

import json

import pytest

from tests.cli.serving import Server
from tests.cli.test_chat import is_idle, ready

pytestmark = pytest.mark.heavy

CTRL_C, CTRL_O, CTRL_R, UP, TAB = "\x03", "\x0f", "\x12", "\x1b[A", "\t"
COUNT = """call: execute {"command": "for i in 1 2 3 4 5 6 7 8; do echo line $i; done"}"""
FAIL = """call: execute {"command": "for i in $(seq 1 20); do echo line $i; done; exit 3"}"""
WRITE = """call: write_file {"path": "a.txt", "content": "one\\ntwo\\n"}"""


def test_outputs_are_folded_and_unfolded(server: Server) -> None:
    with server.terminal("chat") as terminal:
        ready(terminal)
        terminal.enter(f"{COUNT}\n{WRITE}\n{FAIL}\nsay: done")
        shown = terminal.wait_until(lambda shown: "\n\ndone\n" in shown and is_idle(shown))
        assert "  line 1\n  line 2\n  line 3\n  … 5 more lines · /output shows all\n" in shown
        assert "  +one\n  +two\n" in shown
        assert "failed · exit code 3\n" in shown
        assert "  … 10 earlier lines · /output shows all\n  line 11\n" in shown
        assert '"exit_code"' not in shown
        terminal.enter("/output 3")
        terminal.wait_for("\nline 7\nline 8\n")
        terminal.type(CTRL_O)
        terminal.wait_for("\nline 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\n")


def test_tab_completes(server: Server) -> None:
    with server.terminal("chat") as terminal:
        ready(terminal)
        terminal.type("/thou" + TAB)
        terminal.wait_for("› /thoughts")
        terminal.type("\x15/re" + TAB)
        terminal.wait_for("retry  rewind  resume")
        terminal.type(TAB)
        terminal.wait_for("› /retry")
        terminal.type(TAB)
        terminal.wait_for("› /rewind")
        terminal.type("\x15/model d" + TAB)
        terminal.wait_for("› /model demo")


def test_history_and_search_reach_across_sessions(server: Server) -> None:
    with server.terminal("chat") as terminal:
        ready(terminal)
        terminal.enter("say: a needle")
        terminal.wait_until(lambda shown: "\n\na needle\n" in shown and is_idle(shown))
        terminal.enter("say: hay")
        terminal.wait_until(lambda shown: "\n\nhay\n" in shown and is_idle(shown))
    with server.terminal("chat") as terminal:
        ready(terminal)
        terminal.type(UP)
        terminal.wait_for("› say: hay")
        terminal.type("\x15" + CTRL_R + "need")
        terminal.wait_for("search: need › say: a needle")
        terminal.type("\r")
        terminal.wait_until(lambda shown: "\n\na needle\n" in shown and is_idle(shown))


def test_a_paste_is_sent_exactly(server: Server) -> None:
    text = "say: pasted\n\tindented\n\n  \ttwice  "
    with server.terminal("chat") as terminal:
        ready(terminal)
        terminal.type("\x1b[200~" + text.replace("\n", "\r\n") + "\x1b[201~\r")
        terminal.wait_until(lambda shown: shown.count("pasted") > 1 and is_idle(shown))
    said = json.loads(server.done("logs", "last", "--json").splitlines()[0])
    assert said["parts"] == [{"type": "text", "text": text}]


def test_commands_of_this_machine(server: Server) -> None:
    with server.terminal("chat") as terminal:
        ready(terminal)
        terminal.enter("!echo from here; exit 4")
        terminal.wait_for("Exit code 4. It is sent with your next message.")
        terminal.wait_for("1 attached to your next message")
        terminal.enter("!sleep 1000")
        terminal.wait_for("Running here. Ctrl-C stops it.")
        terminal.type(CTRL_C)
        terminal.wait_for("Stopped.")
        terminal.enter("say: seen")
        terminal.wait_until(lambda shown: "\n\nseen\n" in shown and is_idle(shown))
        assert "1 to go along" not in terminal.screen.text
    text = json.loads(server.done("logs", "last", "--json").splitlines()[0])["parts"][0]["text"]
    assert text == ("I ran this (exit code 4):\n```\n$ echo from here; exit 4\nfrom here\n```\n\nsay: seen")


def test_other_chats(server: Server) -> None:
    first = json.loads(server.done("run", "--json-result", "say: the first one"))["chat_id"]
    with server.terminal("chat") as terminal:
        ready(terminal)
        terminal.enter("/effort low")
        terminal.wait_for("Effort low from the next message.")
        terminal.enter("say: the second one")
        terminal.wait_until(lambda shown: "\n\nthe second one\n" in shown and is_idle(shown))
        terminal.enter("/resume")
        terminal.wait_for(first[-8:])
        terminal.enter(f"/resume {first[-8:]}")
        terminal.wait_until(lambda shown: "\n\nthe first one\n" in shown and is_idle(shown))
        terminal.enter("/fork")
        terminal.wait_for("Copied to")
        terminal.enter("say: in the copy")
        terminal.wait_until(lambda shown: "\n\nin the copy\n" in shown and is_idle(shown))
        terminal.enter("/new")
        terminal.wait_for("New chat:")
        terminal.enter("say: in a new one")
        terminal.wait_until(lambda shown: "\n\nin a new one\n" in shown and is_idle(shown))
    assert "in the copy" not in server.done("logs", first)
    newest, copy, *_ = json.loads(server.done("ps", "--json"))
    assert server.done("logs", newest["id"]).count("you:") == 1
    assert server.done("logs", copy["id"]).count("you:") == 2


def test_a_file_goes_along(server: Server) -> None:
    (server.home / "along.txt").write_text("some text\n")
    with server.terminal("chat") as terminal:
        ready(terminal)
        terminal.enter(f"/attach {server.home}/along.txt")
        terminal.wait_for("along.txt (10 bytes) is attached")
        terminal.enter("say: got it")
        terminal.wait_until(lambda shown: "\n\ngot it\n" in shown and is_idle(shown))
    parts = json.loads(server.done("logs", "last", "--json").splitlines()[0])["parts"]
    assert [part["type"] for part in parts] == ["text", "file"]


def test_a_path_is_granted_for_what_the_answer_says(server: Server) -> None:
    outside = server.home / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("the word\n")
    ask = f'call: request_access {{"path": "{outside}", "reason": "to look"}}\n'
    read = f'call: read_file {{"path": "{outside}/a.txt"}}\nsay: {{result}}'
    with server.terminal("chat") as terminal:
        ready(terminal)
        terminal.enter(ask + read)
        terminal.wait_for("y allow once, for this turn · a allow for this chat · always allow this path")
        terminal.enter("y")
        terminal.wait_until(lambda shown: "\n\nthe word\n" in shown and is_idle(shown))
        terminal.enter(read)
        terminal.wait_until(lambda shown: "is outside the workspace" in shown and is_idle(shown))
        terminal.enter(ask + read)
        terminal.wait_until(lambda shown: shown.count("wants to read") == 2)
        terminal.enter("a")
        terminal.wait_until(lambda shown: shown.count("\n\nthe word\n") == 2 and is_idle(shown))
        terminal.enter(read)
        terminal.wait_until(lambda shown: shown.count("\n\nthe word\n") == 3 and is_idle(shown))


def test_a_small_window(server: Server) -> None:
    from tests.cli.terminals import terminal as opened

    with opened("chat", environ=server.environ, columns=40, rows=10) as terminal:
        terminal.wait_for("exits")
        terminal.enter(f"{FAIL}\nsay: " + "word " * 60)
        terminal.wait_until(lambda shown: shown.count("word word") > 5 and is_idle(shown))
        terminal.type("/" + TAB)
        terminal.wait_for("… ")
        terminal.enter("\x15/help")
        terminal.wait_for("Ctrl-C interrupts the turn")
        assert max(len(line) for line in terminal.screen.lines) <= 40


def test_logs_stream_word_by_word(server: Server) -> None:
    begun = server.begin("run", "pace: 0.3\nsay slowly: " + " ".join(f"word{n}" for n in range(300)))
    assert begun.stdout is not None
    assert begun.stdout.read(5) == "word0"
    following = server.begin("logs", "-f", "last")
    assert following.stdout is not None
    try:
        read = ""
        while "word0" not in read.rpartition("you:")[2].partition("\nword0")[1]:
            read += following.stdout.read(1)
        with server.terminal("logs", "-f", "last") as terminal:
            terminal.wait_for("\n\nword0")
            terminal.wait_for("working")
            terminal.type(CTRL_C)
            assert terminal.exit_code() == 130
        assert begun.poll() is None, "the turn goes on"
    finally:
        for process in (following, begun):
            process.kill()
            process.communicate()
        server.run("stop", "last")
