"""Connections to the file: how they are set up, how shared SQL is translated, what SQLite's errors mean."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import apsw

from holdfast.core.clock import Clock, to_micros
from holdfast.core.errors import Bug, DatabaseDamaged, HoldfastError, StoreFull, TryAgain
from holdfast.core.events import BusEvent
from holdfast.core.shortage import shortage_of
from holdfast.store.query import Query, Row, Rows, T, Value

# How long a statement itself waits for another program's lock. The writer waits longer, in such pieces;
# readers only conflict with a program that rebuilds the file.
WRITER_BUSY_MILLISECONDS = 1_000
READER_BUSY_MILLISECONDS = 10_000
# "HFST": marks the file as ours.
APPLICATION_ID = 0x48465354

_PLACEHOLDER = re.compile(r"\$(\d+)")
_JSON_ROWS = re.compile(r"jsonb_array_elements\(CAST\((\$\d+) AS jsonb\)\)")
_UUID = re.compile(r"CAST\(([^()]+) AS uuid\)")
_JSON_INT = re.compile(r"json_int\(([a-z.]+), '([a-z_]+)'\)")


@cache
def spoken(sql: str) -> str:
    """Shared SQL numbers its placeholders `$1`; in SQLite that is a name, and `?1` is the number. `json_int`
    is a function that we made in PostgreSQL; here SQLite's own expression is faster than a callback. Ids are
    text here, and the functions for rows of a list and for the JSON of a text have other names."""
    sql = sql.replace("to_json(", "json_quote(")
    sql = _UUID.sub(r"\1", _JSON_ROWS.sub(r"json_each(\1)", sql))
    return _JSON_INT.sub(r"coalesce(json_extract(\1, '$.\2'), 0)", _PLACEHOLDER.sub(r"?\1", sql))


class Connection:
    """A connection and the one cursor used by all its statements, each fetched to its end."""

    def __init__(self, file: Path, clock: Clock, *, writable: bool) -> None:
        flags = apsw.SQLITE_OPEN_READWRITE if writable else apsw.SQLITE_OPEN_READONLY
        # Any: apsw's own types refer to some that Python 3.11 does not have.
        self.raw: Any = apsw.Connection(str(file), flags=flags, statementcachesize=256)
        self._cursor: Any = self.raw.cursor()
        self.raw.set_busy_timeout(WRITER_BUSY_MILLISECONDS if writable else READER_BUSY_MILLISECONDS)
        self.raw.create_scalar_function("now_micros", lambda: to_micros(clock.now()), 0)
        # FTS5 and indexes must never call a function named by a damaged file.
        self.raw.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        # One plan per statement: otherwise many are prepared again for each bound value, which is ten times
        # slower.
        self.raw.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        self.raw.pragma("foreign_keys", True)
        self.raw.pragma("temp_store", 2)
        if writable:
            self.raw.pragma("cache_size", -32_000)
        else:
            self.raw.pragma("query_only", True)
            self.raw.pragma("cache_size", -8_000)

    def rows(self, sql: str, args: Sequence[Value] = ()) -> list[Row]:
        return self._cursor.execute(sql, args).fetchall()

    def execute(self, sql: str, args: Sequence[Value] = ()) -> None:
        self._cursor.execute(sql, args)

    def run(self, sql: str, args: Sequence[Value] = ()) -> int:
        """How many rows were changed."""
        self._cursor.execute(sql, args)
        return self.raw.changes()

    def each(self, sql: str, args: Sequence[Sequence[Value]]) -> None:
        self._cursor.executemany(sql, args)

    def ask(self, query: Query[T]) -> T:
        """Several statements see one snapshot only inside a transaction, which the caller must open."""
        return query.read(self._results(query))

    def ask_and_hint(self, query: Query[T]) -> tuple[T, tuple[BusEvent, ...]]:
        """The answer, and the hints to publish once it is committed."""
        return query.answered(self._results(query))

    def _results(self, query: Query[Any]) -> list[Rows]:
        return [self.rows(spoken(sql), args) for sql, args in query.statements]

    def pragma(self, name: str, *value: Any) -> Any:
        return self.raw.pragma(name, *value)

    def close(self) -> None:
        self._cursor.close()
        self.raw.close()


def is_full(error: BaseException) -> bool:
    """Whether the disk was full. If the WAL index needs the space, SQLite reports another error."""
    code = getattr(error, "extendedresult", None)
    return isinstance(error, apsw.FullError) or code == apsw.SQLITE_IOERR_SHMSIZE


def meaning(error: BaseException, file: Path) -> BaseException:
    """Our error for an SQLite error. Anything else is returned as it is."""
    match error:
        case HoldfastError():
            return error
        case _ if is_full(error):
            return StoreFull(f"The disk that holds {file} is full. Nothing was changed; free some space.")
        case apsw.NoMemError():
            return shortage_of(error)
        case apsw.BusyError() | apsw.LockedError():
            return TryAgain(f"Another program has locked {file}. Nothing was changed.")
        case apsw.ReadOnlyError() | apsw.IOError() | apsw.CantOpenError() | apsw.PermissionsError():
            return TryAgain(
                f"{file} cannot be read or written right now ({error}). Nothing was changed.", 5.0
            )
        case apsw.CorruptError() | apsw.NotADBError():
            return damaged(file)
        case apsw.Error():
            return Bug(f"SQLite refused a statement: {error}")
        case _:
            return error


def damaged(file: Path, why: str = "is corrupted") -> DatabaseDamaged:
    return DatabaseDamaged(
        f"{file} {why}. Move it aside and restore a backup; `holdfast db check` says what can be read."
    )
