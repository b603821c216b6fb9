"""One run's feed in this process: one subscription for all its watchers. Every watcher reads for itself from
the place where it is, so that a slow one holds nothing up and nothing is kept for it; those at the same place
share one reading and its frames."""

import asyncio
from dataclasses import dataclass

import structlog

from holdfast.bus.interface import Bus
from holdfast.core.errors import Bug, StoreClosed, TryAgain
from holdfast.core.events import Reread, RunHint
from holdfast.core.ids import RunId
from holdfast.core.runs import OVER
from holdfast.feed.cursor import Position
from holdfast.feed.frames import Frame, data_of
from holdfast.feed.limits import Limits
from holdfast.feed.log import Log
from holdfast.feed.run_events import START, Known, Told, decode, encode, known_of, state_frames, tell
from holdfast.feed.watch import NOTHING
from holdfast.feed.watcher import Ending, Watcher
from holdfast.store.interface import Store
from holdfast.store.watched_runs import RunPlace, page

logger = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Visitor:
    """Where a watcher is, and what it was told of the run itself."""

    place: RunPlace
    known: Known | None = None
    # It was told everything up to this version.
    version: int = -1
    is_over: bool = False


class RunRoom:
    def __init__(self, run_id: RunId, store: Store, bus: Bus, limits: Limits) -> None:
        self.run_id = run_id
        # For what all feeds have in common; nobody is let into it.
        self.log = Log(limits)
        self.closed = False
        self._store = store
        self._limits = limits
        self._listener = bus.listen(run_id=run_id)
        self._visitors: dict[Watcher, _Visitor] = {}
        # The newest version that was heard of, and what was read since then.
        self._version = 0
        self._readings: dict[tuple[RunPlace, bool], Told] = {}
        self._reading = asyncio.Lock()

    @property
    def watchers(self) -> set[Watcher]:
        return set(self._visitors)

    # --- watchers ---

    def enter(self, watcher: Watcher, cursor: str | None) -> None:
        place = None if cursor is None else decode(self.run_id, cursor)
        self._visitors[watcher] = _Visitor(place or START)

    def leave(self, watcher: Watcher) -> None:
        self._visitors.pop(watcher, None)

    def go_back(self, watcher: Watcher, position: Position) -> None:
        raise Bug("nobody is in the log of a run")

    def end(self, ending: Ending) -> None:
        self.closed = True
        for watcher in list(self._visitors):
            watcher.end(ending)
        self._listener.close()

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
            # Rarely: its status moved, and with it perhaps came a large result.
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
            frames.append(Frame("caught_up", encode(self.run_id, told.after), data_of(NOTHING)))
        visitor.known = known_of(told.run)
        # What was heard of was committed before; it is not waited for if it cannot be found.
        visitor.version = max(heard, told.run.version)
        visitor.is_over = told.run.status in OVER
        watcher.give(frames)

    async def _read(self, place: RunPlace, *, whole: bool) -> Told | None:
        """None: the run is gone."""
        async with self._reading:
            readings = self._readings
            if (known := readings.get((place, whole))) is not None:
                return known
            found = await self._store.read(page(self.run_id, place, self._limits.run_page, whole=whole))
            if found is None:
                return None
            told = readings[place, whole] = tell(place, found)
        self._hear(found.run.version)
        return told

    # --- what is heard ---

    async def run(self) -> None:
        """Until the room is closed."""
        try:
            async with self._listener:
                while (event := await self._listener.get()) is not None:
                    match event:
                        case RunHint():
                            self._hear(event.version)
                        case Reread():
                            self._read_again()
                        case _:
                            pass
            self.end("closing")
        except Exception:
            logger.exception("feed of a run failed", run_id=self.run_id)
            self.end("failed")

    def look(self, version: int | None) -> None:
        """What a poll found, of which there may have been no hint."""
        if version is None:
            self._read_again()
        else:
            self._hear(version)

    def _hear(self, version: int) -> None:
        if version > self._version:
            self._version = version
            self._readings = {}
            self._wake()

    def _read_again(self) -> None:
        """Whatever is known."""
        self._readings = {}
        for visitor in self._visitors.values():
            visitor.version = -1
        self._wake()

    def _wake(self) -> None:
        for watcher in self._visitors:
            watcher.wake()
