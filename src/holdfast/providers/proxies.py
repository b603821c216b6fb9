"""Which proxy to use for an address. The HTTP client could find out itself, but would then read passwords
from `.netrc` and send them to whatever is configured as a provider."""

from collections.abc import Mapping
from urllib.parse import urlsplit


def proxy_of(url: str, environ: Mapping[str, str]) -> str | None:
    """The proxy that the usual variables name for this address; never for this machine itself."""
    parsed = urlsplit(url)
    host = parsed.hostname or ""
    named = {name.lower(): value for name, value in environ.items() if name.lower().endswith("_proxy")}
    direct = [entry.strip().lstrip("*.") for entry in named.get("no_proxy", "").split(",")]
    own = host == "localhost" or host.startswith("127.") or host == "::1"
    if own or "*" in named.get("no_proxy", "").split(","):
        return None
    if any(
        entry and (host == entry or host.endswith(f".{entry}") or parsed.netloc == entry) for entry in direct
    ):
        return None
    return named.get(f"{parsed.scheme}_proxy") or named.get("all_proxy") or None
