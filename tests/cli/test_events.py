"""The reader of server-sent events: the same events however the bytes are cut."""

from itertools import pairwise

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from holdfast.cli.events import FeedEventReader, Received
from holdfast.core.failures import Failure, Retry
from holdfast.core.feed_events import CaughtUp, PartData
from holdfast.core.parts import Text
from tests.cli.making import RETRY

STREAM = (
    b"retry: 1000\n\n"
    b": still here\n\n"
    b"event: caught_up\nid: 1.2\ndata: {}\n\n"
    b'event:status\r\nid:1.3\r\ndata:{"status":\r\ndata:"idle"}\r\n\r\n'
    b"id: 1.4\n\n"
    b"data\n\n"
    b"data: plain\n\n"
    b"event: cut off\ndata: {}"
)
WANTED = [
    Received("caught_up", "1.2", b"{}"),
    Received("status", "1.3", b'{"status":\n"idle"}'),
    Received("message", "1.4", b""),
    Received("message", "1.4", b"plain"),
]


@given(st.lists(st.integers(0, len(STREAM))))
def test_the_same_events_however_the_bytes_are_cut(cuts: list[int]) -> None:
    reader = FeedEventReader()
    places = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[a:b] for a, b in pairwise(places)]
    assert [event for piece in pieces for event in reader.feed(piece)] == WANTED


def test_what_is_not_understood_is_skipped() -> None:
    assert Received("of_a_newer_server", "1", b"{}").decoded() is None
    assert Received("status", "1", b'{"status": 5}').decoded() is None
    assert Received("message", "1", b"not json").decoded() is None
    part = b'{"history_version":1,"attempt":1,"n":1,"role":"assistant","part":{"type":"smell"}}'
    assert Received("part", "1", part).decoded() is None


def test_what_is_understood_has_its_type() -> None:
    assert Received("caught_up", "1", b'{"more":1}').decoded() == CaughtUp()
    part = b'{"history_version":1,"attempt":2,"n":3,"role":"assistant","part":{"type":"text","text":"a"}}'
    decoded = Received("part", "1", part).decoded()
    assert isinstance(decoded, PartData)
    assert (decoded.episode.attempt, decoded.part) == (2, Text(text="a"))
    retry = Received("retry", "1", msgspec.json.encode(RETRY)).decoded()
    assert isinstance(retry, Retry)
    failed = Received("failed", "1", msgspec.json.encode(RETRY)).decoded()
    assert type(failed) is Failure


def test_a_line_is_as_the_websocket_has_it() -> None:
    line = Received("status", "1.2", b'{"status":"idle"}').line()
    assert line == '{"event":"status","id":"1.2","data":{"status":"idle"}}'
