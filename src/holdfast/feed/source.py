"""A thing that is watched: one subscription for all who watch it in this process. A new kind of feed is one
subclass that says what it listens to, what it makes of what it hears, and what it gives to a watcher that
comes. How watchers are kept, how a feed ends and when it is polled is the same for all."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import structlog

from holdfast.bus.interface import Bus, Listener
from holdfast.core.errors import StoreClosed
from holdfast.core.events import BusEvent
from holdfast.core.feed_events import ClosingReason
from holdfast.feed.limits import FeedLimits
from holdfast.feed.watcher import Watcher
from holdfast.store.interface import Store
from holdfast.store.query import Query

logger = structlog.get_logger(__name__)

K = TypeVar("K", bound=str)


class FeedSource(ABC, Generic[K]):
    """`key` is the id of what is watched."""

    def __init__(self, key: K, store: Store, bus: Bus, limits: FeedLimits) -> None:
        self.key = key
        self.watchers: set[Watcher] = set()
        self.closed = False
        self._store = store
        self._limits = limits
        # Before anything is read, so that nothing is missed that is committed after a reading.
        self._listener = self.listen(bus)

    # --- what a kind of feed says ---

    @abstractmethod
    def listen(self, bus: Bus) -> Listener: ...

    @abstractmethod
    async def hear(self, event: BusEvent) -> None:
        """A hint says that it is worth reading, never what is true."""

    @abstractmethod
    async def catch_up(self, watcher: Watcher) -> None:
        """Gives the watcher what it reads next, or lets it into a log; returns when there may be
        something."""

    @classmethod
    def poll(cls, sources: Sequence[Any]) -> Query[Callable[[], None]] | None:
        """One reading for all sources, which are of this class: what is to be done when it is there. For what
        no hint told of; None: there is nothing to look at."""
        return None

    # --- what all have in common ---

    def leave(self, watcher: Watcher) -> None:
        self.watchers.discard(watcher)

    def end(self, ending: ClosingReason) -> None:
        self.closed = True
        for watcher in list(self.watchers):
            watcher.end(ending)
        self._listener.close()

    async def run(self) -> None:
        """Until the feed is closed."""
        try:
            async with self._listener:
                while (event := await self._listener.get()) is not None:
                    await self.hear(event)
            self.end("closing")
        except StoreClosed:
            self.end("closing")
        except Exception:
            logger.exception("feed failed", feed=type(self).__name__, key=self.key)
            self.end("failed")
