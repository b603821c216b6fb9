"""Run as a program: begins to change the schema of a file, says when it is halfway, and goes no further. To
be killed. `first` is the migration that makes a database, `next` one that this version does not know."""

import sys
import time
from pathlib import Path

from holdfast.core.clock import SystemClock
from holdfast.store.migrations import Migration, known, migration
from holdfast.store.sqlite.connection import Connection
from holdfast.store.sqlite.open import migrate

# More than the cache below holds: part of it is on disk already when the process dies.
FILLED = (
    "CREATE TABLE half (n INTEGER, filling TEXT); INSERT INTO half "
    "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2000) "
    "SELECT n, printf('%01000d', n) FROM numbers;"
)
HALFWAY = "INSERT INTO half VALUES (halfway(), '');"


def cut_off(which: str) -> tuple[Migration, ...]:
    mine = known("sqlite")
    if which == "first":
        before, after = mine[0].sql.split("CREATE TABLE messages", 1)
        return (migration(1, mine[0].name, f"{before}{FILLED}{HALFWAY}CREATE TABLE messages{after}"),)
    return (*mine, migration(len(mine) + 1, "half", FILLED + HALFWAY))


def halfway() -> None:
    print("halfway", flush=True)
    time.sleep(3600)


def main(file: Path, which: str) -> None:
    file.touch()
    connection = Connection(file, SystemClock(), writable=True)
    connection.pragma("journal_mode", "wal")
    connection.pragma("cache_size", 10)
    connection.raw.create_scalar_function("halfway", halfway, 0)
    migrate(connection, file, cut_off(which), 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
