"""Which addresses of the network may be reached on behalf of somebody who is no admin: public ones, and none
that leads back to this machine, its neighbours or a cloud's metadata. A name is resolved once, and the
address that was checked is the one that is connected to."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# Answers with the addresses of a name, as getaddrinfo does.
Resolve = Callable[[str, int], Awaitable[list[str]]]

RESOLVE_SECONDS = 10.0
# Metadata services that have a public address, or a name.
METADATA_ADDRESSES = frozenset(
    ipaddress.ip_address(one)
    for one in ("168.63.129.16", "169.254.169.254", "100.100.100.200", "192.0.0.192")
)
METADATA_NAMES = frozenset(
    ("metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal")
)
LOCAL_SUFFIXES = (".localhost", ".local", ".internal", ".home.arpa", ".lan", ".intranet")
# Networks whose addresses stand for others: what is behind them cannot be told here, or is somewhere else.
TRANSLATED = tuple(
    ipaddress.IPv6Network(one)
    for one in (
        "::/96",
        "::ffff:0:0/96",
        "::ffff:0:0:0/96",
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "2001::/32",
        "2002::/16",
    )
)
# Beside those that the library knows as not global.
CLOSED = tuple(
    ipaddress.ip_network(one)
    for one in (
        "0.0.0.0/8",
        "100.64.0.0/10",
        "192.88.99.0/24",
        "198.18.0.0/15",
        "224.0.0.0/3",
        "fec0::/10",
        "fc00::/7",
    )
)
_ISATAP = (0x5EFE, 0x02005EFE)


class AddressRefused(Exception):
    """Why something must not be reached, in a sentence."""


def check_address(text: str) -> Address:
    """The address, if it is a public one. AddressRefused says what it is."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        raise AddressRefused(f"{text[:100]} is no address") from None
    if isinstance(address, ipaddress.IPv6Address) and (
        any(address in network for network in TRANSLATED) or (int(address) >> 32) & 0xFFFFFFFF in _ISATAP
    ):
        raise AddressRefused(f"{address} stands for another address")
    if address in METADATA_ADDRESSES:
        raise AddressRefused(f"{address} is a metadata service")
    closed = any(address.version == network.version and address in network for network in CLOSED)
    if closed or not address.is_global or address.is_multicast or address.is_reserved:
        raise AddressRefused(f"{address} is not a public address")
    return address


def check_host(host: str) -> None:
    """Refuses names that mean this machine, a neighbour or a metadata service, whatever they resolve to."""
    name = host.rstrip(".").lower()
    if not name:
        raise AddressRefused("it names no host")
    if name in METADATA_NAMES:
        raise AddressRefused(f"{name} is a metadata service")
    if name == "localhost" or name.endswith(LOCAL_SUFFIXES):
        raise AddressRefused(f"{name} is not in the internet")


async def public_addresses(host: str, port: int, resolve: Resolve | None = None) -> list[str]:
    """What to connect to for a name, all of it checked: one address that is refused refuses the name. Raises
    AddressRefused, and OSError when there is no such name."""
    check_host(host)
    plain = host.strip("[]").rstrip(".")
    async with asyncio.timeout(RESOLVE_SECONDS):
        found = await (resolve or resolved)(plain, port)
    if not found:
        raise AddressRefused(f"{plain[:100]} has no address")
    return [str(check_address(one)) for one in dict.fromkeys(found)]


async def resolved(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(one[4][0]) for one in found]


def check_address_of(url: str, ports: tuple[int, ...] | None = None) -> None:
    """What can be said of a URL without resolving anything: its scheme, its port, a host that is an address
    or a local name. AddressRefused says what is wrong."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise AddressRefused("it is no address") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise AddressRefused("only http and https addresses are reached")
    if ports is not None and port not in ports:
        raise AddressRefused(f"port {port} is not one of {', '.join(map(str, ports))}")
    check_host(parts.hostname)
    literal = _literal(parts.hostname)
    if literal is not None:
        check_address(literal)


def _literal(host: str) -> str | None:
    """A host that is an address, in any spelling that a resolver takes: `127.1`, `0x7f000001`."""
    try:
        return str(ipaddress.ip_address(host.strip("[]").partition("%")[0]))
    except ValueError:
        pass
    try:
        return socket.inet_ntoa(socket.inet_aton(host.rstrip(".")))
    except (OSError, UnicodeError):
        return None
