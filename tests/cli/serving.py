"""A server as a process of its own, to be talked to by the commands, killed and started again."""

import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.running import HOLDFAST
from tests.cli.terminals import Terminal, terminal

START_SECONDS = 120.0


class Server:
    """`home` is where everything of it is; nothing of this machine's configuration is read."""

    def __init__(self, home: Path, **variables: str) -> None:
        self.home = home
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "HOLDFAST_SERVER_DATA": str(home / "data"),
            "HOLDFAST_SERVER_PORT": str(self.port),
            "HOLDFAST_SERVER_DRAIN_SECONDS": "0",
            **variables,
        }
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self.home / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [HOLDFAST, "serve"], cwd=self.home, env=self.environ, stdout=log, stderr=log
            )
        ends = time.monotonic() + START_SECONDS
        while not self._answers():
            assert self._process.poll() is None, (self.home / "server.log").read_text()
            assert time.monotonic() < ends, "the server did not start"
            time.sleep(0.05)

    def kill(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(START_SECONDS)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=10) as response:
                return response.status == 200
        except (urllib.error.URLError, OSError):
            return False

    # --- commands ---

    def run(
        self, *arguments: str, given: str | None = None, limit_seconds: float = 110, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [HOLDFAST, *arguments],
            cwd=self.home,
            env={**self.environ, **variables},
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            text=True,
            timeout=limit_seconds,
            check=False,
        )

    def done(self, *arguments: str, given: str | None = None) -> str:
        """What a command that must succeed wrote."""
        told = self.run(*arguments, given=given)
        assert told.returncode == 0, told
        return told.stdout

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        """A command that is still running."""
        return subprocess.Popen(
            [HOLDFAST, *arguments],
            cwd=self.home,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @contextmanager
    def terminal(self, *arguments: str) -> Generator[Terminal]:
        with terminal(*arguments, environ=self.environ) as opened:
            yield opened


@contextmanager
def served(home: Path, **variables: str) -> Generator[Server]:
    server = Server(home, **variables)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
