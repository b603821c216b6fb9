"""One chat's feed in this process: one subscription and one reading for all its watchers. The subscription
comes first, so nothing that is committed after a reading can be missed; what is emitted comes from readings
alone, and live parts are shown only for the episode that the last reading found."""

import asyncio
from collections.abc import Sequence

import structlog

from holdfast.bus.backlog import BASE_WEIGHT
from holdfast.bus.interface import Bus
from holdfast.core.errors import StoreClosed, TryAgain
from holdfast.core.events import (
    BusEvent,
    Configured,
    Episode,
    Hint,
    LiveParts,
    LiveStep,
    Repeat,
    Reread,
    RunHint,
    Skipped,
)
from holdfast.core.ids import ChatId, UserId
from holdfast.feed.cursor import Position
from holdfast.feed.door import Door, Outside
from holdfast.feed.frames import Frame
from holdfast.feed.limits import Limits
from holdfast.feed.live import Live
from holdfast.feed.log import Log
from holdfast.feed.reading import event_frames, reading, state_frames
from holdfast.feed.watch import State, is_newer, place_of, tell
from holdfast.feed.watcher import Ending, Watcher
from holdfast.store.interface import Store
from holdfast.store.watched import Head, Page

logger = structlog.get_logger(__name__)

# The version of a hint that says: read, whatever is known.
ALWAYS = 2**62


class Room:
    def __init__(self, chat_id: ChatId, store: Store, bus: Bus, limits: Limits) -> None:
        self.chat_id = chat_id
        self.log = Log(limits)
        self.watchers: set[Watcher] = set()
        self.closed = False
        self._store = store
        self._limits = limits
        self._listener = bus.listen(chat_id=chat_id)
        self._live = Live(chat_id, bus.publish, self._lose_preview, limits)
        self._door = Door(chat_id, store, self._live, limits, self._poke)
        self._state: State | None = None
        self._position = Position()
        # An episode that parts came for although no reading finds it.
        self._unknown: Episode | None = None

    # --- watchers ---

    def enter(self, watcher: Watcher, position: Position, *, tail: int | None = None) -> None:
        self.watchers.add(watcher)
        self._door.enter(watcher, Outside(position, tail))

    def leave(self, watcher: Watcher) -> None:
        self.watchers.discard(watcher)
        self._door.leave(watcher)
        self.log.leave(watcher)

    def go_back(self, watcher: Watcher, position: Position) -> None:
        self._door.enter(watcher, Outside(position, greeted=True))

    async def catch_up(self, watcher: Watcher) -> None:
        await self._door.catch_up(watcher, self._state)

    def end(self, ending: Ending) -> None:
        self.closed = True
        for watcher in list(self.watchers):
            watcher.end(ending)
        self._listener.close()
        self._live.close()

    # --- what is heard ---

    async def run(self) -> None:
        """Until the room is closed, or the chat is gone."""
        try:
            async with self._listener:
                while (event := await self._listener.get()) is not None:
                    await self._hear_all(event)
            self.end("closing")
        except StoreClosed:
            self.end("closing")
        except Exception:
            logger.exception("feed failed", chat_id=self.chat_id)
            self.end("failed")

    def _poke(self) -> None:
        """Reads the database, whatever was heard."""
        hint = Hint(
            chat_id=self.chat_id, owner_id=UserId(""), version=ALWAYS, history_version=0, status="idle"
        )
        self._listener.put(hint, BASE_WEIGHT)

    def look(self, head: Head | None) -> None:
        """What a poll found: if it is not what was read last, there was no hint of it."""
        known = self._state.head if self._state else None
        if known is not None and (head is None or head.version > known.version or head.marks != known.marks):
            self._poke()

    async def _hear_all(self, event: BusEvent | None) -> None:
        """Everything that waits already: its frames are appended, and the watchers woken, once."""
        frames: list[Frame] = []
        while event is not None:
            if isinstance(event, LiveParts) and event.episode == self._live.preview.episode:
                frames += self._live.take(event)
            else:
                self._append(frames)
                frames = []
                await self._hear(event)
            event = self._listener.get_nowait()
        self._append(frames)

    async def _hear(self, event: BusEvent) -> None:
        match event:
            case Hint():
                if self._state is None or event.version >= self._state.head.version:
                    self._unknown = None
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
        """Called at any time, also while a reading is under way: who is held is let in by the next one."""
        shown = self._live.preview.n
        self._live.preview.lose()
        if shown:
            self.log.append([self._live.withdrawn()])
        self._poke()

    # --- what is read ---

    async def _read(self) -> None:
        """One snapshot for the log and for those at the door."""
        while True:
            waiting = self._door.waiting()
            positions = [position for _, position in waiting]
            if self.log.readers:
                positions.append(self._position)
            try:
                found = await self._store.read(reading(self.chat_id, positions, self._limits.door_page))
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

    def _go_on(self, state: State, page: Page | None) -> None:
        """Tells the log what is new, and stands where the chat is."""
        frames: list[Frame] = []
        first = self._state is None
        if page is not None:
            # With the preview as it is now: it may have been lost meanwhile.
            told = tell(self._live.place(self._position), state, page)
            frames = event_frames(self.chat_id, told.events)
            if told.rest == "nothing":
                frames += state_frames(self._state, state, told.after)
            elif frames:
                # More than a page, or history was removed: everybody reads for itself.
                frames[-1].leave = told.after
        self._state = state
        self._position = place_of(state.head, Position())
        self._live.stand_at(self._position, state.head.live)
        self.log.append(frames)
        if first:
            self._live.ask()
