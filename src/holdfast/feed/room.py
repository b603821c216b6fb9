"""One chat's feed in this process: one subscription and one reading for all its watchers. The subscription
comes first, so nothing that is committed after a reading can be missed. Events come only from readings, and
live parts are shown only for the episode that the last reading found."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from typing_extensions import override

from holdfast.bus.backlog import BASE_WEIGHT
from holdfast.bus.interface import Bus, Listener
from holdfast.core.errors import StoreClosed, TryAgain
from holdfast.core.events import (
    BusEvent,
    Configured,
    DebugHint,
    Episode,
    Hint,
    LiveParts,
    LiveStep,
    Repeat,
    Reread,
    RunHint,
    Skipped,
)
from holdfast.core.feed_events import ClosingReason
from holdfast.core.ids import ChatId, UserId
from holdfast.feed.chat_reads import event_frames, reading, state_frames
from holdfast.feed.cursor import Position
from holdfast.feed.frames import Frame
from holdfast.feed.limits import FeedLimits
from holdfast.feed.live import Live
from holdfast.feed.log import FrameLog
from holdfast.feed.new_watchers import NewWatchers, Outside
from holdfast.feed.source import FeedSource
from holdfast.feed.watch import ChatState, is_newer, place_of, tell
from holdfast.feed.watcher import Watcher
from holdfast.store import feed_reads
from holdfast.store.feed_reads import ChatHead, MissedPage
from holdfast.store.interface import Store
from holdfast.store.query import Query, joined

# Newer than every real version: a hint with it always causes a reading.
ALWAYS = 2**62


class Room(FeedSource[ChatId]):
    def __init__(self, chat_id: ChatId, store: Store, bus: Bus, limits: FeedLimits) -> None:
        super().__init__(chat_id, store, bus, limits)
        self.log = FrameLog(limits)
        self._live = Live(chat_id, bus.publish, self._lose_preview, limits)
        self._door = NewWatchers(chat_id, store, self._live, self.log, limits, self._poke)
        self._state: ChatState | None = None
        self._position = Position()
        # An episode with parts that no reading has found.
        self._unknown: Episode | None = None

    @override
    def listen(self, bus: Bus) -> Listener:
        return bus.listen(chat_id=self.key)

    # --- watchers ---

    def enter(self, watcher: Watcher, position: Position, *, tail: int | None = None) -> None:
        self.watchers.add(watcher)
        self._door.enter(watcher, Outside(position, tail))

    @override
    def leave(self, watcher: Watcher) -> None:
        super().leave(watcher)
        self._door.leave(watcher)
        self.log.leave(watcher)

    @override
    async def catch_up(self, watcher: Watcher) -> None:
        await self._door.catch_up(watcher, self._state)

    @override
    def end(self, ending: ClosingReason) -> None:
        super().end(ending)
        self._live.close()

    # --- hints ---

    def _poke(self) -> None:
        """Reads the database, whatever hints say."""
        hint = Hint(chat_id=self.key, owner_id=UserId(""), version=ALWAYS, history_version=0, status="idle")
        self._listener.put(hint, BASE_WEIGHT)

    @classmethod
    @override
    def poll(cls, sources: Sequence["Room"]) -> Query[Callable[[], None]]:
        def look(heads: Mapping[ChatId, ChatHead]) -> None:
            for room in sources:
                room._look(heads.get(room.key))

        ids = tuple(room.key for room in sources)
        return joined(feed_reads.heads(ids), read=lambda heads: partial(look, heads))

    def _look(self, head: ChatHead | None) -> None:
        """If a poll found something newer than the last reading, its hint was lost."""
        known = self._state.head if self._state else None
        if known is not None and (head is None or head.version > known.version or head.marks != known.marks):
            self._poke()

    @override
    async def hear(self, event: BusEvent) -> None:
        """Takes everything that already waits: its frames are appended, and the watchers woken, once."""
        frames: list[Frame] = []
        heard: BusEvent | None = event
        while heard is not None:
            if isinstance(heard, LiveParts) and heard.episode == self._live.preview.episode:
                frames += self._live.take(heard)
            else:
                self._append(frames)
                frames = []
                await self._hear(heard)
            heard = self._listener.get_nowait()
        self._append(frames)

    async def _hear(self, event: BusEvent) -> None:
        match event:
            case Hint():
                if self._state is None or event.version >= self._state.head.version:
                    self._unknown = None
                    await self._read()
            case DebugHint():
                if self._state is not None:
                    await self._read()
            case Reread():
                await self._read()
                self._live.ask()
            case LiveParts() | LiveStep() | Skipped():
                await self._read_if_newer(event.episode)
                self._append(self._stream(event))
            case Repeat() | RunHint() | Configured():
                pass  # for others

    async def _read_if_newer(self, episode: Episode) -> None:
        if self._state is not None and not is_newer(episode, self._state.head):
            return
        if episode != self._unknown:
            await self._read()
        if self._state is not None and is_newer(episode, self._state.head):
            self._unknown = episode

    def _stream(self, event: LiveParts | LiveStep | Skipped) -> list[Frame]:
        match event:
            case LiveParts():
                return self._live.take(event)
            case LiveStep():
                return self._live.step(event, self._state.chat.usage) if self._state else []
            case Skipped():
                self._live.skip(event)
                return []

    def _append(self, frames: Sequence[Frame]) -> None:
        if frames:
            self.log.append(frames)
            self._door.let_in_held(self._state)

    def _lose_preview(self) -> None:
        """May be called at any time, also during a reading: held watchers are admitted by the next one."""
        shown = self._live.preview.n
        self._live.preview.lose()
        if shown:
            self.log.append([self._live.withdrawn()])
        self._poke()

    # --- readings ---

    async def _read(self) -> None:
        """One snapshot for the log and for joining watchers."""
        while True:
            waiting = self._door.waiting()
            positions = [position for _, position in waiting]
            if self.log.readers:
                positions.append(self._position)
            try:
                found = await self._store.read(reading(self.key, positions, self._limits.door_page))
            except StoreClosed:
                raise
            except TryAgain as error:
                asyncio.get_running_loop().call_later(error.after_seconds, self._poke)
                return
            if found is None:
                self.end("deleted")
                return
            state, pages = found
            self._go_on(state, pages[-1] if len(pages) > len(waiting) else None)
            for (watcher, _), page in zip(waiting, pages, strict=False):
                self._door.serve(watcher, state, page)
            if self._door.is_served(state):
                return

    def _go_on(self, state: ChatState, page: MissedPage | None) -> None:
        """Writes what is new to the log, and moves to the chat's position."""
        frames: list[Frame] = []
        first = self._state is None
        if page is not None:
            # With the current preview: it may have been lost meanwhile.
            told = tell(self._live.place(self._position), state, page)
            frames = event_frames(self.key, told.events)
            if told.rest == "nothing":
                frames += state_frames(self._state, state, told.after)
            elif frames:
                # More than a page, or history was removed: every watcher reads for itself.
                frames[-1].leave = told.after
        self._state = state
        self._position = place_of(state.head, Position())
        self._live.stand_at(self._position, state.head.live)
        self.log.append(frames)
        if first:
            self._live.ask()
