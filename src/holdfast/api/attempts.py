"""How often somebody may try to sign in: a handful of failures per address and a few dozen in all per
minute. Successes cost nothing, so that nobody is locked out of what works."""

from collections import deque

WINDOW_SECONDS = 60.0
FAILURES_PER_ADDRESS = 10
FAILURES_IN_ALL = 100


class Attempts:
    def __init__(self) -> None:
        self._failures: deque[tuple[float, str]] = deque()

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
