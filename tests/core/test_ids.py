"""Ids: UUIDv7 by shape, increasing within a chat whatever the clock does."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.clock import to_micros
from holdfast.core.ids import RandomIds, is_call_id, is_uuid7
from tests.core.strategies import moments

NOW = datetime(2026, 3, 4, 5, 6, 7, 891_234, tzinfo=UTC)
jumps = st.lists(st.integers(min_value=-(10**12), max_value=10**12), min_size=1, max_size=30)


@given(now=moments)
def test_an_id_is_a_uuid_of_version_7_with_its_moment(now: datetime) -> None:
    text = RandomIds().uuid7(now)
    parsed = UUID(text)
    assert str(parsed) == text
    assert parsed.version == 7
    assert parsed.variant == "specified in RFC 4122"
    assert parsed.int >> 80 == to_micros(now) // 1000
    assert is_uuid7(text)


def test_text_order_is_time_order() -> None:
    ids = RandomIds()
    moment, made = NOW, list[str]()
    for _ in range(200):
        made.append(ids.uuid7(moment))
        moment += timedelta(milliseconds=1)
    assert made == sorted(made)


@given(jumps=jumps)
def test_ids_rise_after_each_other_whatever_the_clock_does(jumps: list[int]) -> None:
    ids = RandomIds()
    moment, last = NOW, ids.uuid7(NOW)
    for jump in jumps:
        moment = max(moment + timedelta(microseconds=jump), datetime(1970, 1, 1, tzinfo=UTC))
        following = ids.uuid7(moment, last)
        assert following > last
        assert is_uuid7(following)
        last = following


def test_ids_rise_within_a_millisecond() -> None:
    ids = RandomIds()
    made = [ids.uuid7(NOW)]
    for _ in range(2_000):
        made.append(ids.uuid7(NOW, made[-1]))
    assert made == sorted(set(made))


def test_an_id_after_the_last_of_a_millisecond_takes_the_next() -> None:
    last = "019cb750-cc43-7fff-bfff-ffffffffffff"
    following = RandomIds().uuid7(datetime(2020, 1, 1, tzinfo=UTC), last)
    assert following > last
    assert is_uuid7(following)
    assert following.startswith("019cb750-cc44-7000-8000-0000")


def test_an_id_follows_the_clock_when_that_is_ahead() -> None:
    ids = RandomIds()
    old = ids.uuid7(NOW - timedelta(days=1))
    assert UUID(ids.uuid7(NOW, old)).int >> 80 == to_micros(NOW) // 1000


def test_ids_of_one_moment_differ() -> None:
    ids = RandomIds()
    assert len({ids.uuid7(NOW) for _ in range(1_000)}) == 1_000
    assert RandomIds().uuid7(NOW) != RandomIds().uuid7(NOW)


def test_tokens_are_long_and_differ() -> None:
    ids = RandomIds()
    tokens = {ids.token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(len(token) >= 24 for token in tokens)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "-1",
        "../",
        "%2e%2e%2f",
        str(2**63),
        "019cb750-cc43-4fff-bfff-ffffffffffff",  # another version
        "019cb750-cc43-7fff-7fff-ffffffffffff",  # another variant
        "019CB750-CC43-7FFF-BFFF-FFFFFFFFFFFF",
        "019cb750-cc43-7fff-bfff-ffffffffffff ",
        "019cb750-cc43-7fff-bfff-ffffffffffff\n",
        " 019cb750-cc43-7fff-bfff-ffffffffffff",
        "019cb750cc437fffbfffffffffffffff",
        "{019cb750-cc43-7fff-bfff-ffffffffffff}",
        "019cb750-cc43-7fff-bfff-fffffffffff",
        "\u0661\u0661\u0661cb750-cc43-7fff-bfff-ffffffffffff",  # digits of another script
    ],
)
def test_what_is_not_an_id(text: str) -> None:
    assert not is_uuid7(text)


@pytest.mark.parametrize("text", ["a", "A-b_9", "x" * 40, "-", "call_0"])
def test_what_is_a_call_id(text: str) -> None:
    assert is_call_id(text)


@pytest.mark.parametrize("text", ["", "x" * 41, "a b", "a\n", "é", "a.b", "a/b", "\u0661", "a\0"])
def test_what_is_not_a_call_id(text: str) -> None:
    assert not is_call_id(text)
