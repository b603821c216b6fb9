"""The database's clock, read without asking: what it said last, and the time since by this machine's steady
clock. So the moments of all replicas are of one clock, whatever their own say."""

from datetime import datetime

from holdfast.core.clock import Clock, from_micros

# What took longer on its way says little about the time.
PROMPT_SECONDS = 0.5


class AlignedClock:
    """This machine's clock until the database was heard for the first time. Any thread may use it."""

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
        """The database's clock said this in answer to a question of then."""
        answered_at = self._clock.elapsed()
        if self._heard is None or answered_at - asked_at <= PROMPT_SECONDS:
            self._heard = micros, (asked_at + answered_at) / 2
