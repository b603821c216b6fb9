"""A database that cannot be used: one sentence that says what is wrong and what to do, exit code 1, and
nothing lost."""

import asyncio
import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import pytest

from holdfast.store import migrations
from holdfast.store.sqlite.open import open_sqlite
from tests.cli.running import holdfast, sentence
from tests.disks import fill, free, make_read_only, small_disk
from tests.store.postgres.test_opening import killed_halfway as postgres_killed_halfway
from tests.store.sqlite.test_migrations import killed_halfway as sqlite_killed_halfway

# Each is a process or several.
pytestmark = pytest.mark.heavy


def sentences(tmp_path: Path, *where: str | Path) -> set[str]:
    """What the three commands say."""
    copy = tmp_path / "copy"
    said = {sentence("db", *command, *where) for command in (("migrate",), ("check",), ("backup", str(copy)))}
    assert not copy.exists()
    return said


def migrated(data: Path) -> Path:
    assert holdfast("db", "migrate", "--data", data).returncode == 0
    return data / "holdfast.db"


@contextmanager
def looked_at(file: Path) -> Generator[sqlite3.Connection]:
    raw = sqlite3.connect(file)
    try:
        with raw:
            yield raw
    finally:
        raw.close()


# --- where it is ---


@pytest.mark.parametrize(
    "url, says",
    [
        ("mysql://u:secret@host/db", "does not know"),
        ("sqlite:", "names no file"),
        ("sqlite:~nobody-has-this-name/secret.db", "Write the full path"),
        ("postgresql://u:secret@127.0.0.1:1/db", "Nobody answers at 127.0.0.1:1"),
        ("postgresql://u:secret@no-such-host.invalid/db", "Correct its name"),
        ("postgresql://u:secret@host:port/db", "cannot be parsed"),
    ],
)
def test_a_wrong_url(url: str, says: str, tmp_path: Path) -> None:
    (line,) = sentences(tmp_path, "--database", url)
    assert says in line
    assert "secret@" not in line


def test_a_wrong_password(postgres_url: str, tmp_path: Path) -> None:
    user, host = postgres_url.removeprefix("postgresql://").split("@", 1)
    wrong = f"postgresql://{user.split(':')[0]}:not-the-password@{host}"
    (line,) = sentences(tmp_path, "--database", wrong)
    assert "does not accept the user and password" in line
    assert "not-the-password" not in line


def test_no_database_there(tmp_path: Path) -> None:
    for command in (("check",), ("backup", tmp_path / "copy")):
        assert "`holdfast db migrate` creates one" in sentence("db", *command, "--data", tmp_path / "nowhere")
    assert os.listdir(tmp_path) == []


# --- the directory ---


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_of_somebody_else(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    for data in (closed, closed / "data"):
        assert "choose another one" in sentence("db", "migrate", "--data", data)
    closed.chmod(0)
    assert all("choose another one" in line for line in sentences(tmp_path, "--data", closed))
    closed.chmod(0o700)


def test_a_disk_that_is_read_only(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        file = migrated(disk / "data")
        content = file.read_bytes()
        make_read_only(disk)
        assert "choose another one" in sentence("db", "migrate", "--data", disk / "new")
        assert all("cannot be" in line for line in sentences(tmp_path, "--data", disk / "data"))
        assert "cannot be written to" in sentence(
            "db", "backup", disk / "copy", "--data", migrated(tmp_path / "data").parent
        )
        assert file.read_bytes() == content


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        fill(disk, leave=50_000)
        assert "Free some space and start again" in sentence("db", "migrate", "--data", disk / "data")
        free(disk)
        migrated(disk / "data")
        fill(disk, leave=50_000)
        assert "free some space" in sentence("db", "backup", disk / "copy", "--data", disk / "data")
        assert holdfast("db", "check", "--data", disk / "data").returncode == 0


def test_a_directory_that_is_open_and_not_plainly_ours(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "letters").touch()
    shared.chmod(0o755)
    assert f"chmod 700 {shared}" in sentence("db", "migrate", "--data", shared)
    assert os.listdir(shared) == ["letters"]


# --- the database ---


def test_a_file_of_a_newer_version(tmp_path: Path) -> None:
    file = migrated(tmp_path / "data")
    with looked_at(file) as raw:
        raw.execute("INSERT INTO schema_migrations VALUES (999, 'future', 'x', 0)")
    content = file.read_bytes()
    (line,) = sentences(tmp_path, "--data", tmp_path / "data")
    assert "Install that version" in line
    assert file.read_bytes() == content


def test_a_postgresql_of_a_newer_version(postgres_url: str, tmp_path: Path) -> None:
    assert holdfast("db", "migrate", "--database", postgres_url).returncode == 0

    async def add() -> None:
        connection = await asyncpg.connect(postgres_url)
        await connection.execute(migrations.RECORD, 999, "future", "x", 0)
        await connection.close()

    asyncio.run(add())
    (line,) = sentences(tmp_path, "--database", postgres_url)
    assert "Install that version" in line


def test_a_corrupted_file(tmp_path: Path) -> None:
    file = migrated(tmp_path / "data")
    with file.open("r+b") as raw:
        raw.seek(100)
        raw.write(b"\xff" * 200)
    content = file.read_bytes()
    (line,) = sentences(tmp_path, "--data", tmp_path / "data")
    assert "restore a backup" in line
    assert file.read_bytes() == content


def test_corrupted_pages(tmp_path: Path) -> None:
    file = migrated(tmp_path / "data")
    with looked_at(file) as raw:
        pages = raw.execute("SELECT rootpage FROM sqlite_schema WHERE tbl_name = 'messages'").fetchall()
    with file.open("r+b") as damaged:
        for (page,) in pages:
            damaged.seek((page - 1) * 4096)
            damaged.write(b"\xff" * 200)
    told = holdfast("db", "check", "--data", tmp_path / "data")
    assert told.returncode == 1
    assert "problems found" in told.stdout


async def test_a_second_server(tmp_path: Path) -> None:
    server = open_sqlite(tmp_path / "holdfast.db", publish=lambda _: None)
    line = await asyncio.to_thread(sentence, "db", "migrate", "--data", tmp_path)
    assert f"process {os.getpid()}" in line
    assert "Stop that one first" in line
    await server.close()


# --- a migration that was cut off ---


def test_a_file_whose_migration_was_killed(tmp_path: Path) -> None:
    file = migrated(tmp_path)
    sqlite_killed_halfway(file, "next")
    assert holdfast("db", "check", "--data", tmp_path).stdout == "No problems found.\n"
    file.unlink()
    file.with_name("holdfast.db-wal").unlink(missing_ok=True)
    sqlite_killed_halfway(file, "first")
    assert "Upgrade it with `holdfast db migrate`" in sentence("db", "check", "--data", tmp_path)
    assert holdfast("db", "migrate", "--data", tmp_path).returncode == 0
    assert holdfast("db", "check", "--data", tmp_path).stdout == "No problems found.\n"


def test_a_postgresql_whose_migration_was_killed(empty_postgres_url: str) -> None:
    asyncio.run(postgres_killed_halfway(empty_postgres_url, "first"))
    assert "holdfast db migrate" in sentence("db", "check", "--database", empty_postgres_url)
    assert holdfast("db", "migrate", "--database", empty_postgres_url).returncode == 0
    assert holdfast("db", "check", "--database", empty_postgres_url).stdout == "No problems found.\n"
