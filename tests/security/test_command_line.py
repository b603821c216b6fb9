"""Where the command line sends a token: to the server of this machine, and to nobody who pretends to be it.
With a real server and a listener that records what it is sent."""

import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.cli.serving import Server, served

pytestmark = pytest.mark.heavy


class Listener:
    def __init__(self) -> None:
        self.heard: list[str] = []
        heard = self.heard

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                heard.append(str(self.headers))
                self.send_response(401)
                self.end_headers()

            do_POST = do_PUT = do_PATCH = do_GET  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # pyright: ignore[reportImplicitOverride]
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with served(tmp_path_factory.mktemp("served")) as running:
        yield running


@pytest.fixture
def listener() -> Generator[Listener]:
    made = Listener()
    yield made
    made.close()


def token_of(server: Server) -> str:
    return (server.home / "data" / "admin.token").read_text().strip()


def test_a_server_is_found_wherever_it_listens(server: Server, listener: Listener) -> None:
    """What the configuration says of the port is not asked: `serve --port` may have said otherwise."""
    told = server.run("ps", HOLDFAST_SERVER_PORT=str(listener.port))
    assert told.returncode == 0, told
    assert listener.heard == []


def test_a_file_in_the_current_directory_redirects_nothing(server: Server, listener: Listener) -> None:
    file = server.home / "holdfast.toml"
    file.write_text(f"[server]\nport = {listener.port}\n")
    try:
        told = server.run("ps", HOLDFAST_SERVER_PORT="")
    finally:
        file.unlink()
    assert told.returncode == 0, told
    assert listener.heard == []


def test_another_address_is_shown_no_token(server: Server, listener: Listener) -> None:
    assert server.run("ps", HOLDFAST_URL=listener.url).returncode != 0
    assert server.run("user", "list", "--url", listener.url).returncode != 0
    assert listener.heard
    assert all(token_of(server) not in one and "Authorization" not in one for one in listener.heard)


def test_who_takes_the_port_of_a_server_that_is_gone_is_shown_no_token(
    tmp_path: Path, listener: Listener
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    server = Server(home)
    server.start()
    server.kill()
    (home / "data" / "server.json").write_text(f'{{"url":"{listener.url}","has_socket":true}}')
    told = server.run("ps")
    assert told.returncode == 3, told
    (home / "data" / "admin.sock").unlink()
    assert server.run("ps").returncode != 0
    assert all("Authorization" not in one for one in listener.heard)


def test_commands_that_need_an_admin_go_by_the_socket(server: Server) -> None:
    assert "/login#token=" in server.done("user", "add", "chief", "--role", "admin")
    assert server.done("token", "create", "all", "--scope", "admin").startswith("hf_")
    assert "/login#token=" in server.done("user", "sign-in")
