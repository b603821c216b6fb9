"""Reads as data: a Query says what to fetch and how to interpret the rows, and does not know which engine
runs it. Writes of everything but execution state are Queries too, given to `Store.write`.

The SQL is the same text for both engines: `$1` placeholders, `now_micros()` for the database's clock, flags
used directly (`NOT removed`), sums cast to bigint.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, overload

from holdfast.core.events import BusEvent

Value = str | int | float | bytes | bool | None
# An SQLite tuple or a PostgreSQL record: only ever indexed, sliced and unpacked.
Row = Sequence[Any]
Rows = Sequence[Row]
Statement = tuple[str, tuple[Value, ...]]

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")


def _no_hints(_: Sequence[Rows]) -> Iterable[BusEvent]:
    return ()


@dataclass(frozen=True, slots=True)
class Query(Generic[T]):
    """Statements that see the same snapshot; `read` gets the rows of each, in order. The rows of a writing
    statement are those of its RETURNING."""

    statements: tuple[Statement, ...]
    read: Callable[[Sequence[Rows]], T]
    # The same as one PostgreSQL statement that needs no transaction around it, for frequent writes: every
    # statement is a round trip. `read` gets only the rows of this one.
    at_once: Statement | None = None
    # Whether it asks which workers are alive. On SQLite the rows are only correct once dead workers were
    # removed.
    judges_leases: bool = False
    # Only for writes: what others must be told, from the same rows. The store publishes it after the commit,
    # so no caller can forget it.
    hints: Callable[[Sequence[Rows]], Iterable[BusEvent]] = _no_hints

    def answered(self, results: Sequence[Rows]) -> tuple[T, tuple[BusEvent, ...]]:
        """The result, and what to publish."""
        return self.read(results), tuple(self.hints(results))


def query(sql: str, *args: Value, read: Callable[[Rows], T]) -> Query[T]:
    return Query(((sql, args),), lambda results: read(results[0]))


def announcing(write: Query[T], *events: BusEvent) -> Query[T]:
    """A write with hints that are the same whatever it returns."""

    def hints(results: Sequence[Rows]) -> Iterable[BusEvent]:
        return (*write.hints(results), *events)

    return replace(write, hints=hints)


@overload
def joined(a: Query[A], /, *, read: Callable[[A], T]) -> Query[T]: ...
@overload
def joined(a: Query[A], b: Query[B], /, *, read: Callable[[A, B], T]) -> Query[T]: ...
@overload
def joined(*queries: Query[Any], read: Callable[..., T]) -> Query[T]: ...
def joined(*queries: Query[Any], read: Callable[..., T]) -> Query[T]:
    """One query made of several: `read` is called with the result of each."""

    def shares(results: Sequence[Rows]) -> Iterable[tuple[Query[Any], Sequence[Rows]]]:
        at = 0
        for part in queries:
            yield part, results[at : at + len(part.statements)]
            at += len(part.statements)

    def read_all(results: Sequence[Rows]) -> T:
        return read(*[part.read(share) for part, share in shares(results)])

    def all_hints(results: Sequence[Rows]) -> Iterable[BusEvent]:
        return [hint for part, share in shares(results) for hint in part.hints(share)]

    return Query(
        tuple(statement for part in queries for statement in part.statements),
        read_all,
        judges_leases=any(part.judges_leases for part in queries),
        hints=all_hints if any(part.hints is not _no_hints for part in queries) else _no_hints,
    )


def constant(value: T) -> Query[T]:
    """A query with a fixed result that asks nothing."""
    return Query((), lambda _: value)


def first_column(rows: Rows) -> list[Any]:
    return [row[0] for row in rows]


def any_row(rows: Rows) -> bool:
    return bool(rows)


def each(of: Callable[[Row], T]) -> Callable[[Rows], tuple[T, ...]]:
    return lambda rows: tuple([of(row) for row in rows])


def at_most_one(of: Callable[[Row], T]) -> Callable[[Rows], T | None]:
    return lambda rows: of(rows[0]) if rows else None
