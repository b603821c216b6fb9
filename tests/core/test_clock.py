"""The clock: microseconds there and back, and a steady count."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.clock import EPOCH, SteadyClock, SystemClock, from_micros, to_micros
from tests.core.strategies import moments
from tests.store.world import SetClock


@given(moment=moments)
def test_a_moment_there_and_back_is_exact(moment: datetime) -> None:
    assert from_micros(to_micros(moment)) == moment
    assert from_micros(to_micros(moment)).tzinfo is UTC


@given(micros=st.integers(min_value=0, max_value=2**53))
def test_microseconds_there_and_back_are_exact(micros: int) -> None:
    assert to_micros(from_micros(micros)) == micros


def test_the_zone_does_not_matter() -> None:
    elsewhere = timezone(timedelta(hours=5, minutes=30))
    assert to_micros(datetime(1970, 1, 1, 5, 30, 0, 7, tzinfo=elsewhere)) == 7
    assert to_micros(EPOCH) == 0


def test_the_system_clock() -> None:
    clock = SystemClock()
    assert clock.now().tzinfo is UTC
    first = clock.elapsed()
    assert clock.elapsed() >= first


def test_a_steady_clock_is_not_moved_by_the_wall() -> None:
    wall = SetClock()
    steady = SteadyClock(wall)
    before = steady.now()
    wall.jump(3600)
    assert steady.now() == before
    wall.advance(2)
    assert steady.now() - before == timedelta(seconds=2)
