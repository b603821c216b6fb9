"""The vocabulary of rows: lists of columns, times as microseconds, JSON as text."""

from collections.abc import Sequence
from datetime import datetime

from holdfast.core.clock import from_micros, to_micros
from holdfast.core.shapes import encode_text
from holdfast.store.query import Value

Written = tuple[Value, ...]


def columns(names: str) -> tuple[str, ...]:
    return tuple(names.split())


def listed(names: Sequence[str], table: str | None = None) -> str:
    """The columns for a SELECT or an INSERT, each prefixed with its table if one is given."""
    return ", ".join(names if table is None else [f"{table}.{name}" for name in names])


def placeholders(count: int, first: int = 1) -> str:
    return ", ".join(f"${n}" for n in range(first, first + count))


def micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def moment(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)


def text(value: object) -> str | None:
    return None if value is None else encode_text(value)
