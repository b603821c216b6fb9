"""One run's feed in this process: one subscription for all its watchers. Every watcher reads for itself from
its own position, so that a slow one blocks nothing and nothing is kept for it; watchers at the same position
share one reading and its frames."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from typing_extensions import override

from holdfast.bus.interface import Bus, Listener
from holdfast.core.errors import StoreClosed, TryAgain
from holdfast.core.events import BusEvent, Reread, RunHint
from holdfast.core.ids import RunId
from holdfast.core.runs import OVER
from holdfast.feed.frames import Frame, data_of
from holdfast.feed.limits import FeedLimits
from holdfast.feed.run_events import START, Known, RunFrames, decode, encode, known_of, state_frames, tell
from holdfast.feed.source import FeedSource
from holdfast.feed.watch import NOTHING
from holdfast.feed.watcher import Watcher
from holdfast.store import run_feed_reads
from holdfast.store.interface import Store
from holdfast.store.query import Query, joined
from holdfast.store.run_feed_reads import RunPlace, page


@dataclass(slots=True)
class _Visitor:
    """Where a watcher is, and what it was told about the run itself."""

    place: RunPlace
    known: Known | None = None
    # It was sent everything up to this version.
    version: int = -1
    is_over: bool = False


class RunRoom(FeedSource[RunId]):
    def __init__(self, run_id: RunId, store: Store, bus: Bus, limits: FeedLimits) -> None:
        super().__init__(run_id, store, bus, limits)
        self._visitors: dict[Watcher, _Visitor] = {}
        # The newest version known from hints, and what was read since then.
        self._version = 0
        self._readings: dict[tuple[RunPlace, bool], RunFrames] = {}
        self._reading = asyncio.Lock()

    @override
    def listen(self, bus: Bus) -> Listener:
        return bus.listen(run_id=self.key)

    # --- watchers ---

    def enter(self, watcher: Watcher, cursor: str | None) -> None:
        place = None if cursor is None else decode(self.key, cursor)
        self.watchers.add(watcher)
        self._visitors[watcher] = _Visitor(place or START)

    @override
    def leave(self, watcher: Watcher) -> None:
        super().leave(watcher)
        self._visitors.pop(watcher, None)

    @override
    async def catch_up(self, watcher: Watcher) -> None:
        visitor = self._visitors[watcher]
        if visitor.is_over:
            watcher.end("over")
        elif visitor.version >= self._version:
            await watcher.sleep()
        else:
            try:
                await self._read_on(watcher, visitor)
            except StoreClosed:
                watcher.end("closing")
            except TryAgain as error:
                await asyncio.sleep(error.after_seconds)

    async def _read_on(self, watcher: Watcher, visitor: _Visitor) -> None:
        heard = self._version
        known = visitor.known
        told = await self._read(visitor.place, whole=known is None)
        if told and known and not told.more and known.run != known_of(told.run).run:
            # Rare: its status changed, and perhaps a large result came with it.
            told = await self._read(visitor.place, whole=True)
        if told is None:
            watcher.end("deleted")
            return
        if visitor.place.version > told.run.version:
            # An id of another database.
            visitor.place = START
            return
        visitor.place = told.after
        if told.more:
            watcher.give(told.frames)
            return
        frames = [*told.frames, *state_frames(known, told.run, told.after)]
        if known is None:
            frames.append(Frame("caught_up", encode(self.key, told.after), data_of(NOTHING)))
        visitor.known = known_of(told.run)
        # A hinted version was committed before; if it cannot be found, do not wait for it.
        visitor.version = max(heard, told.run.version)
        visitor.is_over = told.run.status in OVER
        watcher.give(frames)

    async def _read(self, place: RunPlace, *, whole: bool) -> RunFrames | None:
        """None: the run was deleted."""
        async with self._reading:
            readings = self._readings
            if (known := readings.get((place, whole))) is not None:
                return known
            found = await self._store.read(page(self.key, place, self._limits.run_page, whole=whole))
            if found is None:
                return None
            told = readings[place, whole] = tell(place, found)
        self._heard(found.run.version)
        return told

    # --- hints ---

    @override
    async def hear(self, event: BusEvent) -> None:
        match event:
            case RunHint():
                self._heard(event.version)
            case Reread():
                self._read_again()
            case _:
                pass

    @classmethod
    @override
    def poll(cls, sources: Sequence["RunRoom"]) -> Query[Callable[[], None]]:
        def look(versions: Mapping[RunId, int]) -> None:
            for room in sources:
                room._look(versions.get(room.key))

        ids = tuple(room.key for room in sources)
        return joined(run_feed_reads.versions(ids), read=lambda versions: partial(look, versions))

    def _look(self, version: int | None) -> None:
        """What a poll found; its hint may have been lost."""
        if version is None:
            self._read_again()
        else:
            self._heard(version)

    def _heard(self, version: int) -> None:
        if version > self._version:
            self._version = version
            self._readings = {}
            self._wake()

    def _read_again(self) -> None:
        """Makes every watcher read again, even if no newer version is known."""
        self._readings = {}
        for visitor in self._visitors.values():
            visitor.version = -1
        self._wake()

    def _wake(self) -> None:
        for watcher in self._visitors:
            watcher.wake()
