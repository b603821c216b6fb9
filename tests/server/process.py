"""`holdfast serve` as people run it: a process of its own, to be stopped, killed and started again."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import aiohttp

from tests.api.serving import Client

HOLDFAST = Path(sys.executable).parent / "holdfast"
# Generous: a busy machine is no fault of the server.
START_SECONDS = 60.0
END_SECONDS = 120.0
_ADDRESS = re.compile(r"listening on (http://\S+)")


class ServeProcess:
    """One data directory, and the server that runs on it now."""

    def __init__(
        self,
        directory: Path,
        *,
        database: str | None = None,
        config: str = "",
        environ: dict[str, str] | None = None,
        port: int | None = 0,
        program: Sequence[str] = (str(HOLDFAST),),
    ) -> None:
        self._program = program
        self.data = directory / "data"
        self.config = directory / "holdfast.toml"
        self.config.write_text(config)
        self.address = ""
        # What all the processes said.
        self.output = directory / "stdout"
        self.log = directory / "stderr"
        self._arguments = [
            *("serve", "--data", str(self.data), "--config", str(self.config)),
            *(() if port is None else ("--port", str(port))),
            *(() if database is None else ("--database", database)),
        ]
        # Nothing of the person who runs the tests: no keys, no configuration.
        # Nobody balances load here, so stopping does not wait for that.
        self._environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "HOLDFAST_SERVER_DRAIN_SECONDS": "0",
            **(environ or {}),
        }
        self._process: asyncio.subprocess.Process | None = None
        self._session: aiohttp.ClientSession | None = None
        self._said_before = 0

    async def __aenter__(self) -> Self:
        # Without a limit of its own: many watchers at once.
        self._session = aiohttp.ClientSession(
            cookie_jar=aiohttp.DummyCookieJar(), connector=aiohttp.TCPConnector(limit=0)
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.alive:
            self.kill()
            await self.ended()
        if self._session is not None:
            await self._session.close()

    # --- its life ---

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def session(self) -> aiohttp.ClientSession:
        assert self._session is not None
        return self._session

    async def begin(self) -> None:
        """Starts it, without waiting."""
        self._said_before = self.output.stat().st_size if self.output.exists() else 0
        with self.output.open("ab") as output, self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._program, *self._arguments, stdout=output, stderr=log, env=self._environ
            )

    async def ready(self) -> None:
        async with asyncio.timeout(START_SECONDS):
            while (found := _ADDRESS.search(self._said())) is None:
                assert self.alive, self.log.read_text()[-2000:]
                await asyncio.sleep(0.02)
        self.address = found[1]

    async def start(self) -> None:
        await self.begin()
        await self.ready()

    def _said(self) -> str:
        return self.output.read_bytes()[self._said_before :].decode()

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    async def ended(self) -> int:
        """Waits for the end; the exit status."""
        assert self._process is not None
        async with asyncio.timeout(END_SECONDS):
            return await self._process.wait()

    # --- who calls it ---

    @property
    def admin(self) -> Client:
        return self.client((self.data / "admin.token").read_text().strip())

    async def full_admin(self) -> Client:
        """With a token of all scopes, made over the socket in the data directory."""
        connector = aiohttp.UnixConnector(path=str(self.data / "admin.sock"))
        async with aiohttp.ClientSession(connector=connector) as session:
            body = {"name": "test", "scopes": ["chats:read", "chats:write", "admin"]}
            answer = await Client(session, self.address, None).post("tokens", body)
        assert answer.status == 201, answer
        return self.client(answer.json["secret"])

    def client(self, token: str | None) -> Client:
        return Client(self.session, self.address, token)

    def logged(self) -> str:
        return self.log.read_text(errors="replace")
