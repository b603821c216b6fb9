"""The schema's history: numbered SQL files per engine, applied in order and never undone. Applied migrations
are recorded with their checksums, so that a changed file or a database from the future is noticed before
anything is touched."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

from holdfast.core.errors import Bug, DatabaseTooNew, MigrationFailed
from holdfast.store.query import Query, Row, each, query

# For both engines: the table that exists before the first migration.
RECORD_TABLE = (
    "CREATE TABLE IF NOT EXISTS schema_migrations ("
    "number bigint PRIMARY KEY NOT NULL, name text NOT NULL, checksum text NOT NULL, "
    "applied_at bigint NOT NULL)"
)
RECORD = "INSERT INTO schema_migrations (number, name, checksum, applied_at) VALUES ($1, $2, $3, $4)"
RECORDED = "SELECT number, name, checksum FROM schema_migrations ORDER BY number"

_NAME = re.compile(r"([0-9]{4})_([a-z0-9_]+)\.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    sql: str
    checksum: str


@dataclass(frozen=True, slots=True)
class Recorded:
    number: int
    name: str
    checksum: str


def migration(number: int, name: str, sql: str) -> Migration:
    return Migration(number, name, sql, hashlib.sha256(sql.encode()).hexdigest())


def known(engine: Literal["sqlite", "postgres"]) -> tuple[Migration, ...]:
    """The migrations this version of Holdfast brings, in order."""
    found: list[Migration] = []
    for file in files("holdfast.store").joinpath("schema", engine).iterdir():
        if match := _NAME.fullmatch(file.name):
            sql = file.read_text(encoding="utf-8").replace("\r\n", "\n")
            found.append(migration(int(match[1]), match[2], sql))
    found.sort(key=lambda item: item.number)
    if [item.number for item in found] != list(range(1, len(found) + 1)):
        raise Bug(f"the migrations for {engine} are not numbered from 1 without a gap")
    return tuple(found)


def recorded() -> Query[tuple[Recorded, ...]]:
    return query(RECORDED, read=each(_recorded))


def _recorded(row: Row) -> Recorded:
    return Recorded(row[0], row[1], row[2])


def pending(migrations: Sequence[Migration], done: Sequence[Recorded]) -> tuple[Migration, ...]:
    """The migrations still to be applied, after checking that the recorded ones are ours."""
    by_number = {item.number: item for item in migrations}
    for past in done:
        mine = by_number.get(past.number)
        if mine is None:
            raise DatabaseTooNew(
                "The database was written by a newer version of Holdfast "
                f"(schema {past.number}, this version knows {len(migrations)}). "
                "Install that version, or restore a backup made before the upgrade."
            )
        if mine.checksum != past.checksum:
            raise MigrationFailed(
                f"Migration {past.number} ({past.name}) of the database is not the one this version of "
                "Holdfast brings. Use the version that wrote the database, or restore a backup."
            )
    if [past.number for past in done] != list(range(1, len(done) + 1)):
        raise MigrationFailed(
            "The database's record of its migrations has a gap. Restore a backup; "
            "`holdfast db check` says more."
        )
    return tuple(item for item in migrations if item.number > len(done))
