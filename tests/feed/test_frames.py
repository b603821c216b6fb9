"""Events as they are sent: the bytes of both protocols, parts that are joined, and what is too large."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.feed_events import PartData
from holdfast.core.ids import CallId
from holdfast.core.parts import LivePart, Reasoning, Source, Text, ToolCall, ToolCallDelta
from holdfast.core.shapes import Json
from holdfast.feed.frames import FRAME_BYTES, Batch, Frame, data_of, join_frames, join_parts, part_frame

texts = st.text(max_size=5)
parts = st.one_of(
    st.builds(Text, text=texts),
    st.builds(Reasoning, text=texts),
    st.builds(
        ToolCallDelta, call_id=st.sampled_from([CallId("a"), CallId("b")]), name=st.just("x"), text=texts
    ),
    st.builds(Source, url=st.just("https://example.org")),
)


def test_both_protocols_say_the_same() -> None:
    frame = Frame("part", "1.2", data_of({"text": "two\nlines"}))
    assert frame.sse == b'event: part\nid: 1.2\ndata: {"text":"two\\nlines"}\n\n'
    assert msgspec.json.decode(frame.text) == {"event": "part", "id": "1.2", "data": {"text": "two\nlines"}}


def test_an_event_without_an_id_leaves_the_client_the_one_it_has() -> None:
    frame = Frame("closing", "", b"{}")
    assert frame.sse == b"event: closing\ndata: {}\n\n"
    assert msgspec.json.decode(frame.text) == {"event": "closing", "id": None, "data": {}}


def test_a_frame_is_encoded_once() -> None:
    frame = Frame("part", "1", b"{}")
    batch = Batch([frame, frame])
    assert frame.sse is frame.sse
    assert frame.text is frame.text
    assert batch.sse is batch.sse
    assert batch.sse == frame.sse * 2


@given(given_parts=st.lists(parts, max_size=12), first=st.integers(1, 1000))
def test_joined_parts_say_the_same_with_fewer(given_parts: list[LivePart], first: int) -> None:
    joined = join_parts(first, given_parts)
    assert spoken([part for _, _, part in joined]) == spoken(given_parts)
    assert [begin for begin, _, _ in joined] == [first, *(end + 1 for _, end, _ in joined)][: len(joined)]
    assert sum(end - begin + 1 for begin, end, _ in joined) == len(given_parts)
    # As few as can be: once joined, nothing is left to join.
    assert len(join_parts(1, [part for _, _, part in joined])) == len(joined)


@given(given_parts=st.lists(parts, min_size=1, max_size=12))
def test_joined_frames_are_joined_parts(given_parts: list[LivePart]) -> None:
    frames = [
        part_frame(PartData(history_version=1, attempt=1, n=n, role="assistant", part=part), f"id-{n}")
        for n, part in enumerate(given_parts, 1)
    ]
    joined = join_frames([Frame("usage", "", b"{}"), *frames])
    assert joined[0].event == "usage"
    lives = [frame.live for frame in joined if frame.live is not None]
    assert [(live.begin, live.n, live.part) for live in lives] == join_parts(1, given_parts)
    assert [frame.id for frame in joined[1:]] == [f"id-{live.n}" for live in lives]


def test_what_is_joined_always_fits_into_a_frame() -> None:
    long = [Text(text="\x01" * 50_000) for _ in range(40)]
    said = [part.text for _, _, part in join_parts(1, long) if isinstance(part, Text)]
    assert "".join(said) == "".join(part.text for part in long)
    frames = [
        part_frame(PartData(history_version=1, attempt=1, n=n, role="assistant", part=part), str(n))
        for n, part in enumerate(long, 1)
    ]
    fewer = join_frames(frames)
    assert 1 < len(fewer) < len(frames)
    assert not any(b"truncated" in frame.data for frame in fewer)


def test_parts_of_different_episodes_are_not_joined() -> None:
    frames = [
        part_frame(PartData(history_version=1, attempt=n, n=n, role="assistant", part=Text(text="x")), "")
        for n in (1, 2)
    ]
    assert join_frames(frames) == frames


def spoken(given_parts: list[LivePart]) -> list[tuple[object, ...]]:
    """Every character with what it belongs to; other parts as they are."""
    said: list[tuple[object, ...]] = []
    for part in given_parts:
        match part:
            case Text(text=text) | Reasoning(text=text):
                said += [(type(part), char) for char in text]
            case ToolCallDelta(text=text, call_id=call_id):
                said += [(call_id, char) for char in text]
            case _:
                said.append((part,))
    return said


LONG = "x" * (3 * FRAME_BYTES)


@pytest.mark.parametrize(
    "payload",
    [
        {"message": {"id": "m", "parts": [{"type": "text", "text": LONG}]}},
        {"message": {"id": "m", "parts": [{"type": "text", "text": "ü" * 5000}] * 5000}},
        {
            "message": {
                "id": "m",
                "parts": [{"type": "tool_call", "input": {str(n): "y" for n in range(200_000)}}],
            }
        },
        {"message": {"id": "m", "parts": [{"type": "tool_call", "input": [[0] * 1000] * 1000}]}},
        {"items": [{"id": "q", "content": [{"type": "text", "text": LONG}]}] * 20},
        {"id": "m", "name": LONG},
    ],
)
def test_what_is_too_large_is_cut_and_marked(payload: dict[str, Json]) -> None:
    data = data_of(payload)
    assert len(Frame("message", "x" * 300, data).sse) <= FRAME_BYTES
    cut = msgspec.json.decode(data)
    assert cut["truncated"] is True
    assert list(cut)[: len(payload)] == list(payload)
    assert b'"id":"' in data


def test_no_queue_item_is_left_out() -> None:
    items = [{"id": str(n), "content": [{"type": "text", "text": LONG}]} for n in range(20)]
    cut = msgspec.json.decode(data_of({"items": items}))
    assert [item["id"] for item in cut["items"]] == [item["id"] for item in items]


def test_what_fits_is_left_as_it_is() -> None:
    call = ToolCall(call_id=CallId("c"), name="write", input={"content": "x" * 500_000})
    assert data_of(call) == msgspec.json.encode(call)
