"""Typing: keys from bytes, and a line from keys."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.cli.terminal.editor import Editor
from holdfast.cli.terminal.keys import Key, KeyReader, Press, Typed

PRESSES: list[tuple[bytes, Press]] = [
    (b"abc", Typed("abc")),
    ("größe 漢".encode(), Typed("größe 漢")),
    (b"\r", Key("enter")),
    (b"\n", Key("enter")),
    (b"\x1b[13;2u", Key("newline")),
    (b"\x1b\r", Key("newline")),
    (b"\x7f", Key("backspace")),
    (b"\x03", Key("interrupt")),
    (b"\x04", Key("leave")),
    (b"\x14", Key("steer")),
    (b"\x18", Key("now")),
    (b"\t", Key("tab")),
    (b"\x1b[Z", Key("back_tab")),
    (b"\x12", Key("search")),
    (b"\x1b[200~a\tb\r\n\tc  \x1b[201~", Typed("a\tb\n\tc  ")),
    (b"\x1b[A", Key("up")),
    (b"\x1bOB", Key("down")),
    (b"\x1b[1;5C", Key("word_right")),
    (b"\x1b[3~", Key("delete")),
    (b"\x1b[200~two\r\nlines\x1b[A\x1b[201~", Typed("two\nlines\x1b[A")),
    (b"\x1b[99;99R", Key("other")),
    (b"\x1bz", Key("other")),
    (b"\x1d", Key("other")),
]


@pytest.mark.parametrize("data, press", PRESSES)
def test_a_key_is_known(data: bytes, press: Press) -> None:
    assert KeyReader().feed(data) == [press]


@given(st.lists(st.sampled_from(PRESSES), max_size=8), st.lists(st.integers(0, 200)))
def test_keys_are_the_same_however_the_bytes_are_cut(
    typed: list[tuple[bytes, Press]], cuts: list[int]
) -> None:
    data = b"".join(one for one, _ in typed)
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    reader = KeyReader()
    found = [press for a, b in pairwise(places) for press in reader.feed(data[a:b])]
    assert joined(found) == joined([press for _, press in typed])


def joined(presses: list[Press]) -> list[Press]:
    """Text typed in one go or in several is the same."""
    found: list[Press] = []
    for press in presses:
        if isinstance(press, Typed) and found and isinstance(before := found[-1], Typed):
            found[-1] = Typed(before.text + press.text)
        else:
            found.append(press)
    return found


@given(st.binary())
def test_no_bytes_break_the_reader(data: bytes) -> None:
    reader = KeyReader()
    reader.feed(data)
    assert reader.feed(b"\x1b[201~\x1b[201~x\r")[-1] == Key("enter")


def pressed(editor: Editor, *presses: str | Key) -> Editor:
    for press in presses:
        editor = editor.press(Typed(press) if isinstance(press, str) else press)
    return editor


def key(name: str) -> Key:
    return Key(name)  # pyright: ignore[reportArgumentType] - a wrong one is ignored, and the test fails


@pytest.mark.parametrize(
    "keys, shown",
    [
        ((), "one two/four|"),
        (("home", "X"), "one two/X|four"),
        (("cut_word",), "one two/|"),
        (("cut_before",), "one two/|"),
        (("up", "cut_after"), "one |/four"),
        (("up", "right", "cut_word"), "one |wo/four"),
        (("left", "left", "cut_before"), "one two/|ur"),
        (("word_left", "word_left"), "one |two/four"),
        (("up", "home", "word_right", "X"), "oneX| two/four"),
        (("up", "end", "down"), "one two/four|"),
        (("up", "up"), "one |two/four"),
        (("home", "left", "delete"), "one two|four"),
        (("right", "newline"), "one two/four/|"),
        (("left", "backspace"), "one two/fo|r"),
    ],
)
def test_keys_change_the_line(keys: tuple[str, ...], shown: str) -> None:
    """From "one two" and "four" below it; / is the end of a line, | the cursor."""
    begun = pressed(Editor(), "one two", key("newline"), "four")
    changed = pressed(begun, *(name if len(name) == 1 else key(name) for name in keys))
    text = changed.text[: changed.cursor] + "|" + changed.text[changed.cursor :]
    assert text.replace("\n", "/") == shown


def test_backspace_takes_what_is_before_the_cursor() -> None:
    assert pressed(Editor(), "abc", key("left"), key("backspace")) == Editor("ac", 1)
    assert pressed(Editor(), key("backspace")) == Editor()


def test_what_was_sent_comes_back() -> None:
    editor = pressed(pressed(Editor(), "first").sent(), "second").sent()
    assert editor.text == ""
    editor = pressed(editor, "draft", key("up"))
    assert editor.text == "second"
    editor = pressed(editor, key("up"), key("up"))
    assert editor.text == "first"
    editor = pressed(editor, key("down"), key("down"))
    assert editor.text == "draft"


def test_the_same_twice_and_nothing_are_remembered_once() -> None:
    editor = Editor()
    for text in ("same", "same", "  "):
        editor = pressed(editor, text).sent()
    assert editor.history == ("same",)


@given(st.lists(st.one_of(st.text(max_size=5), st.sampled_from([press for _, press in PRESSES]))))
def test_the_cursor_stays_in_the_text(presses: list[str | Press]) -> None:
    editor = Editor(history=("one\ntwo", "three"))
    for press in presses:
        editor = editor.press(Typed(press) if isinstance(press, str) else press)
        assert 0 <= editor.cursor <= len(editor.text)
