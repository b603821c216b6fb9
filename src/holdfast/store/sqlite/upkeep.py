"""Maintenance of the file: deleting what has expired, backups, checks."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw

from holdfast.core.errors import InvalidInput
from holdfast.store import idempotency_keys, tokens
from holdfast.store.sqlite.connection import Connection, meaning, spoken
from holdfast.store.sqlite.worker_rows import DISCARD

# A worker that has been silent for this long is gone.
WORKER_MICROS = 3600 * 1_000_000
# Pages per step: others can use the file in between.
BACKUP_PAGES = 2_000


def discard_expired(connection: Connection, now: int) -> None:
    connection.run(spoken(idempotency_keys.DISCARD))
    connection.run(spoken(tokens.DISCARD))
    connection.run(DISCARD, (now - WORKER_MICROS,))


def integrity(connection: Connection) -> list[str]:
    """What SQLite itself finds: damaged pages, inconsistent indexes, dangling references."""
    try:
        found = [str(row[0]) for row in connection.rows("PRAGMA integrity_check(20)")]
        if found != ["ok"]:
            return found
        return [
            f"A row of {table} refers to something in {parent} that does not exist."
            for table, _, parent, _ in connection.rows("PRAGMA foreign_key_check")
        ]
    except apsw.CorruptError as error:
        return [f"The file is too corrupted to be checked: {error}."]


def backup(source: Path, target: Path) -> None:
    """A consistent copy, made under a temporary name and put in place when it is complete."""
    unfinished = target.parent / f"{target.name}.part{os.getpid()}"
    try:
        if target.exists():
            raise InvalidInput(f"{target} already exists; choose another name for the backup.")
        os.close(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        _copy(source, unfinished)
        unfinished.rename(target)
    except OSError as error:
        raise InvalidInput(f"The backup cannot be written to {target}: {error.strerror}.") from None
    except apsw.Error as error:
        raise meaning(error, target) from error
    finally:
        with suppress(OSError):
            unfinished.unlink()


def _copy(source: Path, target: Path) -> None:
    reading: Any = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READONLY)
    writing: Any = apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        reading.set_busy_timeout(10_000)
        # One read transaction for all of it: a copy that follows a busy writer would restart again and again.
        reading.execute("BEGIN")
        reading.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        with writing.backup("main", reading, "main") as copy:
            while not copy.done:
                copy.step(BACKUP_PAGES)
        reading.execute("COMMIT")
    finally:
        reading.close()
        writing.close()
    with target.open("rb") as file:
        os.fsync(file.fileno())
