"""How long to wait before the next attempt, as data: the worker waits, nothing here does."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from holdfast.core.shapes import Record


class RetryRule(Record, frozen=True, kw_only=True):
    first_seconds: float = 1.0
    factor: float = 2.0
    most_seconds: float = 60.0
    attempts: int = 25

    def delay_seconds(self, attempt: int, retry_after_seconds: float | None = None) -> float | None:
        """The wait after failed attempt number `attempt` (from 1); None when that was the last one."""
        if attempt >= self.attempts:
            return None
        # Beyond the cap the power would only grow towards an overflow.
        doublings = min(attempt - 1, 64)
        delay = min(self.first_seconds * self.factor**doublings, self.most_seconds)
        return min(max(delay, retry_after_seconds or 0.0), self.most_seconds)


RETRY_RULE = RetryRule()


def retry_after_seconds(
    headers: Mapping[str, str], now: datetime, most_seconds: float = RETRY_RULE.most_seconds
) -> float | None:
    """What the provider asks for, never more than the cap; None when it says nothing that makes sense."""
    # Milliseconds are an OpenAI header that is more exact than the standard one beside it.
    if (millis := _number(headers.get("retry-after-ms"))) is not None:
        return min(millis / 1000, most_seconds)
    written = headers.get("retry-after")
    if (seconds := _number(written)) is not None:
        return min(seconds, most_seconds)
    if written is None:
        return None
    try:
        moment = parsedate_to_datetime(written)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max((moment - now).total_seconds(), 0.0), most_seconds)


def _number(written: str | None) -> float | None:
    if written is None or len(written) > 400:
        return None
    try:
        number = float(written)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
