"""`holdfast run`: one turn in a pipe, its text, its events, its exit code."""

import json
import signal
import time
from pathlib import Path

import pytest

from tests.cli.serving import Server, served

pytestmark = pytest.mark.heavy

LONG = "pace: 0.2\nsay slowly: " + " ".join(f"word{number}" for number in range(300))


def test_text_alone_goes_to_the_pipe(server: Server) -> None:
    told = server.run("run", 'say: One.\nthink: hm\ncall: todo {"items": []}\nsay: Two: {result}')
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout == 'One.\n\nTwo: {"items":[]}\n'


def test_the_prompt_from_standard_input(server: Server) -> None:
    assert server.done("run", "-", given="say: from a pipe\nsay: and more") == "from a pipeand more\n"


def test_text_streams(server: Server) -> None:
    """It is there before the turn ends."""
    running = server.begin("run", LONG)
    assert running.stdout is not None
    try:
        assert running.stdout.read(5) == "word0"
        assert running.poll() is None
    finally:
        running.kill()
        running.communicate()


def test_events_as_the_feed_has_them(server: Server) -> None:
    events = [json.loads(line) for line in server.done("run", "--json", "say: hi").splitlines()]
    assert all(set(event) == {"event", "id", "data"} for event in events)
    names = [event["event"] for event in events]
    assert names[0] == "message"
    assert "caught_up" in names
    messages = [event["data"]["message"] for event in events if event["event"] == "message"]
    assert [message["role"] for message in messages] == ["user", "assistant"]
    assert events[-1]["data"] == {"status": "idle", "waiting": None}, "it says what became of the chat"
    failed = [json.loads(line) for line in server.run("run", "--json", "fail: auth").stdout.splitlines()]
    assert (failed[-1]["event"], failed[-1]["data"]["kind"]) == ("failed", "auth")


def test_a_conversation_in_a_pipe(server: Server) -> None:
    """Every line is a message of one chat; a turn that fails ends it."""
    assert server.done("chat", given="say: one\n\nsay: two\n") == "one\ntwo\n"
    assert server.done("logs", "last").count("you:") == 2
    failed = server.run("chat", "--last", given="fail: auth\nsay: never\n")
    assert (failed.returncode, failed.stdout) == (1, "")


def test_going_on_with_a_chat(server: Server) -> None:
    server.done("run", "say: first")
    assert server.done("run", "--chat", "last", "say: second") == "second\n"
    assert server.done("logs", "last").count("you:") == 2


def test_in_a_busy_chat_it_waits_its_turn(server: Server) -> None:
    first = server.begin("run", "wait: 2\nsay: first")
    while "working" not in server.done("ps"):
        pass
    assert server.done("run", "--chat", "last", "say: second") == "second\n"
    assert first.communicate()[0] == "first\n"


@pytest.mark.parametrize(
    "arguments, code, told",
    [
        (("fail: auth",), 1, "auth"),
        (('call: ask_user {"questions": [{"id": "q", "text": "Which?"}]}',), 1, "question: ask_user"),
        (("hello", "--model", "nosuch"), 2, "nosuch"),
        (("hello", "--chat", "00000000"), 1, "holdfast ps"),
        (("hello", "--workspace", "nosuch"), 1, "nosuch"),
        (("",), 2, "no visible text"),
        (("hello", "--url", "http://127.0.0.1:9"), 3, "holdfast serve"),
    ],
)
def test_how_it_ends_otherwise(server: Server, arguments: tuple[str, ...], code: int, told: str) -> None:
    done = server.run("run", *arguments)
    assert done.returncode == code, done
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_ctrl_c_interrupts_the_turn(server: Server) -> None:
    running = server.begin("run", LONG)
    assert running.stdout is not None
    assert running.stdout.read(5) == "word0"
    running.send_signal(signal.SIGINT)
    rest, errors = running.communicate(timeout=100)
    assert (running.returncode, errors) == (130, "")
    assert "word299" not in rest
    history = json.loads(server.done("logs", "last", "--json").splitlines()[-1])
    assert history["interrupted"] is True
    assert json.loads(server.done("ps", "--json"))[0]["status"] == "idle"


def test_control_characters_are_shown_and_json_has_them(server: Server) -> None:
    assert server.done("run", "say: \x1b]0;evil\x07") == "␛]0;evil␇\n"
    assert "\\u001b]0;evil" in server.done("run", "--json", "say: \x1b]0;evil\x07")


def test_a_server_that_dies_and_comes_back(tmp_path: Path) -> None:
    """The text is there once: what was written before the kill is not written again."""
    with served(tmp_path) as server:
        running = server.begin("run", "pace: 0.1\nsay slowly: " + " ".join(f"word{n}" for n in range(40)))
        assert running.stdout is not None
        assert running.stdout.read(11) == "word0 word1"
        server.kill()
        time.sleep(0.5)  # so that it notices; whether it does or not, the end is the same
        server.start()
        rest, errors = running.communicate(timeout=100)
        assert (running.returncode, errors) == (0, "")
        assert "word0 word1" + rest == " ".join(f"word{n}" for n in range(40)) + "\n"
