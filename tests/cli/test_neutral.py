"""No text from outside can control the terminal."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.cli.entries import CallEntry, Entry, FailureEntry, Said, TextEntry, Thought, UserEntry
from holdfast.cli.plain import plain
from holdfast.cli.safe_text import neutral, neutral_line
from holdfast.cli.tables import table
from holdfast.cli.terminal.pretty import Pretty
from holdfast.core.clock import SystemClock
from holdfast.core.failures import Failure
from holdfast.core.ids import CallId
from holdfast.core.parts import ToolResult
from tests.cli.emulator import Emulator

ATTACKS = [
    "\x1b]0;another title\x07",
    "\x1b[2J\x1b[H",
    "\x1b]52;c;aGk=\x1b\\",
    "\x9b31m",
    '\x1bP$q"p\x1b\\',
    "safe\rEVIL",
    "one\x08\x08\x08two",
    "user\u202etxt.exe",
    "\u2066hidden\u2069",
    "[bold]not markup[/bold] :smile:",
    "<script>x</script>",
    "\x1b]8;;http://evil.example\x07click\x1b]8;;\x07",
    "[click](http://evil.example)",
    "lone \ud800 surrogate",
]


def is_safe(text: str) -> bool:
    return not any(unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t" for char in text)


@given(st.text())
def test_nothing_that_controls_is_left(text: str) -> None:
    shown = neutral(text)
    assert is_safe(shown)
    assert neutral(shown) == shown


@given(st.text(st.characters(max_codepoint=0x24F, exclude_categories=["C"], exclude_characters="ſ")))
def test_other_text_stays_as_it_is(text: str) -> None:
    assert neutral(text) == text


def test_the_long_s_is_marked() -> None:
    """It reads as an f, and is an s to programs."""
    assert neutral("aſb") == "a⟨U+017F⟩b"


def test_controls_are_seen() -> None:
    assert neutral("a\x1b[31mb\x00\x7f\x9b") == "a␛[31mb\ufffd␡⟨U+009B⟩"
    assert neutral("one\r\ntwo\tthree") == "one\ntwo\tthree"


def test_a_line_is_one_line() -> None:
    assert neutral_line("a\n b\x1b c", 100) == "a b␛ c"
    assert neutral_line("abcdef", 4) == "abc…"


def entries(text: str) -> list[Entry]:
    result = ToolResult(call_id=CallId("c"), name=text, output=text, outcome="failed", diff=text)
    return [
        UserEntry(text, SystemClock().now()),
        TextEntry(text, goes_on=False),
        Thought(text, 1.0),
        CallEntry(result, {"path": text, text: text}),
        CallEntry(result, text),
        Said(text),
        FailureEntry(Failure(kind="server", message=text, detail=text)),
    ]


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_is_shown_of_a_chat_cannot_order_the_terminal(attack: str) -> None:
    """The emulator fails on whatever is not a colour or a line of ours."""
    for prefix in ("", "text ", "    ", "```\n", "- "):
        shown = entries(prefix + attack)
        pretty = Pretty()
        pretty.thoughts = True
        screen = Emulator(80, 1000)
        screen.feed(pretty.show(shown, 80).replace("\n", "\r\n"))
        assert "\x1b" not in screen.text
        assert all(is_safe(plain(entry)) for entry in shown)


def test_a_link_shows_where_it_leads() -> None:
    assert "http://evil.example" in Pretty().show(
        [TextEntry("[click](http://evil.example)", goes_on=False)], 80
    )


def test_tables_keep_to_the_window() -> None:
    lines = table(("name", "title"), [("a", "x" * 100), ("漢字", "y")], width=40)
    assert lines[0] == "NAME  TITLE"
    assert [len(line) for line in lines[1:2]] == [40]
    assert lines[1].endswith("…")
    assert lines[2] == "漢字  y"
