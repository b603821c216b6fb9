"""`holdfast serve` for tests in a browser: a process of its own on a port of its own, with the demo model,
that may be killed and started again; and people who use it."""

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
from playwright.sync_api import APIRequestContext, APIResponse, Playwright

HOLDFAST = Path(sys.executable).parent / "holdfast"
# Generous: a busy machine is no fault of the server.
START_SECONDS = 90.0
PATIENCE_SECONDS = 60.0
_ADDRESS = re.compile(r"listening on (http://\S+)")


class Server:
    """One data directory, and the process that serves it now."""

    def __init__(self, directory: Path, config: str = "", environ: dict[str, str] | None = None) -> None:
        self.directory = directory
        self.data = directory / "data"
        self.workspaces = directory / "workspaces"
        self.workspaces.mkdir(parents=True, exist_ok=True)
        # What a test puts there is a template at once.
        self.templates = directory / "templates"
        self.templates.mkdir(exist_ok=True)
        self.port = _free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self._admin_token: str | None = None
        self._config = directory / "holdfast.toml"
        roots = f'[workspaces]\nroots = ["{self.workspaces}"]\n[templates]\nroots = ["{self.templates}"]\n'
        self._config.write_text(roots + config)
        # Nothing of the person who runs the tests: no keys, no configuration.
        self._environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "HOLDFAST_SERVER_DRAIN_SECONDS": "0",
            **(environ or {}),
        }
        self._output = directory / "stdout"
        self._log = directory / "stderr"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        said_before = self._output.stat().st_size if self._output.exists() else 0
        command = [HOLDFAST, "serve", "--data", self.data, "--config", self._config, "--port", str(self.port)]
        with self._output.open("ab") as output, self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=output, stderr=log, env=self._environ)
        until = time.monotonic() + START_SECONDS
        while _ADDRESS.search(self._output.read_bytes()[said_before:].decode()) is None:
            assert self._process.poll() is None, self.logged()[-3000:]
            assert time.monotonic() < until, "the server did not start in time"
            time.sleep(0.05)

    def kill(self) -> None:
        """As a power cut would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(number)
        self._process.wait(timeout=PATIENCE_SECONDS)
        self._process = None

    def logged(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def admin_token(self) -> str:
        """With all scopes, made over the socket in the data directory."""
        if self._admin_token is None:
            self._admin_token = _token_over(self.data / "admin.sock")
        return self._admin_token


def _token_over(path: Path) -> str:
    body = msgspec.json.encode({"name": "tests", "scopes": ["chats:read", "chats:write", "admin"]})
    with closing(http.client.HTTPConnection("localhost", timeout=PATIENCE_SECONDS)) as connection:
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(str(path))
        connection.request("POST", "/api/v1/tokens", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 201, answer.read()
        return msgspec.json.decode(answer.read())["secret"]


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Person:
    """Somebody who may use the server: what they do by the API, and the token they sign in with."""

    def __init__(self, playwright: Playwright, server: Server, token: str) -> None:
        self._playwright = playwright
        self.server = server
        self.token = token
        self._api: APIRequestContext = playwright.request.new_context(
            base_url=server.address,
            extra_http_headers={"Authorization": f"Bearer {token}"},
            timeout=PATIENCE_SECONDS * 1000,
        )

    def close(self) -> None:
        self._api.dispose()

    @contextmanager
    def as_admin(self) -> Generator["Person"]:
        """Whoever may change what the server has, for a moment."""
        admin = Person(self._playwright, self.server, self.server.admin_token)
        try:
            yield admin
        finally:
            admin.close()

    def get(self, path: str) -> Any:
        return _good(self._api.get(f"/api/v1/{path}"))

    def post(self, path: str, body: object = None) -> Any:
        return _good(self._api.post(f"/api/v1/{path}", **_json(body)))

    def put(self, path: str, body: object) -> Any:
        return _good(self._api.put(f"/api/v1/{path}", **_json(body)))

    def delete(self, path: str) -> None:
        _good(self._api.delete(f"/api/v1/{path}"))

    def patch(self, path: str, body: object) -> Any:
        return _good(self._api.patch(f"/api/v1/{path}", **_json(body)))

    def start_chat(self, content: str, **more: Any) -> dict[str, Any]:
        return self.post("chats", {"content": content, **more})

    def until(self, chat_id: str, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Waits until the chat is as wanted."""
        until = time.monotonic() + PATIENCE_SECONDS
        while not condition(chat := self.get(f"chats/{chat_id}")):
            assert time.monotonic() < until, f"the chat stays {chat['status']}"
            time.sleep(0.05)
        return chat

    def finished_chat(self, content: str, **more: Any) -> dict[str, Any]:
        chat = self.start_chat(content, **more)
        return self.until(chat["id"], lambda one: one["status"] in ("idle", "error", "requires_action"))


def _json(body: object) -> dict[str, Any]:
    if body is None:
        return {}
    return {"data": msgspec.json.encode(body), "headers": {"Content-Type": "application/json"}}


def _good(response: APIResponse) -> Any:
    assert response.ok, (response.status, response.text())
    return msgspec.json.decode(response.body()) if response.body() else None
