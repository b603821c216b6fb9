"""A thing that is watched: one subscription for all its watchers in this process. A new kind of feed is one
subclass that says what it listens to, what it does with hints, and what it gives to a new watcher. How
watchers are kept, how a feed ends and when it is polled is the same for all."""

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

    # --- defined by each kind of feed ---

    @abstractmethod
    def listen(self, bus: Bus) -> Listener: ...

    @abstractmethod
    async def hear(self, event: BusEvent) -> None:
        """A hint says that reading is worthwhile, never what is true."""

    @abstractmethod
    async def catch_up(self, watcher: Watcher) -> None:
        """Gives the watcher what it reads next, or admits it to a log; returns when there may be something to
        send."""

    @classmethod
    def poll(cls, sources: Sequence[Any]) -> Query[Callable[[], None]] | None:
        """One reading for all sources of this class, to find changes without a hint; returns what to do with
        the result. None: there is nothing to check."""
        return None

    # --- shared by all kinds ---

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
