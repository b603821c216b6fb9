"""Which connections are open, from where, and which of them only wait for their client. Their number is
limited, in total and per address; to make room for a new one, the connection that has been silent longest is
closed."""

import asyncio
import ipaddress
import resource
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import structlog

log = structlog.get_logger(__name__)

# The limit of open files that we ask for: enough for thousands of watchers. Not more, because commands
# inherit it, and some programs loop over all possible descriptors.
WANTED_FILES = 16_384
FEW_FILES = 4096

# fresh: no request has come yet.  idle: waiting for the next request, the rest of one, or a client that does
# not read.
Waiting = Literal["fresh", "idle"]


@dataclass(frozen=True, kw_only=True)
class Most:
    """How many connections there may be."""

    in_all: int
    per_address: int

    @classmethod
    def of(cls, in_all: int) -> "Most":
        """No single address can take all of them."""
        return cls(in_all=in_all, per_address=max(1, in_all // 2))


class Connections:
    """`proxies` forward requests of many clients: only the total limit applies to them."""

    def __init__(self, most: Most, proxies: Iterable[str] = ()) -> None:
        self.most = most
        self._proxies = tuple(ipaddress.ip_network(proxy) for proxy in proxies)
        # "" stands for clients that are not counted by address: proxies, and programs on a Unix socket.
        self._origins: dict[asyncio.BaseTransport, str] = {}
        # Per origin, including those that were admitted and are not open yet.
        self._counts = Counter[str]()
        self._coming = 0
        # In the order in which they fell silent; first those that have never sent a request.
        self._silent: dict[Waiting, dict[asyncio.BaseTransport, None]] = {"fresh": {}, "idle": {}}

    def __len__(self) -> int:
        return len(self._origins) + self._coming

    def admit(self, address: str) -> bool:
        """Whether there is room for another connection from this address. To make room, silent ones are
        closed, but never those of others for an address that already has its share."""
        origin = self._origin(address)
        if origin and self._counts[origin] >= self.most.per_address and not self._close_silent(origin):
            return False
        if len(self) >= self.most.in_all and not self._close_silent(None):
            return False
        self._coming += 1
        self._counts[origin] += 1
        return True

    def never_came(self, address: str) -> None:
        """It was admitted, and left before it was open."""
        self._coming -= 1
        self._counts[self._origin(address)] -= 1

    def make_room(self, wanted: int) -> int:
        """Closes silent connections because descriptors are short; returns how many."""
        return sum(self._close_silent(None) for _ in range(wanted))

    def opened(self, transport: asyncio.BaseTransport, address: str) -> None:
        """One that was admitted."""
        self._coming -= 1
        self._origins[transport] = self._origin(address)
        self.waits(transport, "fresh")

    def closed(self, transport: asyncio.BaseTransport) -> None:
        """Whether it is still known or not."""
        self.works(transport)
        origin = self._origins.pop(transport, None)
        if origin is not None:
            self._counts[origin] -= 1
            if not self._counts[origin]:
                del self._counts[origin]

    def works(self, transport: asyncio.BaseTransport) -> None:
        """The server has something to do for it."""
        for silent in self._silent.values():
            silent.pop(transport, None)

    def waits(self, transport: asyncio.BaseTransport, waiting: Waiting) -> None:
        """It is the client's turn."""
        self.works(transport)
        if transport in self._origins:
            self._silent[waiting][transport] = None

    def _close_silent(self, origin: str | None) -> bool:
        """The one that has been silent longest, of this origin (None: of any)."""
        for silent in self._silent.values():
            for transport in silent:
                if origin is None or self._origins[transport] == origin:
                    # No longer counted: its end is only reported in the next iteration of the loop.
                    self.closed(transport)
                    transport.close()
                    return True
        return False

    def _origin(self, address: str) -> str:
        try:
            known = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return ""
        if any(known in proxy for proxy in self._proxies):
            return ""
        if isinstance(known, ipaddress.IPv6Address):
            # Whoever has one IPv6 address has the whole network.
            return str(ipaddress.ip_network((known, 64), strict=False))
        return str(known)


def raise_open_files_limit() -> None:
    """As far as the system allows without privileges."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED_FILES if hard == resource.RLIM_INFINITY else min(WANTED_FILES, hard)
    if _is_less(soft, wanted):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (ValueError, OSError) as error:
            log.warning("the limit of open files stays", limit=soft, reason=str(error))
    if _is_less(limit := resource.getrlimit(resource.RLIMIT_NOFILE)[0], FEW_FILES):
        log.warning("few files and connections may be open at once; raise `ulimit -n`", limit=limit)


def descriptors_for_connections() -> int:
    """How many descriptors connections may take: half. The worker needs the rest for providers, databases,
    commands and files."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (soft if _is_less(soft, WANTED_FILES) else WANTED_FILES) // 2


def _is_less(limit: int, than: int) -> bool:
    return limit != resource.RLIM_INFINITY and limit < than
