"""A fresh database for every measurement, on a disk that really syncs: a directory for SQLite, a database of
the bench's own server for PostgreSQL."""

import asyncio
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import asyncpg

from bench.contender import ROOT
from bench.task import Engine
from tests.postgres import Postgres

# As an installation would have it; what is not named is the server's default.
SETTINGS = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}


class Databases:
    """Use as a context manager. The server is started when the first database is asked of it."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="holdfast-bench-", dir=_disk()))
        self._postgres: Postgres | None = None
        self._made = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._postgres is not None:
                self._postgres.remove()
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)

    @contextmanager
    def fresh(self, engine: Engine) -> Generator[str]:
        self._made += 1
        name = f"bench_{self._made}"
        if engine == "sqlite":
            directory = self.directory / name
            directory.mkdir(mode=0o700)
            try:
                yield str(directory)
            finally:
                shutil.rmtree(directory, ignore_errors=True)
        else:
            server = self._server()
            try:
                yield server.create_database(name)
            finally:
                server.drop_database(name)

    @property
    def server_pid(self) -> int | None:
        """None where nobody could look at its CPU time, or there is no server."""
        return self._postgres.pid if self._postgres is not None and sys.platform == "linux" else None

    def server_version(self) -> str | None:
        """None: it was never started."""
        return None if self._postgres is None else asyncio.run(_version(self._postgres.admin_url))

    def _server(self) -> Postgres:
        if self._postgres is None:
            server = Postgres(SETTINGS)
            server.start()
            self._postgres = server
        return self._postgres


async def _version(url: str) -> str:
    connection = await asyncpg.connect(url)
    try:
        # "15.4 (Debian 15.4-1)": the number is what counts.
        return str(await connection.fetchval("SHOW server_version")).split()[0]
    finally:
        await connection.close()


def file_system(path: Path) -> str:
    """The kind of file system a path is on, in its own words."""
    said = subprocess.run(["stat", "-f", "-c", "%T", path], capture_output=True, text=True, check=False)
    return said.stdout.strip() or "unknown"


def _disk() -> Path:
    """Where temporary files go, unless that is memory: there a sync costs nothing and proves nothing."""
    usual = Path(tempfile.gettempdir())
    if file_system(usual) not in {"tmpfs", "ramfs"}:
        return usual
    beside = ROOT / "build"
    beside.mkdir(exist_ok=True)
    return beside
