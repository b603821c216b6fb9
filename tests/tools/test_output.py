"""Output that fits into a prompt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.shapes import Json
from holdfast.tools.output import OUTPUT_LIMIT, bound, shown


@pytest.mark.parametrize("text", ["", "short", "x" * OUTPUT_LIMIT])
def test_what_fits_stays_as_it_is(text: str) -> None:
    assert bound(text) == (text, False)
    assert shown(text) == (text, None)


@given(st.text(min_size=21, max_size=400), st.integers(2, 20))
def test_head_and_tail_are_kept_and_the_middle_is_named(text: str, limit: int) -> None:
    kept, cut = bound(text, limit)
    assert cut
    head, _, rest = kept.partition(f"\n[... {len(text) - limit} characters left out ...]\n")
    assert text.startswith(head)
    assert text.endswith(rest)
    assert len(head) + len(rest) == limit
    assert head
    assert rest


def test_an_object_that_is_too_long_is_cut_as_text() -> None:
    output: Json = {"lines": ["x" * 100] * 1000}
    kept, full = shown(output)
    assert isinstance(kept, str)
    assert kept.startswith('{"lines":["xxx')
    assert full is not None
    assert len(full) > 100_000


def test_a_small_object_stays_one() -> None:
    assert shown({"a": [1, None]}) == ({"a": [1, None]}, None)


def test_what_no_store_can_carry_is_replaced() -> None:
    assert shown("a\0b\ud800") == ("a\ufffdb\ufffd", None)


@pytest.mark.parametrize("output", [{1, 2}, b"bytes", float("nan"), 10**30, {1: "a"}, [object()]])
def test_what_is_not_json_is_refused(output: object) -> None:
    with pytest.raises(ValueError, match=r"JSON|64 bits|text"):
        shown(output)


def test_what_is_nested_without_end_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="nested"):
        shown(endless)
