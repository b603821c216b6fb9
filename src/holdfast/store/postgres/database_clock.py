"""The database's clock, read without a query: what it said last, plus the time elapsed since by this
machine's steady clock. So all replicas take their times from one clock, whatever their own say."""

from datetime import datetime

from holdfast.core.clock import Clock, from_micros

# An answer that took longer says little about the time.
PROMPT_SECONDS = 0.5


class AlignedClock:
    """This machine's clock until the database has answered for the first time. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # What the database said, and when that was by the steady clock.
        self._heard: tuple[int, float] | None = None

    def now(self) -> datetime:
        if self._heard is None:
            return self._clock.now()
        said, at = self._heard
        return from_micros(said + round((self._clock.elapsed() - at) * 1_000_000))

    def elapsed(self) -> float:
        return self._clock.elapsed()

    def hear(self, micros: int, asked_at: float) -> None:
        """The database's clock said this in answer to a query sent at that time."""
        answered_at = self._clock.elapsed()
        if self._heard is None or answered_at - asked_at <= PROMPT_SECONDS:
            self._heard = micros, (asked_at + answered_at) / 2
