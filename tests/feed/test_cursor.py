"""Event ids: exact, and worthless if they are altered or of another chat."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.events import Episode
from holdfast.core.ids import CallId, ChatId, MessageId, UserId
from holdfast.feed.cursor import START, Position, Stem, decode, decode_list, encode, encode_list
from tests.bus.events import CHAT, OTHER, OWNER, STRANGER

numbers = st.integers(0, 10**15)
ids = st.uuids().map(lambda value: MessageId(str(value)))
call_ids = st.text(alphabet=string.ascii_letters + string.digits + "_-", min_size=1, max_size=40).map(CallId)
episodes = st.builds(Episode, history_version=numbers, attempt=st.integers(1, 10**6))
positions = st.builds(
    Position,
    version=numbers,
    message_id=st.none() | ids,
    spans=numbers,
    span=st.just("") | call_ids.map(lambda call_id: f"3call-{call_id}"),
    episode=st.none() | episodes,
    n=numbers,
)


@given(position=positions)
def test_a_cursor_says_exactly_where_a_client_is(position: Position) -> None:
    text = encode(CHAT, position)
    assert decode(CHAT, text) == position
    assert len(text) <= 300
    assert text.isascii()
    assert text.isprintable()


@given(position=positions, n=numbers)
def test_the_ids_of_parts_differ_in_their_number_alone(position: Position, n: int) -> None:
    found = decode(CHAT, Stem(CHAT, position).id(n))
    assert found is not None
    assert found.n == n


@given(position=positions)
def test_a_cursor_of_another_chat_means_nothing(position: Position) -> None:
    assert decode(OTHER, encode(CHAT, position)) is None


@given(position=positions, data=st.data())
def test_a_cursor_that_was_altered_means_nothing(position: Position, data: st.DataObject) -> None:
    text = encode(CHAT, position)
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters(codec="utf-8").filter(lambda char: char != text[place]))
    assert decode(CHAT, text[:place] + other + text[place + 1 :]) is None
    assert decode(CHAT, text[:place]) is None
    assert decode(CHAT, text + other) is None


@given(text=st.text())
def test_garbage_means_nothing(text: str) -> None:
    assert decode(CHAT, text) is None
    assert decode_list(OWNER, text) is None


@pytest.mark.parametrize("text", ["", "0", "1" * 10_000, "1.1..1..0.0.0.00000000", "١.١..١..٠.٠.٠.00000000"])
def test_more_garbage_means_nothing(text: str) -> None:
    assert decode(CHAT, text) is None


def test_the_beginning_has_a_cursor_too() -> None:
    assert decode(CHAT, encode(CHAT, START)) == START


@given(active_at=numbers, chat_id=st.uuids().map(str))
def test_a_lists_cursor_is_its_owners(active_at: int, chat_id: str) -> None:
    text = encode_list(OWNER, active_at, chat_id)
    assert decode_list(OWNER, text) == (active_at, chat_id)
    assert decode_list(STRANGER, text) is None
    assert decode_list(UserId(CHAT), text) is None
    assert decode(ChatId(OWNER), text) is None
