"""Maintenance of the database: backups, checks, deleting what has expired."""

import asyncio
import os
import shutil
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from holdfast.core.errors import InvalidInput, TryAgain
from holdfast.store.postgres.connect import DatabaseAddress
from holdfast.store.query import Query, each, query

# A worker that has been silent for this long is gone.
WORKER_MICROS = 3600 * 1_000_000

INVALID_INDEXES = (
    "SELECT x.indexrelid::regclass::text FROM pg_catalog.pg_index x WHERE NOT x.indisvalid "
    "AND x.indrelid IN (SELECT c.oid FROM pg_catalog.pg_class c "
    "WHERE c.relnamespace = current_schema()::regnamespace)"
)
CHECKSUM_FAILURES = (
    "SELECT checksum_failures FROM pg_catalog.pg_stat_database "
    "WHERE datname = current_database() AND checksum_failures > 0"
)


def damaged_indexes() -> Query[tuple[str, ...]]:
    return query(
        INVALID_INDEXES,
        read=each(lambda row: f"The index {row[0]} is not valid; rebuild it with: REINDEX INDEX {row[0]}"),
    )


def damaged_pages() -> Query[tuple[str, ...]]:
    return query(
        CHECKSUM_FAILURES,
        read=each(lambda row: f"PostgreSQL found {row[0]} damaged pages in this database; restore a backup."),
    )


async def backup(address: DatabaseAddress, target: Path) -> None:
    """With pg_dump, which sees one moment and blocks nobody. The file is put in place when it is complete."""
    program = shutil.which("pg_dump")
    if program is None:
        raise InvalidInput(
            "pg_dump was not found. Install PostgreSQL's client programs (Debian: apt-get install "
            "postgresql-client), or use your own backup of the server."
        )
    unfinished = target.parent / f"{target.name}.part{os.getpid()}"
    try:
        await asyncio.to_thread(_prepare, unfinished, target)
        await _dump(program, address, unfinished)
        await asyncio.to_thread(unfinished.rename, target)
    except OSError as error:
        raise InvalidInput(f"The backup cannot be written to {target}: {error.strerror}.") from None
    finally:
        with suppress(OSError):
            await asyncio.to_thread(unfinished.unlink)


def _prepare(unfinished: Path, target: Path) -> None:
    """Readable only by the owner."""
    if target.exists():
        raise InvalidInput(f"{target} already exists; choose another name for the backup.")
    os.close(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


async def _dump(program: str, address: DatabaseAddress, target: Path) -> None:
    # Everybody on the machine can read the command line, so the password is passed in the environment.
    parts = urlsplit(address.url)
    environment = dict(os.environ)
    if parts.password is not None:
        environment["PGPASSWORD"] = unquote(parts.password)
        host = parts.netloc.rpartition("@")[2]
        parts = parts._replace(netloc=f"{parts.username}@{host}" if parts.username else host)
    process = await asyncio.create_subprocess_exec(
        program,
        "--format=custom",
        "--no-password",
        f"--file={target}",
        f"--dbname={parts.geturl()}",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )
    try:
        _, said = await process.communicate()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    if process.returncode != 0:
        lines = said.decode(errors="replace").strip().splitlines()
        reason = lines[-1] if lines else "it did not say why"
        if "server version mismatch" in said.decode(errors="replace"):
            raise InvalidInput(
                f"pg_dump is older than the server. Install the server's version of it ({reason})."
            )
        raise TryAgain(f"pg_dump failed: {reason}", after_seconds=10.0)
