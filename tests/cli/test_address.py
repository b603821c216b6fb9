"""Where the server is, and which token is sent to it."""

from pathlib import Path

import pytest

from holdfast.cli.address import find_server, url_of
from holdfast.config.local import Local
from holdfast.core.errors import Refused, WrongUsage


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Of somebody who has a server on this machine, that has no socket."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "admin.token").write_text("hf_local\n")
    (data / "server.json").write_text(Local(url="http://127.0.0.1:9999", has_socket=False).written())
    return {"HOME": str(tmp_path), "HOLDFAST_SERVER_DATA": str(data), "HOLDFAST_SERVER_PORT": "1111"}


def data_of(environ: dict[str, str]) -> Path:
    return Path(environ["HOLDFAST_SERVER_DATA"])


def found(url: str | None, environ: dict[str, str]) -> tuple[str, str | None]:
    address = find_server(url, environ)
    return address.url, None if address.token is None else address.token.reveal()


@pytest.mark.parametrize(
    "url", [None, "http://127.0.0.1:9999", "http://localhost:9999/", "http://[::1]:9999"]
)
def test_the_server_of_this_machine_is_where_it_says(environ: dict[str, str], url: str | None) -> None:
    assert found(url, environ) == ("http://127.0.0.1:9999", "hf_local")


@pytest.mark.parametrize("url", [None, "http://127.0.0.1:9999", "http://localhost:9999"])
def test_its_owner_reaches_it_by_the_socket_and_shows_no_token(
    environ: dict[str, str], url: str | None
) -> None:
    data = data_of(environ)
    (data / "server.json").write_text(Local(url="http://127.0.0.1:9999", has_socket=True).written())
    (data / "admin.sock").touch()
    address = find_server(url, environ)
    assert (address.url, address.token) == ("http://127.0.0.1:9999", None)
    assert address.socket == data / "admin.sock"


def test_a_server_that_does_not_run_is_shown_no_token(environ: dict[str, str]) -> None:
    """Whoever has taken its port would have it."""
    (data_of(environ) / "server.json").write_text(
        Local(url="http://127.0.0.1:9999", has_socket=True).written()
    )
    assert found(None, environ) == ("http://127.0.0.1:9999", None)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1111",
        "http://localhost:1234/",
        "http://[::1]:1234",
        "https://127.0.0.1:9999",
        "https://holdfast.example",
        "http://10.0.0.7:9999",
        "http://127.0.0.1.example:9999",
    ],
)
def test_the_local_token_goes_to_no_other_server(environ: dict[str, str], url: str) -> None:
    assert found(url, environ) == (url.rstrip("/"), None)
    assert found(url, {**environ, "HOLDFAST_TOKEN": "hf_mine"}) == (url.rstrip("/"), "hf_mine")


def test_what_the_configuration_says_of_the_port_sends_the_token_nowhere(environ: dict[str, str]) -> None:
    (data_of(environ) / "server.json").unlink()
    assert found(None, environ) == ("http://127.0.0.1:1111", None)


def test_a_token_of_ones_own_comes_first(environ: dict[str, str]) -> None:
    assert found(None, {**environ, "HOLDFAST_TOKEN": " hf_mine\n"})[1] == "hf_mine"


def test_before_the_first_start_there_is_no_token(environ: dict[str, str], tmp_path: Path) -> None:
    assert found(None, {**environ, "HOLDFAST_SERVER_DATA": str(tmp_path / "none")})[1] is None


def test_a_token_that_cannot_be_read_is_said(environ: dict[str, str]) -> None:
    token = data_of(environ) / "admin.token"
    token.unlink()
    token.mkdir()
    with pytest.raises(Refused, match="HOLDFAST_TOKEN"):
        find_server(None, environ)


@pytest.mark.parametrize(
    "url",
    ["", "127.0.0.1:8420", "ftp://x", "http://", "http://x:0", "http://x:y", "http://u:p@x", "http://x?a=1"],
)
def test_what_is_no_address_is_refused(environ: dict[str, str], url: str) -> None:
    with pytest.raises(WrongUsage, match="give one like http"):
        find_server(url, environ)


@pytest.mark.parametrize(
    "host, url",
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),
        ("::", "http://[::1]:80"),
        ("::1", "http://[::1]:80"),
        ("box.local", "http://box.local:80"),
    ],
)
def test_how_a_server_of_this_machine_is_reached(host: str, url: str) -> None:
    assert url_of(host, 80) == url
