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
from holdfast.core.ids import ChatId, RunId, UserId
from holdfast.feed.chat_list import ChatList
from holdfast.feed.cursor import START, Position, decode
from holdfast.feed.limits import LIMITS, Limits
from holdfast.feed.room import ALWAYS, Room
from holdfast.feed.run_room import RunRoom
from holdfast.feed.watcher import Watcher
from holdfast.store import listed, watched, watched_runs
from holdfast.store.interface import Store
from holdfast.store.query import joined

logger = structlog.get_logger(__name__)

# For `closing` to reach those who read.
CLOSE_SECONDS = 2.0
# A place in no history.
NOWHERE = Position(version=ALWAYS)

AnyRoom = Room | ChatList | RunRoom
K = TypeVar("K")
R = TypeVar("R", bound=AnyRoom)


class Hub:
    def __init__(self, store: Store, bus: Bus, limits: Limits = LIMITS) -> None:
        self._store = store
        self._bus = bus
        self._limits = limits
        self._rooms: dict[ChatId, Room] = {}
        self._lists: dict[UserId, ChatList] = {}
        self._runs: dict[RunId, RunRoom] = {}
        self._watchers: set[Watcher] = set()
        # Rooms that nobody was in when they were looked at last.
        self._empty: set[AnyRoom] = set()
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
        """`tail`: without a cursor, begin with the newest so many messages instead of all. `spans`: False for
        who may read the chat and not its trace."""
        room = self._room(chat_id)
        watcher = Watcher(room, about=chat_id, label=label, spans=spans, limits=self._limits)
        position = START if cursor is None else decode(chat_id, cursor) or NOWHERE
        room.enter(watcher, position, tail=tail if cursor is None else None)
        async with self._kept(watcher):
            yield watcher

    @asynccontextmanager
    async def watch_list(
        self, owner_id: UserId, *, cursor: str | None = None, label: object = None
    ) -> AsyncGenerator[Watcher]:
        """Begins with the chats that were active since the cursor; without one, with nothing: the list is
        read elsewhere."""
        chats = self._list(owner_id)
        watcher = Watcher(chats, about=owner_id, label=label, limits=self._limits)
        chats.enter(watcher, cursor)
        async with self._kept(watcher):
            yield watcher

    @asynccontextmanager
    async def watch_run(
        self, run_id: RunId, *, cursor: str | None = None, label: object = None
    ) -> AsyncGenerator[Watcher]:
        """Ends by itself when everything was told of a run that is over."""
        room = self._run(run_id)
        watcher = Watcher(room, about=run_id, label=label, limits=self._limits)
        room.enter(watcher, cursor)
        async with self._kept(watcher):
            yield watcher

    @asynccontextmanager
    async def _kept(self, watcher: Watcher) -> AsyncGenerator[None]:
        self._watchers.add(watcher)
        if self._closed:
            watcher.end("closing")
        elif not self._polling:
            self._polling = True
            self._start(self._poll())
        try:
            yield
        finally:
            watcher.source.leave(watcher)
            self._watchers.discard(watcher)
            self._left.set()

    def cut(self, predicate: Callable[[Watcher], bool]) -> int:
        """Ends the watchers that this is true of; says how many these were."""
        lost = [watcher for watcher in self._watchers if predicate(watcher)]
        for watcher in lost:
            watcher.end("access")
        return len(lost)

    async def close(self) -> None:
        """Everybody is told. Returns when those who read have gone, and leaves no task."""
        self._closed = True
        for room in (*self._rooms.values(), *self._lists.values(), *self._runs.values()):
            room.end("closing")
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

    # --- rooms ---

    def _room(self, chat_id: ChatId) -> Room:
        room = self._rooms.get(chat_id)
        if room is None or room.closed:
            room = Room(chat_id, self._store, self._bus, self._limits)
            self._rooms[chat_id] = room
            self._start(room.run())
        return room

    def _list(self, owner_id: UserId) -> ChatList:
        chats = self._lists.get(owner_id)
        if chats is None or chats.closed:
            chats = ChatList(owner_id, self._store, self._bus, self._limits)
            self._lists[owner_id] = chats
            self._start(chats.run())
        return chats

    def _run(self, run_id: RunId) -> RunRoom:
        room = self._runs.get(run_id)
        if room is None or room.closed:
            room = RunRoom(run_id, self._store, self._bus, self._limits)
            self._runs[run_id] = room
            self._start(room.run())
        return room

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- every few seconds ---

    async def _poll(self) -> None:
        """One reading for everything that is watched: what no hint told of."""
        while True:
            await asyncio.sleep(self._limits.poll_seconds)
            for watcher in list(self._watchers):
                watcher.look()
            self._close_empty()
            if not (self._rooms or self._lists or self._runs):
                self._polling = False
                return
            try:
                await self._look()
            except StoreClosed:
                return
            except HoldfastError as error:
                logger.warning("watched chats not looked at", reason=error.text, code=error.code)

    async def _look(self) -> None:
        rooms, runs = dict(self._rooms), dict(self._runs)
        # Those that have a place now; others may have one when the answer is there.
        lists = [(one, one.place) for one in self._lists.values() if one.place]
        read = joined(
            watched.heads(tuple(rooms)),
            watched_runs.versions(tuple(runs)),
            *(listed.active_since(one.owner_id, place, limit=1) for one, place in lists),
            read=lambda *found: found,
        )
        heads, versions, *active = await self._store.read(read)
        for chat_id, room in rooms.items():
            room.look(heads.get(chat_id))
        for run_id, room in runs.items():
            room.look(versions.get(run_id))
        for (one, _), places in zip(lists, active, strict=True):
            one.look(places)

    def _close_empty(self) -> None:
        """A room outlives its last watcher for a moment: clients that reconnect find it warm."""
        self._close_left(self._rooms)
        self._close_left(self._lists)
        self._close_left(self._runs)

    def _close_left(self, rooms: dict[K, R]) -> None:
        for key, room in list(rooms.items()):
            if self._is_left(room):
                del rooms[key]

    def _is_left(self, room: AnyRoom) -> bool:
        if room.watchers:
            self._empty.discard(room)
            return False
        if not room.closed and room not in self._empty:
            self._empty.add(room)
            return False
        self._empty.discard(room)
        room.end("closing")
        return True
