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


_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def to_micros(moment: datetime) -> int:
    return (moment - EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)
