"""Whose feeds are open in this process. Credentials are checked again every two seconds, so that somebody who
loses access is cut within five."""

from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from holdfast.accounts.access import Access, Caller
from holdfast.api.problems import Problem
from holdfast.core.ids import TokenId
from holdfast.feed.hub import Hub

FEEDS_PER_USER = 2000


class OpenFeeds:
    """Whose credentials have feeds open in this process."""

    def __init__(self, most: int = FEEDS_PER_USER) -> None:
        # At once, for one user.
        self.most = most
        self._callers: dict[TokenId, Caller] = {}
        self._counts = Counter[TokenId]()

    @asynccontextmanager
    async def opened(self, caller: Caller) -> AsyncGenerator[None]:
        of_user = sum(
            self._counts[key] for key, other in self._callers.items() if other.user.id == caller.user.id
        )
        if of_user >= self.most:
            raise Problem("rate_limited", f"At most {self.most} feeds at once for one user.")
        key = caller.credential_id
        self._callers[key] = caller
        self._counts[key] += 1
        try:
            yield
        finally:
            self._counts[key] -= 1
            if not self._counts[key]:
                del self._counts[key], self._callers[key]

    async def cut_lost(self, access: Access, hub: Hub) -> None:
        """Ends the feeds of credentials that are no longer valid."""
        asked = list(self._callers.values())
        if not asked:
            return
        valid = await access.still(asked)
        lost = {caller.credential_id for caller in asked} - valid
        if lost:
            hub.cut(lambda watcher: watcher.label in lost)
