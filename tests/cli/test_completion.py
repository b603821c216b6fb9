"""Completion with Tab, the search with Ctrl-R, and what is remembered between sessions."""

from pathlib import Path

import pytest

from holdfast.cli.conversation.candidates import beginning, local_paths
from holdfast.cli.conversation.commands import COMMANDS, help_text
from holdfast.cli.conversation.line_input import LineInput
from holdfast.cli.remembered import LONGEST_LINE, MOST_LINES, Remembered
from holdfast.cli.terminal.completion import Wanted, offered, turned, wanted
from holdfast.cli.terminal.editor import Editor
from holdfast.cli.terminal.history_search import Search
from holdfast.cli.terminal.keys import Key, Typed


def at_end(text: str) -> Editor:
    return Editor(text, len(text))


@pytest.mark.parametrize(
    "text, kind, word",
    [
        ("/", "command", ""),
        ("/mo", "command", "mo"),
        ("/model de", "model", "de"),
        ("/effort ", "effort", ""),
        ("/resume 12", "chat", "12"),
        ("/attach ./a", "path", "./a"),
        ("look at @src/ma", "file", "src/ma"),
        ("one\n@two", "file", "two"),
    ],
)
def test_what_is_completed(text: str, kind: str, word: str) -> None:
    found = wanted(at_end(text))
    assert found is not None
    assert (found.kind, found.word) == (kind, word)


@pytest.mark.parametrize("text", ["", "hello", "/etc/ho", "a /mo", "/title some words", "/model one two"])
def test_what_is_not_completed(text: str) -> None:
    assert wanted(at_end(text)) is None


def completed(text: str, *choices: str) -> str:
    editor = at_end(text)
    place = wanted(editor)
    assert place is not None
    return offered(editor, place, choices)[0].text


def test_one_choice_is_put_in_whole() -> None:
    assert completed("/mo", "model") == "/model "
    assert completed("see @ma", "src/main.py") == "see @src/main.py "
    assert completed("see @a", "a b.md") == 'see @"a b.md" '
    assert completed("/attach d", "docs/") == "/attach docs/", "a directory goes on"
    assert completed("/x") == "/x"


def test_several_give_what_they_have_in_common_and_can_be_turned_through() -> None:
    editor = at_end("/re")
    place = wanted(editor)
    assert place is not None
    editor, offers = offered(editor, place, ("resume", "retry"))
    assert offers is not None
    assert editor.text == "/re"
    editor, offers = turned(editor, offers, 1)
    assert editor.text == "/resume"
    editor, offers = turned(editor, offers, 1)
    assert editor.text == "/retry"
    editor, offers = turned(editor, offers, 1)
    assert editor.text == "/resume"
    editor, _ = turned(editor, offers, -1)
    assert editor.text == "/retry"
    assert completed("@s", "src/a.py", "src/b.py") == "@src/"


def test_text_behind_the_cursor_stays() -> None:
    editor = Editor("/mo demo", 3)
    editor, _ = offered(editor, Wanted("command", "mo", 0, 3), ["model"])
    assert editor.text == "/model demo"


@pytest.mark.parametrize("columns", [20, 39, 79, 120])
def test_help_is_not_broken_in_words(columns: int) -> None:
    lines = help_text(columns).split("\n")
    assert max(map(len, lines)) <= columns
    words = {word for command in COMMANDS for word in command.help.split()}
    assert words <= set(" ".join(lines).split())


def test_local_paths(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "data.txt").touch()
    (tmp_path / ".hidden").touch()
    assert local_paths(f"{tmp_path}/d") == [f"{tmp_path}/data.txt", f"{tmp_path}/docs/"]
    assert local_paths(f"{tmp_path}/.") == [f"{tmp_path}/.hidden"]
    assert local_paths(f"{tmp_path}/nothing/x") == []
    assert beginning("a", ["ab", "b"]) == ["ab"]


def test_the_search_goes_back_through_what_matches() -> None:
    search: Search | None = Search(("run the tests", "write docs", "Run it again", "run the tests"))
    assert search.match == ""
    for press, match in (
        (Typed("run"), "run the tests"),
        (Key("search"), "Run it again"),
        (Key("search"), "Run it again"),
        (Key("backspace"), "run the tests"),
        (Typed("n it"), "Run it again"),
        (Typed("x"), ""),
    ):
        assert search is not None
        search = search.press(press)
        assert search is not None
        assert search.match == match
    assert search is not None
    assert search.press(Key("enter")) is None


def typed(line: LineInput, *presses: str | Key) -> None:
    for press in presses:
        pressed = Typed(press) if isinstance(press, str) else press
        if pressed == Key("search") and line.search is None:
            line.begin_search()
        elif not line.pressed_in_search(pressed):
            line.press(pressed)


def test_the_search_ends_with_what_was_found(tmp_path: Path) -> None:
    remembered = Remembered(tmp_path / "history")
    remembered.add("first thing")
    line = LineInput(remembered)
    typed(line, "draft", Key("search"), "fir", Key("cancel"))
    assert line.text == "draft", "cancelled, it changes nothing"
    typed(line, Key("search"), "fir", Key("home"), "X")
    assert line.text == "Xfirst thing"


def test_what_was_typed_is_there_in_the_next_session(tmp_path: Path) -> None:
    path = tmp_path / "state" / "history"
    line = LineInput(Remembered(path))
    for text in ("one", "two\nlines\twith tabs", "  "):
        typed(line, text)
        line.take(remember=True)
    typed(line, "an answer")
    line.take(remember=False)
    again = LineInput(Remembered(path))
    assert again.editor.history == ("one", "two\nlines\twith tabs")
    typed(again, Key("up"))
    assert again.text == "two\nlines\twith tabs"
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


def test_a_history_is_bounded_and_survives_rubbish(tmp_path: Path) -> None:
    path = tmp_path / "history"
    remembered = Remembered(path)
    path.write_bytes(b"not json\n\xff\n[1]\n" + b'"x"\n' * (2 * MOST_LINES))
    remembered.add("the newest")
    remembered.add("y" * (LONGEST_LINE + 1))
    assert len(remembered.read()) == MOST_LINES
    assert remembered.read()[-1] == "the newest"
    assert len(path.read_bytes().splitlines()) == MOST_LINES


def test_a_history_that_cannot_be_kept_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "history").mkdir()
    line = LineInput(Remembered(tmp_path / "history"))
    assert line.problem is not None
    typed(line, "still works")
    assert line.take(remember=True) == "still works"


def test_what_could_not_be_sent_comes_back(tmp_path: Path) -> None:
    line = LineInput(Remembered(tmp_path / "history"))
    assert line.give_back("a message")
    assert line.text == "a message"
    assert not line.give_back("another")
    line.set_aside()
    assert line.text == ""
    assert line.unsent == "a message"
    line.take_up()
    assert line.text == "a message"
