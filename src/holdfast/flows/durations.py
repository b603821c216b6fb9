"""Durations and moments as flows write them: `90`, `30s`, `20m`, `1h30m`, `2d`; ISO 8601 with a time zone."""

import re
from datetime import UTC, datetime, timedelta

MAX_SECONDS = 366 * 24 * 3600.0

_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_DURATION = re.compile(
    r"(?:(?P<d>[0-9]{1,4})d)? ?(?:(?P<h>[0-9]{1,5})h)? ?(?:(?P<m>[0-9]{1,6})m)? ?"
    r"(?:(?P<s>[0-9]{1,8}(?:\.[0-9]{1,6})?)s)?"
)


def seconds_of(value: object) -> float:
    """Raises ValueError; its text is a sentence for people."""
    found: float | None = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        found = float(value)
    elif isinstance(value, str):
        match = _DURATION.fullmatch(value.strip())
        if match is not None and any(match.groupdict().values()):
            found = sum(float(many) * _SECONDS[unit] for unit, many in match.groupdict().items() if many)
        elif re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", value.strip()):
            found = float(value)
    if found is None:
        raise ValueError("a duration is written like 30s, 20m, 1h30m or 2d")
    if not 0 <= found <= MAX_SECONDS:
        raise ValueError("a duration is between nothing and 366 days")
    return found


def moment_of(value: object) -> datetime:
    """Raises ValueError; its text is a sentence for people."""
    try:
        found = datetime.fromisoformat(value.strip() if isinstance(value, str) else "")
    except ValueError:
        raise ValueError("a time is written like 2030-01-31T09:00:00Z") from None
    if found.tzinfo is None:
        raise ValueError("a time needs its zone, like 2030-01-31T09:00:00Z or ...+02:00")
    return found.astimezone(UTC)


def shown(seconds: float) -> str:
    """In the form that people write."""
    left, pieces = timedelta(seconds=seconds), list[str]()
    for unit, size in _SECONDS.items():
        if unit == "s":
            rest = left.total_seconds()
            if rest or not pieces:
                pieces.append(f"{rest:g}s")
        elif many := int(left.total_seconds() // size):
            pieces.append(f"{many}{unit}")
            left -= timedelta(seconds=many * size)
    return "".join(pieces)
