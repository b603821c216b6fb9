"""The clock, passed in wherever time matters. `now` is the wall clock (UTC, whole microseconds, like the
database). `elapsed` also counts time spent suspended, so that a laptop that slept does not believe it still
owns anything."""

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Clock(Protocol):
    def now(self) -> datetime: ...

    def elapsed(self) -> float: ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def elapsed(self) -> float:
        return time.clock_gettime(_STEADY)


class Stopwatch:
    """Measures one thing that starts now. The end is the start plus the elapsed time, whatever the wall clock
    does meanwhile; the result is never negative."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = clock.elapsed()
        self.started_at = clock.now()

    @property
    def seconds(self) -> float:
        return max(self._clock.elapsed() - self._began, 0.000_001)

    def now(self) -> datetime:
        return self.started_at + timedelta(seconds=self.seconds)


class SteadyClock:
    """The wall clock's time when this was made plus the time elapsed since. For deadlines kept by one
    process: a jump of the wall clock must neither trigger nor postpone them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = clock.elapsed()
        self._started_at = clock.now()

    def now(self) -> datetime:
        return self._started_at + timedelta(seconds=self.elapsed() - self._began)

    def elapsed(self) -> float:
        return self._clock.elapsed()


_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def to_micros(moment: datetime) -> int:
    return (moment - EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)
