"""Events cut out of any stream of bytes, however it is divided."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.providers.sse import EventReader

STREAM = (
    b": hi\n\ndata: one\n\nevent: x\ndata: two\ndata:three\n\r\n\n"
    b"id: 7\r\ndata:  four\r\n\r\n: bye\n\ndata: five\r\rdata: \n\n"
)
EVENTS = [b"one", b"two\nthree", b" four", b"five", b""]


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_any_division_gives_the_same_events(cuts: list[int]) -> None:
    reader = EventReader()
    places = sorted({0, *cuts, len(STREAM)})
    found = [event for start, end in pairwise(places) for event in reader.feed(STREAM[start:end])]
    assert found == EVENTS
    assert reader.end() == []


@pytest.mark.parametrize(
    "tail, events", [(b"data: x", [b"x"]), (b"data: x\n", [b"x"]), (b": x", []), (b"", [])]
)
def test_a_last_event_without_its_empty_line(tail: bytes, events: list[bytes]) -> None:
    reader = EventReader()
    assert reader.feed(tail) == []
    assert reader.end() == events


def test_lines_are_signs_of_life_and_bytes_are_not() -> None:
    reader = EventReader()
    reader.feed(b"dat")
    assert (reader.lines, reader.pending) == (0, 3)
    reader.feed(b"a: x\n: keep-alive\n")
    assert reader.lines == 2
