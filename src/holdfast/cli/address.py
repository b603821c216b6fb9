"""Where the server is and what to show it: `--url`, HOLDFAST_URL or the configuration of this machine; the
token from HOLDFAST_TOKEN or the file that the server on this machine keeps for local programs. The file's
token is never sent to another machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from holdfast.config.load import Flags, load
from holdfast.core.errors import Refused, WrongUsage
from holdfast.core.secret import Secret

TOKEN_VARIABLE = "HOLDFAST_TOKEN"  # noqa: S105 - its name
TOKEN_FILE = "admin.token"  # noqa: S105
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - compared with, not listened on


@dataclass(frozen=True, slots=True)
class Address:
    """`url` ends without a slash."""

    url: str
    token: Secret | None


def find_server(url: str | None, environ: Mapping[str, str]) -> Address:
    given = None if url is None else checked_url(url)
    token = environ.get(TOKEN_VARIABLE, "").strip()
    if given is not None and token:
        return Address(given, Secret(token))
    if given is not None and not is_local(given):
        return Address(given, None)
    server = load(Flags(), environ).server
    here = given or url_of(server.host, server.port)
    return Address(here, Secret(token) if token else read_token(server.data))


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
