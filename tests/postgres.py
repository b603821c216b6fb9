"""A real PostgreSQL for tests and benches: `Postgres` is a server of one's own, `shared` one for a session.

The server listens on a unix socket and on loopback, is closed to other users of the machine, and never
outlives the process that owns it (tests/watch_postgres.py keeps that promise).
"""

import asyncio
import fcntl
import os
import random
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, Self
from urllib.parse import quote, urlsplit

import asyncpg

from tests.postgres_binaries import (
    WHAT_TO_DO,
    PostgresUnavailable,
    account,
    clean_environment,
    find_binaries,
    reachable_binaries,
    temporary_root,
)

SUPERUSER = "holdfast"
SESSION_VARIABLE = "HOLDFAST_TEST_SESSION"
URL_VARIABLE = "HOLDFAST_TEST_POSTGRES_URL"
START_SECONDS = 60
STOP_SECONDS = 60
STOP_SIGNALS = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}

StopMode = Literal["smart", "fast", "immediate"]


class Databases:
    """Makes and drops databases on a server, whoever runs it."""

    def __init__(self, admin_url: str) -> None:
        self.admin_url = admin_url

    def url(self, database: str) -> str:
        parts = urlsplit(self.admin_url)
        query = f"?{parts.query}" if parts.query else ""
        return f"{parts.scheme}://{parts.netloc}/{quote(database)}{query}"

    def create_database(self, name: str) -> str:
        self._execute(f"CREATE DATABASE {_checked(name)}")
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Drops the database and cuts whoever is still connected to it."""
        self._execute(f"DROP DATABASE IF EXISTS {_checked(name)} WITH (FORCE)")

    def _execute(self, statement: str) -> None:
        async def run() -> None:
            connection = await asyncpg.connect(self.admin_url, timeout=30)
            try:
                await connection.execute(statement)
            finally:
                await connection.close()

        # In a thread of its own, so that it can be called where a loop is running too.
        with ThreadPoolExecutor(max_workers=1) as thread:
            thread.submit(asyncio.run, run()).result()


class Postgres(Databases):
    """A server of one's own in a directory of its own.

    `stop`, `kill` and `restart` keep data and address; `remove`, or leaving the `with` block, leaves nothing.
    Settings are postgresql.conf's; fsync is off unless they or HOLDFAST_TEST_FSYNC=1 say otherwise.
    """

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        *,
        binaries: Path | None = None,
        directory: Path | None = None,
        owner_pid: int | None = None,
    ) -> None:
        self._account = account()
        self._binaries = binaries or find_binaries()
        self.directory = directory or temporary_root(self._account) / f"hf-{secrets.token_hex(4)}"
        self._owner_pid = owner_pid or os.getpid()
        self._settings = {
            "fsync": "on" if os.environ.get("HOLDFAST_TEST_FSYNC") == "1" else "off",
            "max_connections": "400",
            "shared_buffers": "128MB",
            **(settings or {}),
        }
        self._password = secrets.token_urlsafe(16)
        self._port = _free_port()
        super().__init__(self._tcp_url())

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    @property
    def pid(self) -> int:
        """The server's main process."""
        pid = _running_pid(self.directory)
        if pid is None:
            raise RuntimeError("the server is not running")
        return pid

    @property
    def port(self) -> int:
        return self._port

    def socket_url(self, database: str) -> str:
        """The same database through the unix socket."""
        return f"postgresql://{SUPERUSER}@/{quote(database)}?host={self.directory / 's'}&port={self._port}"

    def log(self) -> str:
        path = self.directory / "server.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def start(self) -> None:
        new = not (self.directory / "data").exists()
        try:
            if new:
                self._create()
            for _ in range(5):
                if self._launch():
                    return
                if "could not bind" not in self.log():
                    break
                if new:  # somebody was faster, and nobody knows our address yet
                    self._port = _free_port()
                    self.admin_url = self._tcp_url()
                else:
                    time.sleep(1)
            end_of_log = "\n".join(self.log().splitlines()[-15:])
            raise PostgresUnavailable(
                f"PostgreSQL did not start. {WHAT_TO_DO} Its log ends with:\n{end_of_log}"
            )
        except BaseException:
            if new:
                self.remove()
            raise

    def stop(self, mode: StopMode = "fast") -> None:
        """Stops and waits: smart lets clients finish, fast cuts them, immediate skips the cleanup."""
        _stop(self.directory, STOP_SIGNALS[mode])

    def restart(self, mode: StopMode = "fast") -> None:
        self.stop(mode)
        self.start()

    def kill(self) -> None:
        """SIGKILL to all of the server's processes at once."""
        pid = self.pid
        _send(pid, signal.SIGSTOP)  # a stopped parent starts no further child while we go through them
        for child in _children(pid):
            _send(child, signal.SIGKILL)
        _stop(self.directory, signal.SIGKILL)

    def remove(self) -> None:
        _remove(self.directory)

    def _create(self) -> None:
        self.directory.mkdir(mode=0o700, exist_ok=True)
        if self._account.user is not None:
            self.directory.chmod(0o711)  # the server's account must come through, and need not list
        self._binaries = reachable_binaries(self._binaries, self._account, self.directory)
        data, password_file = self.directory / "data", self.directory / "password"
        for path in (data, self.directory / "s"):
            path.mkdir(mode=0o700)
            self._account.give(path)
        password_file.touch(mode=0o600)
        password_file.write_text(self._password)
        self._account.give(password_file)
        done = self._account.run(
            [
                self._binaries / "initdb",
                f"--pgdata={data}",
                f"--username={SUPERUSER}",
                f"--pwfile={password_file}",
                "--auth-local=trust",  # the socket's directory is closed to others
                "--auth-host=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C",
                "--no-sync",
            ],
            self.directory,
        )
        password_file.unlink()
        if done.returncode != 0:
            raise PostgresUnavailable(f"initdb failed. {WHAT_TO_DO} It said:\n{done.stdout}{done.stderr}")

    def _launch(self) -> bool:
        """Starts the server under its watcher; true when it takes connections, false when it ended."""
        settings = self._settings | {
            "listen_addresses": "127.0.0.1",
            "port": str(self._port),
            "unix_socket_directories": str(self.directory / "s"),
            "unix_socket_permissions": "0700",
        }
        who = self._account
        as_whom = [] if who.user is None else [f"--user={who.user}", f"--group={who.group}"]
        for stale in ("pid", "server.log"):
            (self.directory / stale).unlink(missing_ok=True)
        subprocess.run(
            [
                *(sys.executable, "-I", Path(__file__).with_name("watch_postgres.py")),
                *(f"--owner={self._owner_pid}", f"--directory={self.directory}", *as_whom, "--"),
                *(self._binaries / "postgres", "-D", self.directory / "data"),
                *(argument for name, value in settings.items() for argument in ("-c", f"{name}={value}")),
            ],
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # a ^C at the terminal is for the owner alone
            check=True,
        )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if not _is_alive(self.directory):
                return False
            if _is_ready(self.directory):
                return True
            time.sleep(0.02)
        _stop(self.directory, signal.SIGKILL)
        return False

    def _tcp_url(self) -> str:
        return f"postgresql://{SUPERUSER}:{self._password}@127.0.0.1:{self._port}/postgres"


def begin_session() -> None:
    """For the process that leads a test session. Nothing is started until a test asks for it."""
    os.environ[SESSION_VARIABLE] = f"{os.getpid()}:{secrets.token_hex(4)}"


def shared() -> Databases:
    """The session's server. Whoever asks first starts it; the others wait and get the same."""
    given = os.environ.get(URL_VARIABLE)
    if given:
        return Databases(given)
    directory = _session_directory()
    directory.mkdir(mode=0o700, exist_ok=True)
    with (directory / "starting").open("w") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)
        address = directory / "address"
        if not address.exists():
            if (directory / "data").exists():  # a worker died while it was starting the server
                _remove(directory)
            owner = int(os.environ[SESSION_VARIABLE].partition(":")[0])
            server = Postgres(directory=directory, owner_pid=owner)
            server.start()
            address.touch(mode=0o600)
            address.write_text(server.admin_url)
        return Databases(address.read_text())


def end_session() -> None:
    _remove(_session_directory())
    del os.environ[SESSION_VARIABLE]


def _session_directory() -> Path:
    return temporary_root(account()) / f"hf-{os.environ[SESSION_VARIABLE].partition(':')[2]}"


def _remove(directory: Path) -> None:
    if directory.exists():
        _stop(directory, signal.SIGQUIT)
        shutil.rmtree(directory, ignore_errors=True)


def _stop(directory: Path, number: signal.Signals) -> None:
    pid = _running_pid(directory)
    if pid is not None:
        _send(pid, number)
    deadline = time.monotonic() + STOP_SECONDS
    while _is_alive(directory):
        if time.monotonic() > deadline:
            raise TimeoutError(f"PostgreSQL did not stop within {STOP_SECONDS} s")
        time.sleep(0.01)


def _is_alive(directory: Path) -> bool:
    """Whether the watcher lives. Its lock tells, whoever its parent is and even when it is a zombie."""
    try:
        with (directory / "alive").open("w") as alive:
            fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _running_pid(directory: Path) -> int | None:
    path = directory / "pid"
    return int(path.read_text()) if _is_alive(directory) and path.exists() else None


def _is_ready(directory: Path) -> bool:
    """The server's own note: its process id in line 1 (a killed one's file stays), its state in line 8."""
    try:
        lines = (directory / "data" / "postmaster.pid").read_text().splitlines()
        return len(lines) >= 8 and lines[0] == (directory / "pid").read_text() and lines[7].strip() == "ready"
    except FileNotFoundError:
        return False


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass  # it ended first


def _children(pid: int) -> list[int]:
    if sys.platform != "linux":
        listing = subprocess.run(
            ["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True
        ).stdout
        return [int(child) for child, parent in map(str.split, listing.splitlines()) if int(parent) == pid]
    children: list[int] = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # "pid (name) state parent ..."; the name may hold anything, so count from its closing bracket.
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended while we looked
        if parent == pid:
            children.append(int(path.parent.name))
    return children


def _free_port() -> int:
    """From below the range that outgoing connections are given, so that it is still free after a restart."""
    while True:
        port = random.randint(20_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def _checked(name: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", name):
        raise ValueError(f"not a plain database name: {name!r}")
    return name
