"""Where the server is, and which token it is shown."""

from pathlib import Path

import pytest

from holdfast.cli.address import find_server, url_of
from holdfast.core.errors import Refused, WrongUsage


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Of somebody who has a server on this machine."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "admin.token").write_text("hf_local\n")
    return {"HOME": str(tmp_path), "HOLDFAST_SERVER_DATA": str(data), "HOLDFAST_SERVER_PORT": "9999"}


def found(url: str | None, environ: dict[str, str]) -> tuple[str, str | None]:
    address = find_server(url, environ)
    return address.url, None if address.token is None else address.token.reveal()


def test_the_server_of_this_machine(environ: dict[str, str]) -> None:
    assert found(None, environ) == ("http://127.0.0.1:9999", "hf_local")


@pytest.mark.parametrize("url", ["http://127.0.0.1:1234", "http://localhost:1234/", "http://[::1]:1234"])
def test_another_port_of_this_machine(environ: dict[str, str], url: str) -> None:
    assert found(url, environ) == (url.rstrip("/"), "hf_local")


@pytest.mark.parametrize(
    "url", ["https://holdfast.example", "http://10.0.0.7:8420", "http://127.0.0.1.example"]
)
def test_the_local_token_never_leaves_this_machine(environ: dict[str, str], url: str) -> None:
    assert found(url, environ) == (url, None)
    assert found(url, {**environ, "HOLDFAST_TOKEN": "hf_mine"}) == (url, "hf_mine")


def test_a_token_of_ones_own_comes_first(environ: dict[str, str]) -> None:
    assert found(None, {**environ, "HOLDFAST_TOKEN": " hf_mine\n"})[1] == "hf_mine"


def test_before_the_first_start_there_is_no_token(environ: dict[str, str], tmp_path: Path) -> None:
    assert found(None, {**environ, "HOLDFAST_SERVER_DATA": str(tmp_path / "none")})[1] is None


def test_a_token_that_cannot_be_read_is_said(environ: dict[str, str]) -> None:
    token = Path(environ["HOLDFAST_SERVER_DATA"]) / "admin.token"
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
