"""How often somebody may fail to sign in: a handful of times per address and a few dozen in total per minute.
A valid token always works, so that nobody is locked out by others at the same address."""

import ipaddress
from collections import deque
from collections.abc import Iterable, Sequence

WINDOW_SECONDS = 60.0
FAILURES_PER_ADDRESS = 10
FAILURES_IN_ALL = 100


class Attempts:
    """`proxies` are addresses and networks that are trusted to say whom they forward for."""

    def __init__(self, proxies: Iterable[str] = ()) -> None:
        self._proxies = tuple(ipaddress.ip_network(proxy) for proxy in proxies)
        self._failures: deque[tuple[float, str]] = deque()

    def counted_as(self, client: object, forwarded: Sequence[str]) -> str:
        """The address a request comes from: the nearest one that is not a proxy of ours. Anybody may have
        written the header entries before it."""
        address = str(getattr(client, "host", "") or "")
        passed_on = [each.strip() for line in forwarded for each in line.split(",")]
        while passed_on and self._is_proxy(address):
            address = passed_on.pop()[:64]
        return address

    def _is_proxy(self, address: str) -> bool:
        try:
            known = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(known in proxy for proxy in self._proxies)

    def wait_seconds(self, address: str, now: float) -> float:
        """0: go ahead. Otherwise how long to wait."""
        while self._failures and self._failures[0][0] <= now - WINDOW_SECONDS:
            self._failures.popleft()
        of_address = [at for at, who in self._failures if who == address]
        if len(of_address) >= FAILURES_PER_ADDRESS:
            return of_address[0] + WINDOW_SECONDS - now
        if len(self._failures) >= FAILURES_IN_ALL:
            return self._failures[0][0] + WINDOW_SECONDS - now
        return 0.0

    def failed(self, address: str, now: float) -> None:
        self._failures.append((now, address))
