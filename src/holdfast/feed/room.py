"""One chat's feed in this process: one subscription and one reading for all its watchers. The subscription
comes first, so nothing that is committed after a reading can be missed; what is emitted comes from readings
alone, and live parts are shown only for the episode that the last reading found."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import structlog

from holdfast.bus.backlog import BASE_WEIGHT
from holdfast.bus.interface import Bus
from holdfast.chats.view import Queued
from holdfast.core.chats import Chat
from holdfast.core.errors import StoreClosed, TryAgain
from holdfast.core.events import BusEvent, Episode, Hint, LiveParts, LiveStep, Repeat, Reread, Skipped
from holdfast.core.ids import ChatId, UserId
from holdfast.feed import cursor
from holdfast.feed.cursor import Position
from holdfast.feed.frames import Frame, data_of
from holdfast.feed.limits import Limits, PageSize
from holdfast.feed.live import Live
from holdfast.feed.log import Log
from holdfast.feed.watch import (
    NOTHING,
    Event,
    Rest,
    State,
    beginning,
    is_newer,
    place_of,
    state_events,
    tell,
)
from holdfast.feed.watcher import Ending, Watcher
from holdfast.store import watched
from holdfast.store.chats import chat as chat_query
from holdfast.store.interface import Store
from holdfast.store.query import Query, joined
from holdfast.store.queue import item_of
from holdfast.store.queue import queue as queue_query
from holdfast.store.watched import Head, Page

logger = structlog.get_logger(__name__)

# Who comes in together.
AT_ONCE = 16
# A hint to read whatever is known.
ALWAYS = 2**62


@dataclass(slots=True)
class Outside:
    """A watcher that is not in the log: where it is, and what it was told of the state."""

    position: Position
    # Begin with so many of the newest messages instead.
    tail: int | None = None
    state: State | None = None
    # It missed more than a page: this it reads for itself.
    rest: Rest = "nothing"
    greeted: bool = False
    # It knows everything but live parts that cannot be given to it now.
    held: bool = False


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
        self._state: State | None = None
        self._position = Position()
        self._outside: dict[Watcher, Outside] = {}
        # Those of them that wait to be let in.
        self._door: dict[Watcher, None] = {}
        # An episode that parts came for although no reading finds it.
        self._unknown: Episode | None = None

    # --- watchers ---

    def enter(self, watcher: Watcher, position: Position, *, tail: int | None = None) -> None:
        self.watchers.add(watcher)
        self._outside[watcher] = Outside(position, tail)

    def leave(self, watcher: Watcher) -> None:
        self.watchers.discard(watcher)
        self._outside.pop(watcher, None)
        self._door.pop(watcher, None)
        self.log.leave(watcher)

    def go_back(self, watcher: Watcher, position: Position) -> None:
        self._outside[watcher] = Outside(position, greeted=True)

    async def catch_up(self, watcher: Watcher) -> None:
        outside = self._outside.get(watcher)
        if outside is None:
            return
        if outside.rest != "nothing" or outside.tail is not None:
            await self._read_for(watcher, outside)
        else:
            if not outside.held and watcher not in self._door:
                self._door[watcher] = None
                self.poke()
            await watcher.sleep()

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

    def poke(self) -> None:
        """Reads the database, whatever was heard."""
        hint = Hint(
            chat_id=self.chat_id, owner_id=UserId(""), version=ALWAYS, history_version=0, status="idle"
        )
        self._listener.put(hint, BASE_WEIGHT)

    def look(self, head: Head | None) -> None:
        """What a poll found: if it is not what was read last, there was no hint of it."""
        known = self._state.head if self._state else None
        if known is not None and (head is None or head.version > known.version or head.marks != known.marks):
            self.poke()

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
            case Repeat():
                pass

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

    def _append(self, frames: Iterable[Frame]) -> None:
        if frames:
            self.log.append(frames)
            self._let_in_held()

    def _lose_preview(self) -> None:
        shown = self._live.preview.n
        self._live.preview.lose()
        if shown:
            self.log.append([self._live.withdrawn()])
        self._let_in_held()

    # --- what is read ---

    async def _read(self) -> None:
        """One snapshot for the log and for those at the door."""
        while True:
            at_door = [watcher for watcher in self._door if watcher in self._outside][:AT_ONCE]
            held = [watcher for watcher, outside in self._outside.items() if outside.held]
            waiting = [*at_door, *held]
            positions = [self._outside[watcher].position for watcher in waiting]
            if self.log.readers:
                positions.append(self._position)
            try:
                found = await self._store.read(_reading(self.chat_id, positions, self._limits.door_page))
            except StoreClosed:
                raise
            except TryAgain as error:
                asyncio.get_running_loop().call_later(error.after_seconds, self.poke)
                return
            if found is None:
                self.end("deleted")
                return
            state, pages = found
            self._go_on(state, pages[-1] if len(pages) > len(waiting) else None)
            for watcher, page in zip(waiting, pages, strict=False):
                self._door.pop(watcher, None)
                if (outside := self._outside.get(watcher)) is not None:
                    self._serve(watcher, outside, state, page)
            if not self._door:
                return

    def _go_on(self, state: State, page: Page | None) -> None:
        """Tells the log what is new, and stands where the chat is."""
        frames: list[Frame] = []
        first = self._state is None
        if page is not None:
            # With the preview as it is now: it may have been lost meanwhile.
            told = tell(self._live.place(self._position), state, page)
            frames = self._frames(told.events)
            if told.rest == "nothing":
                frames += self._state_frames(self._state, state, told.after)
            elif frames:
                # More than a page, or history was removed: everybody reads for itself.
                frames[-1].leave = told.after
        self._state = state
        self._position = place_of(state.head, Position())
        self._live.stand_at(self._position, state.head.live)
        self.log.append(frames)
        if first:
            self._live.ask()

    def _serve(self, watcher: Watcher, outside: Outside, state: State, page: Page) -> None:
        """What this watcher missed; when it is no more than this, it is let in."""
        told = tell(outside.position, state, page)
        frames = self._frames(told.events)
        outside.position = told.after
        outside.rest = told.rest
        outside.held = False
        if told.rest == "nothing":
            frames += self._state_frames(outside.state, state, told.after)
            outside.state = state
            if not outside.greeted:
                frames.append(self._frame("caught_up", NOTHING, told.after))
                outside.greeted = True
        watcher.give(frames)
        if told.rest == "nothing":
            self._let_in(watcher, outside)

    def _let_in(self, watcher: Watcher, outside: Outside) -> None:
        """Gives it the live parts it lacks. One that cannot have them waits outside and is told what is
        committed, until there are others."""
        position = outside.position
        shown = position.n if position.episode == self._live.preview.episode else 0
        if shown and self._live.preview.standing == "lost":
            watcher.give([self._live.withdrawn()])
            shown = 0
        frames = self._live.after(shown)
        if frames is None and 0 < shown < self._live.preview.n:
            watcher.give([self._live.withdrawn()])
            shown = 0
        outside.position = replace(position, n=shown)
        outside.held = frames is None
        if frames is not None:
            del self._outside[watcher]
            watcher.give(frames)
            watcher.enter_log()

    def _let_in_held(self) -> None:
        for watcher, outside in list(self._outside.items()):
            if outside.held:
                self._let_in(watcher, outside)

    async def _read_for(self, watcher: Watcher, outside: Outside) -> None:
        """A page that only this watcher wants, read in its own time."""
        try:
            if outside.tail is not None:
                outside.position = beginning(await self._store.read(watched.tail(self.chat_id, outside.tail)))
                outside.tail = None
                return
            spans = outside.rest == "spans"
            found = await self._store.read(
                _reading(self.chat_id, [outside.position], self._limits.own_page, spans=spans)
            )
        except StoreClosed:
            watcher.end("closing")
            return
        except TryAgain as error:
            await asyncio.sleep(error.after_seconds)
            return
        if found is None:
            watcher.end("deleted")
            return
        told = tell(outside.position, found[0], found[1][0])
        outside.position = told.after
        outside.rest = told.rest
        watcher.give(self._frames(told.events))

    # --- frames ---

    def _frames(self, events: Iterable[Event]) -> list[Frame]:
        return [self._frame(event.name, event.payload, event.position) for event in events]

    def _frame(self, name: Any, payload: object, position: Position) -> Frame:
        return Frame(name, cursor.encode(self.chat_id, position), data_of(payload))

    def _state_frames(self, before: State | None, after: State, position: Position) -> list[Frame]:
        event_id = cursor.encode(self.chat_id, position)
        return [Frame(name, event_id, data_of(payload)) for name, payload in state_events(before, after)]


def _reading(
    chat_id: ChatId, positions: Iterable[Position], size: PageSize, *, spans: bool = True
) -> Query[tuple[State, tuple[Page, ...]] | None]:
    """The chat as it is, and a page for each position. None: it is gone."""

    def read(
        head: Head | None, chat: Chat | None, queue: tuple[Queued, ...], *pages: Page
    ) -> tuple[State, tuple[Page, ...]] | None:
        if head is None or chat is None:
            return None
        items = tuple(item_of(item, place) for place, item in enumerate(queue))
        return State(head, chat, items), pages

    return joined(
        watched.head(chat_id),
        chat_query(chat_id),
        queue_query(chat_id),
        *(
            watched.page(
                chat_id,
                version=position.version,
                message_id=position.message_id,
                spans_from=position.spans_from if spans else None,
                limit=size.messages,
                limit_bytes=size.bytes,
                limit_spans=size.spans,
            )
            for position in positions
        ),
        read=read,
    )
