"""Text: what no engine or wire can carry is replaced once, everything else stays."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.messages import Message
from holdfast.core.parts import Text, ToolCall
from holdfast.core.text import REPLACEMENT, clean, clean_deep, one_line
from tests.core.strategies import of

# Code points of every kind, the ones that mean trouble often.
wild = st.text(st.characters() | st.characters(categories=["Cs"]) | st.just("\0"), max_size=12)


def in_utf16(text: str) -> str:
    """The text as UTF-16 reads it: surrogates that stand in pairs are one character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def is_trouble(character: str) -> bool:
    return character == "\0" or "\ud800" <= character <= "\udfff"


@pytest.mark.parametrize(
    "text, cleaned",
    [
        ("", ""),
        ("plain", "plain"),
        ("a\0b\0", "a\ufffdb\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),  # a pair that came as two
        ("\ud83d", "\ufffd"),
        ("-\ude00", "-\ufffd"),
        ("a\ud83d", "a\ufffd"),
        ("\ud83db", "\ufffdb"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        ("é\0\ud800", "é\ufffd\ufffd"),
        ("\ufeffbyte order mark", "\ufeffbyte order mark"),
        ("\ufffe\uffff", "\ufffe\uffff"),
        ("\U0010ffff", "\U0010ffff"),
    ],
)
def test_clean(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


@given(text=wild)
def test_clean_text_can_be_stored_and_sent(text: str) -> None:
    cleaned = clean(text)
    assert cleaned.encode().decode() == cleaned
    assert "\0" not in cleaned
    assert clean(cleaned) is cleaned


@given(text=wild)
def test_only_trouble_is_replaced(text: str) -> None:
    expected = [REPLACEMENT if is_trouble(character) else character for character in in_utf16(text)]
    assert clean(text) == "".join(expected)


@given(message=of(Message))
def test_what_needs_no_change_is_returned_as_it_is(message: Message) -> None:
    if b"\\u0000" not in msgspec.json.encode(message):
        assert clean_deep(message) is message


@given(texts=st.lists(wild, min_size=1, max_size=4))
def test_clean_deep_reaches_everything(texts: list[str]) -> None:
    first = texts[0]
    call = ToolCall(
        call_id=msgspec.convert("a", Any), name=first, input={"list": [texts, {first: (first, 1, None)}]}
    )
    cleaned = clean_deep((call, Text(text=first)))
    assert b"\\u0000" not in msgspec.json.encode(cleaned)
    assert cleaned[0].name == cleaned[1].text == clean(first)
    assert cleaned[0].input == {
        "list": [[clean(text) for text in texts], {clean(first): (clean(first), 1, None)}]
    }


@pytest.mark.parametrize("value", ["a\\u0000b", {"path": "C:\\u0000"}, ["\\\\u0000"]], ids=repr)
def test_an_escape_written_out_is_not_a_nul(value: object) -> None:
    assert clean_deep(value) == value


@pytest.mark.parametrize("value", [None, 1, 2.5, True], ids=repr)
def test_what_is_not_text_stays(value: object) -> None:
    assert clean_deep((value, "\0")) == (value, REPLACEMENT)


@pytest.mark.parametrize(
    "text, limit, line",
    [
        ("  one\n two\t three ", 80, "one two three"),
        ("x" * 80, 80, "x" * 80),
        ("x" * 81, 80, "x" * 79 + "…"),
        ("abc defgh", 5, "abc…"),
        ("a\0b", 80, "a\ufffdb"),
        ("", 80, ""),
        ("\n\u2028\r", 80, ""),
    ],
)
def test_one_line(text: str, limit: int, line: str) -> None:
    assert one_line(text, limit) == line


@given(text=wild, limit=st.integers(min_value=1, max_value=10))
def test_one_line_is_one_line_and_short(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1
