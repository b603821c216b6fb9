"""The clock, passed in wherever time matters. `now` is the wall (UTC, whole microseconds, as the database
keeps it); `elapsed` counts suspend, so that a laptop that slept does not believe it still owns anything."""

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
    """Times one thing that begins now. When it ends is counted from when it began, whatever the wall does
    meanwhile; nothing takes no time at all."""

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
    """What the wall said when this was made, and the time since: for deadlines that one process keeps, which
    a jump of the wall must neither reach nor put off."""

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
