"""`holdfast chat` on a real terminal against a real server: reading, typing and answering at once."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.serving import Server, served
from tests.cli.terminals import Terminal

pytestmark = pytest.mark.heavy

ENTER, CTRL_C, CTRL_D, CTRL_T, CTRL_X, UP = "\r", "\x03", "\x04", "\x14", "\x18", "\x1b[A"
# So slow that it never ends by itself while a test looks.
LONG = "pace: 0.3\nsay slowly: " + " ".join(f"word{number}" for number in range(300))
ASK = """\
call: ask_user {"questions": [{"id": "db", "text": "Which database?", "options": ["SQLite", "PostgreSQL"]},\
 {"id": "name", "text": "What name?"}]}
say: Noted: {result}"""
BEGUN = "Ctrl-D exits"


def ready(terminal: Terminal) -> None:
    terminal.wait_for(BEGUN)


def is_idle(shown: str) -> bool:
    """How it stands, with nothing on its way."""
    return "\n○ idle" in shown and "sending:" not in shown


def history(server: Server, chat: str = "last") -> list[dict[str, object]]:
    return [json.loads(line) for line in server.done("logs", chat, "--json").splitlines()]


def test_text_streams_and_stays(server: Server) -> None:
    with server.terminal("chat") as terminal:
        ready(terminal)
        terminal.enter(
            "pace: 0.02\nsay slowly: # A head\n \n Some **bold** words.\n \n - one\n - two\n \n The end.\n"
        )
        shown = terminal.wait_for("The end.\n\n○ idle")
        answer = shown.partition("\n\nA head\n")[2]
        assert answer.startswith("\nSome bold words.\n\n • one\n • two\n\nThe end.\n\n○ idle")
        assert shown.count("Some bold words.") == 1
        terminal.type(CTRL_D)
        assert terminal.exit_code() == 0
        assert "Resume with: holdfast chat" in terminal.screen.text


def test_what_is_typed_is_not_torn_by_what_is_said(server: Server) -> None:
    with server.terminal("chat") as terminal:
        ready(terminal)
        before = "pace: 0.01\nsay slowly: " + "\n \n ".join(f"Paragraph {n} of many." for n in range(30))
        terminal.enter(before)
        for number, char in enumerate("typed while it talks"):
            terminal.type(char)
            terminal.wait_for(f"Paragraph {number} of many.\n")
        shown = terminal.wait_until(
            lambda shown: "Paragraph 29 of many." in shown.partition("29 of many.")[2] and is_idle(shown)
        )
        assert shown.endswith("› typed while it talks")
        answer = shown.rpartition("\n\nParagraph 0 of many.")[2]
        assert [line for line in answer.splitlines() if line.startswith("Paragraph")] == [
            f"Paragraph {n} of many." for n in range(1, 30)
        ]


def test_questions_are_answered_in_place(server: Server) -> None:
    with server.terminal("chat") as terminal:
        ready(terminal)
        terminal.enter("wait: 1\n" + ASK)
        terminal.type("a draft")
        terminal.wait_for("2. PostgreSQL")
        terminal.wait_for("a number · or type an answer")
        assert "› a draft" not in terminal.screen.text
        terminal.enter("2")
        terminal.wait_for("? What name?")
        terminal.enter("holdfast")
        terminal.wait_for('Noted: {"answers":{"db":"PostgreSQL","name":"holdfast"}}')
        terminal.wait_for("› a draft")
        assert "● ask_user" in terminal.screen.text


@pytest.fixture(scope="module")
def strict_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One that asks before every call."""
    with served(tmp_path_factory.mktemp("strict"), HOLDFAST_TOOLS_APPROVAL="ask") as running:
        yield running


def test_calls_are_approved_and_refused_in_place(strict_server: Server) -> None:
    call = 'call: todo {"items": []}\n'
    with strict_server.terminal("chat") as terminal:
        ready(terminal)
        terminal.enter(call * 3 + "say: after that")
        terminal.wait_for("? todo wants to run:")
        terminal.wait_for("n REASON")
        terminal.enter("sure, go ahead")
        terminal.wait_for("Not an answer.")
        terminal.enter("y")
        terminal.wait_for("● todo")
        terminal.wait_until(lambda shown: shown.count("wants to run:") == 2)
        terminal.enter("n because it is late")
        terminal.wait_for("denied · The user did not allow this: it is late")
        terminal.wait_until(lambda shown: shown.count("wants to run:") == 3)
        terminal.enter("a")
        terminal.wait_until(lambda shown: "\n\nafter that\n" in shown and is_idle(shown))
        terminal.enter(call + "say: without asking")
        terminal.wait_until(lambda shown: "\n\nwithout asking\n" in shown and is_idle(shown))
        assert terminal.screen.text.count("wants to run:") == 3


def test_queue_steer_and_interrupt(server: Server) -> None:
    with server.terminal("chat") as terminal:
        ready(terminal)
        terminal.enter(LONG)
        terminal.wait_for("\n\nword0")
        terminal.enter("say: queued")
        terminal.wait_for("1. say: queued")
        terminal.type("say: steering" + CTRL_T)
        terminal.wait_for("2. say: steering (steers)")
        terminal.enter("/drop 2")
        terminal.wait_for("Removed from the queue.")
        terminal.type("say: at once" + CTRL_X)
        shown = terminal.wait_until(lambda shown: "\n\nqueued\n" in shown and is_idle(shown))
        order = [
            shown.index(text) for text in ("■ interrupted", "› say: at once", "› say: queued", "\nqueued\n")
        ]
        assert order == sorted(order)
        assert "1. say" not in shown.rpartition("■ interrupted")[2]
        terminal.type(UP)
        terminal.wait_for("› say: at once")


def test_ctrl_c_interrupts_and_again_leaves(server: Server) -> None:
    with server.terminal("chat") as terminal:
        before = terminal.mode
        ready(terminal)
        terminal.enter(LONG)
        terminal.wait_for("\n\nword0")
        assert terminal.mode != before
        terminal.type(CTRL_C)
        terminal.wait_until(lambda shown: "■ interrupted" in shown and is_idle(shown))
        terminal.enter(LONG)
        terminal.wait_until(lambda shown: shown.count("\n\nword0") == 2)
        terminal.type(CTRL_C)
        terminal.wait_for("Press Ctrl-C again to exit")
        terminal.type(CTRL_C)
        assert terminal.exit_code() == 130
        assert terminal.mode == before, "the terminal is as it was"
    assert history(server)[1]["interrupted"] is True


def test_leaving_stops_nothing_and_coming_back_shows_it(server: Server) -> None:
    with server.terminal("chat") as terminal:
        ready(terminal)
        terminal.enter("pace: 0.3\nsay slowly: one two three four\nsay:  and the end")
        terminal.wait_for("\n\none")
        terminal.enter("/quit")
        assert terminal.exit_code() == 0
    with server.terminal("chat", "--last") as terminal:
        terminal.wait_until(lambda shown: "one two three four and the end\n" in shown and is_idle(shown))
        chat = json.loads(server.done("ps", "--json"))[0]["id"]
        server.done("send", chat, "say: from elsewhere")
        terminal.wait_for("\n\nfrom elsewhere\n")
    with server.terminal("attach", chat[-8:]) as terminal:
        terminal.wait_for("\n\nfrom elsewhere\n")
        terminal.enter("say: here too")
        terminal.wait_for("\n\nhere too\n")


def test_the_commands_of_a_conversation(server: Server) -> None:
    with server.terminal("chat") as terminal:
        ready(terminal)
        terminal.enter("/help")
        terminal.wait_for("Ctrl-C interrupts the turn; press it again to exit.")
        terminal.enter("/retry")
        terminal.wait_for("There is no chat yet")
        terminal.enter("/model")
        terminal.wait_for("demo (default)")
        terminal.enter("/model nosuch")
        terminal.wait_for("There is no model nosuch. Available: demo.")
        terminal.enter("/moddel")
        terminal.wait_for("Did you mean /model?")
        terminal.enter("fail: auth")
        terminal.wait_for("✗ The demo model was told to fail: auth.")
        terminal.enter("/retry")
        terminal.wait_until(lambda shown: shown.count("✗ The demo model") == 2)
        terminal.enter("/title Another name")
        terminal.enter("think: deep thoughts\nsay: /usage")
        terminal.wait_until(lambda shown: "✻ thought" in shown and is_idle(shown))
        terminal.enter("/thoughts")
        terminal.wait_for("Reasoning is shown.")
        terminal.enter("think: deeper\nsay: done")
        terminal.wait_for("\n  deeper\n")
        terminal.enter("/usage")
        terminal.wait_for("tokens in")
        terminal.enter("/context")
        terminal.wait_for("history is summarised at")
        terminal.enter("/context renew")
        terminal.wait_for("not different from what the model was told")
        terminal.enter("/compact")
        terminal.wait_for("chat_summarized")
        terminal.enter("/id")
        chat = json.loads(server.done("ps", "--json"))[0]
        terminal.wait_for(chat["id"])
        assert chat["title"] == "Another name"


def test_no_text_orders_the_terminal(server: Server) -> None:
    """The emulator fails on every sequence that is not ours."""
    evil = "\x1b]0;evil\x07\x1b[2J\x9b2J \x1b[200~"
    with server.terminal("chat") as terminal:
        ready(terminal)
        server_side = server.begin("run", f"say: {evil} done\nfail: auth {evil}")
        server_side.communicate()
        terminal.enter(f"\x1b[200~say: pasted {evil.removesuffix('~')}\x1b[201~")
        terminal.wait_for("\n\npasted ␛]0;evil")
    with server.terminal("chat", "--last") as terminal:
        terminal.wait_for("\n\npasted ␛]0;evil")
    chats = json.loads(server.done("ps", "--json"))
    with server.terminal("attach", chats[1]["id"]) as terminal:
        terminal.wait_for("␛]0;evil")


def test_a_window_that_changes_and_ctrl_z(server: Server) -> None:
    with server.terminal("chat") as terminal:
        ready(terminal)
        terminal.enter("say: before")
        terminal.wait_until(lambda shown: "\n\nbefore\n" in shown and is_idle(shown))
        terminal.screen.columns = 60
        terminal.resize(60, 20)
        terminal.type("\x1a")  # nobody is there to wake it up, so it is not stopped, and goes on
        terminal.enter("say: " + "after " * 30)
        terminal.wait_until(lambda shown: shown.count("after after") > 5 and is_idle(shown))
        assert max(len(line) for line in terminal.screen.text.rpartition("before\n")[2].splitlines()) < 60


def test_a_server_that_dies_and_comes_back(tmp_path: Path) -> None:
    with served(tmp_path) as server, server.terminal("chat") as terminal:
        ready(terminal)
        terminal.enter("pace: 0.1\nsay slowly: " + " ".join(f"word{number}" for number in range(40)))
        terminal.wait_for("\n\nword0 word1")
        server.kill()
        terminal.wait_for("Connection lost. Reconnecting…")
        terminal.enter("say: typed while it was away")
        terminal.wait_for("sending: say: typed while it was away")
        server.start()
        shown = terminal.wait_until(lambda shown: "\n\ntyped while it was away\n" in shown and is_idle(shown))
        assert "Reconnected." in shown
        text = shown.rpartition("\n\nword0 word1")[2]
        assert " ".join(text.split())[:10] == "word2 word3"[:10]
        assert shown.count("word39") == 2, "once in what was asked, once in the answer"
        terminal.type(CTRL_D)
        assert terminal.exit_code() == 0


def test_a_turn_without_typing(server: Server) -> None:
    """`holdfast run` on a terminal: in colour while it goes, finished text when it is done."""
    script = 'pace: 0.02\nsay slowly: # Head\n \n Some **bold** words.\ncall: todo {"items": []}\nsay: Done.'
    with server.terminal("run", script) as terminal:
        assert terminal.exit_code() == 0
        shown = terminal.screen.text.strip()
        assert shown.startswith('Head\n\nSome bold words.\n\n● todo {"items":[]} · ')
        assert shown.endswith(" · succeeded\n\nDone.")
    with server.terminal("run", LONG) as terminal:
        terminal.wait_for("word1")
        terminal.type(CTRL_C)
        assert terminal.exit_code() == 130
    with server.terminal("logs", "last") as terminal:
        assert terminal.exit_code() == 0
        assert "■ interrupted" in terminal.screen.text


def test_a_server_that_was_never_there(tmp_path: Path) -> None:
    with Server(tmp_path).terminal("chat") as terminal:
        terminal.wait_for("cannot be reached")
        assert terminal.exit_code() == 3
