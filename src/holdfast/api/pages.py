"""Pages of a list."""

from collections.abc import Callable, Sequence
from typing import Annotated, Generic, TypeVar

from litestar.params import QueryParameter

from holdfast.api.problems import Problem, invalid
from holdfast.core.shapes import Record

T = TypeVar("T")

MOST_LISTED = 200
Limit = Annotated[int, QueryParameter(ge=1, le=MOST_LISTED, description="The most items to return.")]
Cursor = Annotated[str | None, QueryParameter(max_length=500, description="The last page's `next_cursor`.")]


class Page(Record, Generic[T], frozen=True, kw_only=True):
    items: tuple[T, ...]
    next_cursor: str | None = None


def page_of(items: Sequence[T], limit: int, cursor: str | None, key: Callable[[T], str]) -> Page[T]:
    """A page of a short list that is all in memory. The cursor is the key of the last item before."""
    keys = [key(item) for item in items]
    if cursor is not None and cursor not in keys:
        raise unknown_cursor()
    first = 0 if cursor is None else keys.index(cursor) + 1
    last = first + limit
    return Page(items=tuple(items[first:last]), next_cursor=keys[last - 1] if last < len(items) else None)


def unknown_cursor() -> Problem:
    return invalid("cursor", "not a cursor of this list")
