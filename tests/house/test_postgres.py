"""The PostgreSQL that tests run on: it is real, it is ours alone, and it is never left behind."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import asyncpg
import pytest

from tests.postgres import Databases, Postgres, shared
from tests.postgres_binaries import PostgresUnavailable, find_binaries, packaged_binaries, version_of

# These start servers and whole test sessions: on a busy machine that takes its time.
pytestmark = pytest.mark.timeout(600)

T = TypeVar("T")

ROOT = Path(__file__).parents[2]
needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root runs the server as somebody else")


async def query(url: str, statement: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


# The shared server


async def test_a_test_gets_an_empty_database_in_utf8(empty_postgres_url: str) -> None:
    tables = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"
    assert await query(empty_postgres_url, tables) == 0
    assert await query(empty_postgres_url, "SHOW server_encoding") == "UTF8"


async def test_databases_are_apart_and_go_away_with_clients_still_connected(postgres: Databases) -> None:
    one, other = postgres.create_database("apart_one"), postgres.create_database("apart_other")
    client = await asyncpg.connect(one)
    try:
        await client.execute("CREATE TABLE t (id int)")
        assert await query(other, "SELECT to_regclass('t')") is None
    finally:
        postgres.drop_database("apart_one")
        postgres.drop_database("apart_other")
        client.terminate()
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await query(one, "SELECT 1")


def test_a_server_named_in_the_environment_is_used_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_TEST_POSTGRES_URL", "postgresql:///postgres?host=/run/pg&port=1")
    assert shared().url("mine") == "postgresql:///mine?host=/run/pg&port=1"


@pytest.mark.parametrize("name", ["", "two words", "x; drop", "Übung", "a" * 64])
def test_only_plain_database_names_are_taken(postgres: Databases, name: str) -> None:
    with pytest.raises(ValueError, match="not a plain database name"):
        postgres.create_database(name)


def test_a_wrong_directory_of_binaries_is_named(tmp_path: Path) -> None:
    with pytest.raises(PostgresUnavailable, match=str(tmp_path)):
        find_binaries({"HOLDFAST_TEST_POSTGRES_BIN": str(tmp_path), "PATH": os.environ["PATH"]})


# A server of one's own


@pytest.mark.heavy
async def test_a_restart_keeps_data_and_address(own_postgres: Postgres) -> None:
    url = own_postgres.create_database("kept")
    await query(url, "CREATE TABLE t AS SELECT 17 AS n")
    before = own_postgres.pid
    own_postgres.restart()
    assert own_postgres.pid != before
    assert await query(url, "SELECT n FROM t") == 17
    assert await query(own_postgres.socket_url("kept"), "SELECT n FROM t") == 17


@pytest.mark.heavy
async def test_what_was_committed_survives_a_kill(own_postgres: Postgres) -> None:
    url = own_postgres.create_database("killed")
    await query(url, "CREATE TABLE t AS SELECT 17 AS n")
    client = await asyncpg.connect(url)
    await client.execute("BEGIN; INSERT INTO t VALUES (18)")
    own_postgres.kill()
    client.terminate()
    with pytest.raises(ConnectionRefusedError):
        await query(url, "SELECT 1")
    own_postgres.start()
    assert "was not properly shut down" in own_postgres.log()
    assert await query(url, "SELECT array_agg(n) FROM t") == [17]


@pytest.mark.heavy
async def test_settings_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    with Postgres({"fsync": "on", "max_connections": "7"}) as server:
        assert await query(server.url("postgres"), "SHOW fsync") == "on"
        assert await query(server.url("postgres"), "SHOW max_connections") == "7"
    monkeypatch.setenv("HOLDFAST_TEST_FSYNC", "1")
    with Postgres() as server:
        assert await query(server.url("postgres"), "SHOW fsync") == "on"


@pytest.mark.heavy
async def test_others_on_the_machine_stay_outside(own_postgres: Postgres) -> None:
    stranger = own_postgres.url("postgres").replace("holdfast:", "holdfast:not-")
    with pytest.raises(asyncpg.InvalidPasswordError):
        await query(stranger, "SELECT 1")
    assert await query(own_postgres.url("postgres"), "SHOW listen_addresses") == "127.0.0.1"
    assert own_postgres.directory.stat().st_mode & 0o077 in {0, 0o011}
    for part in ("data", "s"):
        assert (own_postgres.directory / part).stat().st_mode & 0o077 == 0


@pytest.mark.heavy
@needs_root
@needs_proc
def test_started_by_root_it_does_not_run_as_root(own_postgres: Postgres) -> None:
    assert Path(f"/proc/{own_postgres.pid}").stat().st_uid != 0


@pytest.mark.heavy
def test_removing_it_leaves_nothing() -> None:
    with Postgres() as server:
        pid, directory = server.pid, server.directory
    assert not directory.exists()
    assert_gone(pid)


@pytest.mark.heavy
async def test_the_packaged_programs_work() -> None:
    binaries = packaged_binaries()
    assert binaries is not None
    with Postgres(binaries=binaries) as server:
        answer = await query(server.url("postgres"), "SHOW server_version_num")
    assert str(answer).startswith(str(version_of(binaries)))


@pytest.mark.heavy
@needs_root
async def test_programs_out_of_the_servers_reach_are_copied(tmp_path: Path) -> None:
    packaged = packaged_binaries()
    assert packaged is not None
    package = packaged.parents[1]
    hidden = tmp_path / "hidden"
    hidden.mkdir(mode=0o700)
    for folder in package.parent.glob(f"{package.name}*"):
        shutil.copytree(folder, hidden / folder.name, symlinks=True)
    with Postgres(binaries=hidden / packaged.relative_to(package.parent)) as server:
        assert await query(server.url("postgres"), "SELECT 1") == 1
        assert (server.directory / package.name).is_dir()


# Nothing is left behind

OWNER = """
import sys, time
from tests.postgres import Postgres
server = Postgres()
server.start()
print(server.pid, server.directory, flush=True)
time.sleep(600)
"""

SESSION = """
import asyncio, os, pathlib, pytest, asyncpg, time

@pytest.mark.parametrize("number", range(6))
def test_which_server(postgres, tmp_path_factory, number):
    async def ask():
        connection = await asyncpg.connect(postgres.url("postgres"))
        try:
            return await connection.fetchval(
                "SELECT split_part(pg_read_file('postmaster.pid'), E'\\\\n', 1)"
            )
        finally:
            await connection.close()
    pid = asyncio.run(ask())
    pathlib.Path(os.environ["SEEN"], f"{os.getpid()}-{number}").write_text(pid)
    time.sleep(float(os.environ["PAUSE"]))
    assert number != 5, "one of them fails"
"""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Callable[[float], subprocess.Popen[str]]]:
    """Starts a pytest of two workers in its own process, in which every test notes the server it saw."""
    started: list[subprocess.Popen[str]] = []
    test_file = tmp_path / "test_session.py"
    test_file.write_text(SESSION)
    (tmp_path / "seen").mkdir()

    def start(pause_seconds: float) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "-n2"),
                *("-c", str(ROOT / "pyproject.toml"), f"--rootdir={tmp_path}", str(test_file)),
            ],
            cwd=ROOT,
            env=os.environ | {"SEEN": str(tmp_path / "seen"), "PAUSE": str(pause_seconds)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.heavy
@needs_proc
def test_the_workers_of_a_session_share_one_server_which_ends_with_it(
    session: Callable[[float], subprocess.Popen[str]], tmp_path: Path
) -> None:
    output, _ = session(0.2).communicate(timeout=250)
    assert "1 failed, 5 passed" in output
    notes = list((tmp_path / "seen").iterdir())
    servers = {note.read_text() for note in notes}
    assert len({note.name.partition("-")[0] for note in notes}) == 2, "both workers ran tests"
    assert len(servers) == 1
    assert_gone(int(servers.pop()))


@pytest.mark.heavy
@needs_proc
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_session_that_is_cut_short_leaves_no_server(
    session: Callable[[float], subprocess.Popen[str]], tmp_path: Path, number: signal.Signals
) -> None:
    process = session(2)
    notes = wait_for(lambda: [text for path in (tmp_path / "seen").iterdir() if (text := path.read_text())])
    process.send_signal(number)
    process.wait(timeout=150)
    assert_gone(int(notes[0]))


@pytest.mark.heavy
def test_a_killed_owner_takes_its_server_along() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        pid, directory = owner.stdout.readline().split()
        owner.kill()
    assert_gone(int(pid))
    wait_for(lambda: not Path(directory).exists())


@pytest.mark.heavy
def test_without_postgres_a_test_fails_and_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "test_needs_it.py").write_text("def test_it(postgres_url):\n    pass\n")
    environment = {key: value for key, value in os.environ.items() if key != "HOLDFAST_TEST_POSTGRES_URL"}
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider"),
            *("-c", str(ROOT / "pyproject.toml"), f"--rootdir={tmp_path}", str(tmp_path)),
        ],
        cwd=ROOT,
        env=environment | {"HOLDFAST_TEST_POSTGRES_BIN": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "1 error" in done.stdout
    assert "correct it" in done.stdout


def assert_gone(pid: int) -> None:
    def gone() -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False

    wait_for(gone)


def wait_for(condition: Callable[[], T], seconds: float = 150) -> T:
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
    return value
