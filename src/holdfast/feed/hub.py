"""The feeds of one process.

    hub = Hub(store, bus)
    async with hub.watch(chat_id, cursor=last_event_id, label=credential_id) as watcher:
        await sse.respond(watcher, receive, send)         # or websocket.respond(...)
    async with hub.watch_list(owner_id, cursor=last_event_id, label=credential_id) as watcher:
        await sse.respond(watcher, receive, send)
    async with hub.watch_run(run_id, cursor=last_event_id, label=credential_id) as watcher:
        await sse.respond(watcher, receive, send)
    hub.cut(lambda watcher: watcher.label in revoked)     # access was lost: they end at once
    await hub.close()                                     # `closing` to everybody, then the end

A cursor is whatever the client sent (None: from the beginning); one that means nothing here is answered with
a full resync, never with an error. A watcher of a chat or run that does not exist ends at once: look for it,
and whether the caller may see it, before. Without a framework: `async for batch in watcher`, where
`batch.sse` is what to write and `batch.texts` are the messages of a WebSocket."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import structlog

from holdfast.bus.interface import Bus
from holdfast.core.errors import HoldfastError, StoreClosed
from holdfast.core.ids import ChatId, FlowRunId, RunId, UserId
from holdfast.feed.chat_list import ChatList
from holdfast.feed.cursor import START, Position, decode
from holdfast.feed.flow_room import FlowRoom
from holdfast.feed.limits import LIMITS, FeedLimits
from holdfast.feed.room import ALWAYS, Room
from holdfast.feed.run_room import RunRoom
from holdfast.feed.source import FeedSource
from holdfast.feed.watcher import Watcher
from holdfast.store.interface import Store
from holdfast.store.query import joined

logger = structlog.get_logger(__name__)

# Time for `closing` to reach those who read.
CLOSE_SECONDS = 2.0
# A position before every history.
NOWHERE = Position(version=ALWAYS)

F = TypeVar("F", bound=FeedSource[Any])


class Hub:
    def __init__(self, store: Store, bus: Bus, limits: FeedLimits = LIMITS) -> None:
        self._store = store
        self._bus = bus
        # For watchers and sources that are created from now on.
        self.limits = limits
        # By kind, then by the id of what is watched.
        self._sources: dict[type[FeedSource[Any]], dict[str, FeedSource[Any]]] = {}
        self._watchers: set[Watcher] = set()
        # Sources without a watcher at the last poll. They are closed if they still have none.
        self._empty: set[FeedSource[Any]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._polling = False
        self._left = asyncio.Event()
        self._closed = False

    @property
    def watchers(self) -> int:
        return len(self._watchers)

    @asynccontextmanager
    async def watch(
        self,
        chat_id: ChatId,
        *,
        cursor: str | None = None,
        tail: int | None = None,
        spans: bool = True,
        label: object = None,
    ) -> AsyncGenerator[Watcher]:
        """`tail`: without a cursor, start with this many of the newest messages instead of all. `spans`:
        False for a caller that may read the chat but not its trace."""
        position = START if cursor is None else decode(chat_id, cursor) or NOWHERE
        beginning = tail if cursor is None else None
        async with self.watch_source(
            Room,
            chat_id,
            lambda room, watcher: room.enter(watcher, position, tail=beginning),
            spans=spans,
            label=label,
        ) as watcher:
            yield watcher

    @asynccontextmanager
    async def watch_list(
        self, owner_id: UserId, *, cursor: str | None = None, label: object = None
    ) -> AsyncGenerator[Watcher]:
        """Starts with the chats that were active since the cursor; without one, with nothing: the list itself
        is read elsewhere."""
        async with self.watch_source(
            ChatList, owner_id, lambda chats, watcher: chats.enter(watcher, cursor), label=label
        ) as watcher:
            yield watcher

    @asynccontextmanager
    async def watch_run(
        self, run_id: RunId, *, cursor: str | None = None, label: object = None
    ) -> AsyncGenerator[Watcher]:
        """Ends by itself when everything about a finished run was sent."""
        async with self.watch_source(
            RunRoom, run_id, lambda room, watcher: room.enter(watcher, cursor), label=label
        ) as watcher:
            yield watcher

    @asynccontextmanager
    async def watch_flow_run(
        self, run_id: FlowRunId, *, cursor: str | None = None, label: object = None
    ) -> AsyncGenerator[Watcher]:
        """The same for the run of a flow."""
        async with self.watch_source(
            FlowRoom, run_id, lambda room, watcher: room.enter(watcher, cursor), label=label
        ) as watcher:
            yield watcher

    @asynccontextmanager
    async def watch_source(
        self,
        kind: type[F],
        key: str,
        enter: Callable[[F, Watcher], None],
        *,
        spans: bool = True,
        label: object = None,
    ) -> AsyncGenerator[Watcher]:
        """Watches a feed of any kind. `enter` tells the source of its new watcher, and the watcher's
        position."""
        source = self._source(kind, key)
        watcher = Watcher(source, about=key, label=label, spans=spans, limits=self.limits)
        enter(source, watcher)
        self._watchers.add(watcher)
        if self._closed:
            watcher.end("closing")
        elif not self._polling:
            self._polling = True
            self._start(self._poll())
        try:
            yield watcher
        finally:
            watcher.source.leave(watcher)
            self._watchers.discard(watcher)
            self._left.set()

    def cut(self, predicate: Callable[[Watcher], bool]) -> int:
        """Ends the watchers that match, and returns how many."""
        lost = [watcher for watcher in self._watchers if predicate(watcher)]
        for watcher in lost:
            watcher.end("access")
        return len(lost)

    async def close(self) -> None:
        """Tells everybody. Returns when those who read have gone, and leaves no task."""
        self._closed = True
        for source in self._all():
            source.end("closing")
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                while self._watchers:
                    self._left.clear()
                    await self._left.wait()
        except TimeoutError:
            logger.info("feeds closed with watchers that do not read", watchers=self.watchers)
        for task in (tasks := list(self._tasks)):
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    # --- sources ---

    def _source(self, kind: type[F], key: str) -> F:
        known = self._sources.setdefault(kind, {})
        source = known.get(key)
        if source is None or source.closed:
            source = known[key] = kind(key, self._store, self._bus, self.limits)
            self._start(source.run())
        assert isinstance(source, kind)
        return source

    def _all(self) -> list[FeedSource[Any]]:
        return [source for known in self._sources.values() for source in known.values()]

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- every few seconds ---

    async def _poll(self) -> None:
        """One reading for everything that is watched, to find what no hint reported."""
        while True:
            await asyncio.sleep(self.limits.poll_seconds)
            for watcher in list(self._watchers):
                watcher.look()
            self._close_empty()
            if not self._all():
                self._polling = False
                return
            try:
                await self._look()
            except StoreClosed:
                return
            except HoldfastError as error:
                logger.warning("watched chats not looked at", reason=error.text, code=error.code)

    async def _look(self) -> None:
        asked = [kind.poll(tuple(known.values())) for kind, known in self._sources.items() if known]
        polls = [poll for poll in asked if poll is not None]
        for found in await self._store.read(joined(*polls, read=lambda *found: found)):
            found()

    def _close_empty(self) -> None:
        """A feed outlives its last watcher for a moment, so that reconnecting clients find it warm."""
        for known in self._sources.values():
            for key, source in list(known.items()):
                if self._is_left(source):
                    del known[key]

    def _is_left(self, source: FeedSource[Any]) -> bool:
        if source.watchers:
            self._empty.discard(source)
            return False
        if not source.closed and source not in self._empty:
            self._empty.add(source)
            return False
        self._empty.discard(source)
        source.end("closing")
        return True
