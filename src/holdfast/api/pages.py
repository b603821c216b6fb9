"""Pages of a list."""

from typing import Annotated, Generic, TypeVar

from litestar.params import QueryParameter

from holdfast.core.shapes import Record

T = TypeVar("T")

Limit = Annotated[int, QueryParameter(ge=1, le=200, description="How many at most.")]
Cursor = Annotated[str | None, QueryParameter(max_length=500, description="The last page's `next_cursor`.")]


class Page(Record, Generic[T], frozen=True, kw_only=True):
    items: tuple[T, ...]
    next_cursor: str | None = None
