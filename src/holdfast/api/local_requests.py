"""Whether a request comes from the server's own machine. The token for local programs is only valid there."""

from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any

# Set by the server for requests on the socket in its data directory, and by nothing else.
BY_SOCKET = "by_socket"
# Added by proxies. A program on this machine that talks to it directly sends none of them.
_PASSED_ON = frozenset({b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip", b"via"})


def is_by_socket(scope: Any) -> bool:
    return scope.get("state", {}).get(BY_SOCKET) is True


def is_from_here(scope: Any) -> bool:
    """On the socket, or from a loopback address without a proxy's headers: a proxy on this machine forwards
    what others send, and those would seem local too."""
    if is_by_socket(scope):
        return True
    client = scope.get("client")
    return client is not None and _is_loopback(client[0]) and not _is_passed_on(scope["headers"])


def _is_passed_on(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    return any(name.lower() in _PASSED_ON for name, _ in headers)


def _is_loopback(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
