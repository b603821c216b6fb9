"""Where the server is and what to show it: `--url`, HOLDFAST_URL, or the server of this machine, which leaves
its address in its data directory and answers its owner by a socket there. The token of that directory goes to
that server alone: whoever names another address names a token with it (HOLDFAST_TOKEN)."""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from holdfast.config.load import Flags, load
from holdfast.config.local import SOCKET_FILE, read_local
from holdfast.core.errors import Refused, WrongUsage
from holdfast.core.secret import Secret

TOKEN_VARIABLE = "HOLDFAST_TOKEN"  # noqa: S105 - its name
TOKEN_FILE = "admin.token"  # noqa: S105
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - compared with, not listened on


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """`url` ends without a slash. `socket`: how the server is reached, if not by its address."""

    url: str
    token: Secret | None
    socket: Path | None = None


def find_server(url: str | None, environ: Mapping[str, str]) -> ServerAddress:
    given = None if url is None else checked_url(url)
    token = environ.get(TOKEN_VARIABLE, "").strip()
    if given is not None and token:
        return ServerAddress(given, Secret(token))
    if given is not None and not is_local(given):
        return ServerAddress(given, None)
    server = load(Flags(), environ).server
    data = server.data.expanduser()
    own = Secret(token) if token else None
    if (here := read_local(data)) is None or (given is not None and not _is_same(given, here.url)):
        if given is None:
            _check_readable(data)
        return ServerAddress(given or url_of(server.host, server.port), own)
    if here.has_socket:
        # Without it the server does not run, and who has taken its port is shown nothing.
        socket = data / SOCKET_FILE
        return ServerAddress(here.url, own, socket if socket.exists() else None)
    return ServerAddress(here.url, own or read_token(data))


def checked_url(url: str) -> str:
    try:
        parsed = urlsplit(url)
        usable = parsed.scheme in ("http", "https") and bool(parsed.hostname) and parsed.port != 0
    except ValueError:
        usable = False
        parsed = urlsplit("")
    if not usable or parsed.query or parsed.fragment or "@" in parsed.netloc:
        raise WrongUsage(f"{url[:200]!r} is not the address of a server; give one like http://127.0.0.1:8420")
    return url.rstrip("/")


def url_of(host: str, port: int) -> str:
    """How to reach a server of this machine that listens there."""
    host = _ANY.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _is_same(url: str, here: str) -> bool:
    """Whether an address means the server of this machine, by whatever name of this machine."""
    named, known = urlsplit(url), urlsplit(here)
    same_host = named.hostname == known.hostname or (is_local(url) and is_local(here))
    return same_host and (named.scheme, named.port, named.path) == (known.scheme, known.port, known.path)


def _check_readable(data: Path) -> None:
    """Who may not look into the data directory has a token of their own. Raises Refused."""
    with suppress(FileNotFoundError, NotADirectoryError):
        try:
            os.stat(data / TOKEN_FILE)
        except PermissionError:
            raise Refused(
                f"{data} cannot be read by this user. Set {TOKEN_VARIABLE} to a token of your own, and --url "
                "to the server's address."
            ) from None


def read_token(data: Path) -> Secret | None:
    """None: no server has started with this data directory."""
    try:
        token = (data.expanduser() / TOKEN_FILE).read_text(encoding="ascii").strip()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError):
        raise Refused(
            f"{data / TOKEN_FILE} cannot be read by this user. Set {TOKEN_VARIABLE} to a token of your own "
            "(`holdfast token create` makes one)."
        ) from None
    return Secret(token) if token else None
