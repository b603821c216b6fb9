"""The W3C header `traceparent`, and ids that follow from what they are of."""

import pytest

from holdfast.core.ids import ChatId
from holdfast.core.trace_parents import parsed, span_id_of, trace_id_of, turn_span

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.mark.parametrize(
    "header, sampled",
    [
        (f"00-{TRACE}-{SPAN}-01", True),
        (f"00-{TRACE}-{SPAN}-00", False),
        (f" 00-{TRACE}-{SPAN}-03\t", True),
        # A later version may say more.
        (f"cc-{TRACE}-{SPAN}-01-what-the-future-will-be-like", True),
    ],
)
def test_a_span_of_another_program(header: str, sampled: bool) -> None:
    found = parsed(header)
    assert found is not None
    assert (found.trace_id, found.span_id, found.sampled) == (TRACE, SPAN, sampled)
    assert parsed(found.text) == found


@pytest.mark.parametrize(
    "header",
    [
        "",
        "00",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE}-{SPAN}-01\n",
        f"00-{TRACE}-{SPAN}-01, 00-{TRACE}-{SPAN}-01",
    ],
)
def test_what_is_none_is_ignored(header: str) -> None:
    assert parsed(header) is None


def test_ids_follow_from_what_they_are_of() -> None:
    turn = turn_span(ChatId("a"), 1)
    assert trace_id_of(*turn) == trace_id_of(*turn)
    assert len(trace_id_of(*turn)) == 32
    assert len({span_id_of(*turn_span(ChatId(chat), number)) for chat in "ab" for number in range(9)}) == 18
