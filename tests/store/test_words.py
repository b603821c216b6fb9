"""Words: what text is searched by."""

import time

from hypothesis import given
from hypothesis import strategies as some

from holdfast.core.ids import CallId, ChatId, FileId, MessageId
from holdfast.core.messages import Message
from holdfast.core.parts import File, Notice, Parts, Reasoning, Source, Text, ToolCall, ToolResult
from holdfast.store.search_words import (
    TEXT_LIMIT,
    WORD_LIMIT,
    Sought,
    folded,
    sought,
    words_of,
    words_of_message,
)
from tests.store.world import SetClock, fresh_id


def test_words_are_folded() -> None:
    assert list(folded("Hello, WORLD_wide-web! Ünïcödé ﬁne ①")) == [
        "hello",
        "world",
        "wide",
        "web",
        "unicode",
        "fine",
        "1",
    ]
    assert list(folded("東京タワー3階")) == ["東", "京", "タ", "ワ", "ー", "3", "階"]


@given(some.text())
def test_folding_is_stable(text: str) -> None:
    """What is found by itself: folded words fold to themselves, so what is typed meets what was stored."""
    words = list(folded(text))
    assert list(folded(" ".join(words))) == words
    for word in words:
        assert word
        assert len(word) <= WORD_LIMIT
        assert not set(word) & set(" \"'*:^(){}|&!<>\\\0")


@given(some.text())
def test_whatever_is_typed_is_words(text: str) -> None:
    wanted = sought(text)
    if wanted is None:
        assert list(folded(text[:1000])) == []
    else:
        assert len(wanted.words) + (wanted.prefix is not None) <= 16


def test_what_is_sought() -> None:
    assert sought("  ") is None
    assert sought("two words") == Sought(("two",), "words")
    assert sought("two words ") == Sought(("two", "words"), None)
    assert sought("same same") == Sought((), "same")
    # One letter begins too much.
    assert sought("x") == Sought(("x",), None)


def test_the_text_of_every_part() -> None:
    parts: Parts = (
        Text(text="a"),
        Reasoning(text="b"),
        ToolCall(call_id=CallId("c1"), name="c", input={"d": ["e", 5, None, True]}),
        ToolResult(call_id=CallId("c1"), name="x", output="f\ng", outcome="succeeded"),
        File(file_id=FileId(fresh_id()), media_type="text/plain", name="h.txt", size=1),
        Source(url="https://i.example/j", title=None),
        Notice(code="code", text="k"),
    )
    message = Message(
        id=MessageId(fresh_id()),
        chat_id=ChatId(fresh_id()),
        turn=1,
        role="assistant",
        parts=parts,
        revision=1,
        created_at=SetClock().now(),
    )
    found = " ".join(words_of_message(message))
    assert found == "a b c d e 5 true f g h txt https i example j k"


def test_only_so_much_is_searched() -> None:
    words = words_of(["aa " * (TEXT_LIMIT // 3), "beyond " * 10, "never"])
    assert words[:1] == ("aa",)
    assert "never" not in words


def test_a_text_of_marks_is_folded_in_time_with_its_length() -> None:
    """Marks in the wrong order: to sort them takes minutes."""
    for marks in ("\u0301\u0316" * (TEXT_LIMIT // 2), "\u0f73" * TEXT_LIMIT):
        before = time.thread_time()
        assert words_of([marks]) == ()
        assert time.thread_time() - before < 5
