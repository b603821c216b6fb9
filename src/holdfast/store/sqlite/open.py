"""Opening the file: permissions, lock, checking whose file it is, migrations."""

import os
from pathlib import Path
from typing import Literal

import apsw

from holdfast.core.clock import Clock, SystemClock, to_micros
from holdfast.core.errors import DatabaseDamaged, DirectoryUnusable, HoldfastError, MigrationFailed
from holdfast.core.ids import Ids, RandomIds
from holdfast.store import migrations
from holdfast.store.directory import OPEN_TO_OTHERS, unusable
from holdfast.store.interface import Publish
from holdfast.store.migrations import RECORD, RECORD_TABLE, Migration
from holdfast.store.sqlite.connection import APPLICATION_ID, Connection, is_full, meaning, spoken
from holdfast.store.sqlite.lock import FileLock
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.sqlite.worker_rows import RETIRE_ALL

Mode = Literal["server", "tool"]

TABLES = "SELECT count(*) FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"


def open_sqlite(
    file: Path,
    *,
    publish: Publish,
    clock: Clock | None = None,
    ids: Ids | None = None,
    mode: Mode = "server",
) -> SqliteStore:
    """As the server: the only one, and it migrates the schema. As a tool: reads only, beside a server."""
    clock = clock or SystemClock()
    lock = _prepare(file) if mode == "server" else None
    try:
        if lock is not None:
            _bring_up_to_date(file, clock)
        else:
            _look_at(file, clock)
        return SqliteStore(
            file,
            connect=lambda writable: _connect(file, clock, writable=writable),
            lock=lock,
            publish=publish,
            clock=clock,
            ids=ids or RandomIds(),
        )
    except apsw.Error as error:
        _release(lock)
        raise _cannot_start(error, file) from error
    except BaseException:
        _release(lock)
        raise


def _release(lock: FileLock | None) -> None:
    if lock is not None:
        lock.release()


def _connect(file: Path, clock: Clock, *, writable: bool) -> Connection:
    connection = Connection(file, clock, writable=writable)
    if writable:
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "full")
        # Fewer, larger checkpoints; a log that grew behind a long reader is truncated afterwards.
        connection.pragma("wal_autocheckpoint", 4_000)
        connection.pragma("journal_size_limit", 64 * 1024 * 1024)
    return connection


# --- the file ---


def _prepare(file: Path) -> FileLock:
    """The directory, the lock, and the file with SQLite's companions, accessible only to their owner."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(file)
    except OSError as error:
        raise unusable(file.parent, error) from None
    try:
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
        for path in (file, *(file.with_name(file.name + more) for more in ("-wal", "-shm"))):
            if path.exists() and path.stat().st_mode & OPEN_TO_OTHERS:
                path.chmod(0o600)
    except OSError as error:
        lock.release()
        raise _unusable(file, error) from None
    return lock


def _unusable(file: Path, error: OSError) -> DirectoryUnusable:
    return DirectoryUnusable(
        f"The database {file} cannot be opened for writing ({error.strerror}). Give this user "
        "access to it, or choose another data directory."
    )


def _cannot_start(error: apsw.Error, file: Path) -> HoldfastError:
    match error:
        case apsw.CorruptError() | apsw.NotADBError():
            return DatabaseDamaged(
                f"{file} is corrupted, or not a database at all. Move it aside and restore a backup."
            )
        case _ if is_full(error):
            return DirectoryUnusable(f"The disk that holds {file} is full. Free some space and start again.")
        case apsw.CantOpenError() | apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.IOError():
            return DirectoryUnusable(
                f"The database {file} cannot be opened ({error}). Check that the file exists, the "
                "disk works and this user has access."
            )
        case apsw.BusyError() | apsw.LockedError():
            return DirectoryUnusable(f"Another program has locked {file}. Let it finish and start again.")
        case _:
            failure = meaning(error, file)
            assert isinstance(failure, HoldfastError)
            return failure


# --- the schema ---


def _look_at(file: Path, clock: Clock) -> None:
    try:
        file.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise DirectoryUnusable(
            f"There is no database at {file}. `holdfast db migrate` creates one."
        ) from None
    except OSError as error:
        raise unusable(file.parent, error) from None
    connection = _connect(file, clock, writable=False)
    try:
        if _is_empty(connection, file) or migrations.pending(
            migrations.known("sqlite"), connection.ask(migrations.recorded())
        ):
            raise MigrationFailed(
                f"{file} was written by an older version of Holdfast. Upgrade it with `holdfast db migrate`."
            )
    finally:
        connection.close()


def _bring_up_to_date(file: Path, clock: Clock) -> None:
    connection = _connect(file, clock, writable=True)
    try:
        _is_empty(connection, file)
        migrate(connection, file, migrations.known("sqlite"), to_micros(clock.now()))
        connection.run(RETIRE_ALL)
    finally:
        connection.close()


def _is_empty(connection: Connection, file: Path) -> bool:
    """Whether it is still empty. Another program's file is not touched."""
    owner = connection.pragma("application_id")
    if owner == APPLICATION_ID:
        return False
    if owner == 0 and connection.rows(TABLES)[0][0] == 0:
        return True
    raise DatabaseDamaged(
        f"{file} is a database of another program. Choose another path in database.url, or move the file "
        "away."
    )


def migrate(connection: Connection, file: Path, known: tuple[Migration, ...], now: int) -> tuple[str, ...]:
    """Applies what is missing, each migration in one transaction, so that an interruption leaves nothing half
    done."""
    done: list[str] = []
    while True:
        connection.run("BEGIN IMMEDIATE")
        try:
            connection.run(RECORD_TABLE)
            missing = migrations.pending(known, connection.ask(migrations.recorded()))
            if missing:
                _apply(connection, missing[0], now)
                done.append(f"{missing[0].number:04}_{missing[0].name}")
            connection.run("COMMIT")
        except apsw.Error as error:
            if is_full(error):
                raise
            raise MigrationFailed(
                f"A schema migration of {file} failed and was rolled back: {error}. The data is "
                "unchanged; please report this."
            ) from error
        finally:
            if connection.raw.in_transaction:
                connection.run("ROLLBACK")
        if not missing:
            return tuple(done)


def _apply(connection: Connection, migration: Migration, now: int) -> None:
    connection.run(migration.sql)
    connection.run(spoken(RECORD), (migration.number, migration.name, migration.checksum, now))
    connection.pragma("application_id", APPLICATION_ID)
