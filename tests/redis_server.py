"""A Redis of the tests' own, where there is one to start."""

import shutil
import socket
import subprocess
import time
from pathlib import Path

START_SECONDS = 60.0


class RedisServer:
    """One that keeps nothing, on a port of its own."""

    def __init__(self, program: str, directory: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._command = [
            program,
            *("--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(directory)),
            *("--save", "", "--appendonly", "no", "--daemonize", "no"),
        ]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
        )
        until = time.monotonic() + START_SECONDS
        while True:
            assert self._process.poll() is None, "redis-server ended"
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                assert time.monotonic() < until, "redis-server does not answer"
                time.sleep(0.02)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def program() -> str | None:
    return shutil.which("redis-server") or shutil.which("valkey-server")
