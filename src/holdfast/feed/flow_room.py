"""One flow run's feed in this process: one subscription for all its watchers. Every watcher reads for itself
from its own position, so that a slow one blocks nothing and nothing is kept for it."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from zlib import crc32

from typing_extensions import override

from holdfast.bus.interface import Bus, Listener
from holdfast.core.errors import StoreClosed, TryAgain
from holdfast.core.events import BusEvent, Reread, RunHint
from holdfast.core.flow_runs import OVER, FlowLine, FlowRun, FlowStep
from holdfast.core.flow_shapes import (
    FlowRunListed,
    flow_line_shown,
    flow_run_data,
    flow_run_listed,
    step_shown,
)
from holdfast.core.ids import FlowRunId, RunId
from holdfast.feed.frames import Frame, data_of
from holdfast.feed.limits import FeedLimits
from holdfast.feed.source import FeedSource
from holdfast.feed.watch import NOTHING
from holdfast.feed.watcher import Watcher
from holdfast.store import flow_feed_reads
from holdfast.store.flow_feed_reads import FlowPage, FlowPlace, page
from holdfast.store.interface import Store
from holdfast.store.query import Query, joined

START = FlowPlace(0)
_CURSOR = re.compile(r"1\.(?P<text>[0-9]{1,18}\.[0-2]\.[0-9]{1,10})\.(?P<sum>[0-9a-f]{8})")


@dataclass(slots=True)
class _Visitor:
    """Where a watcher is, and what it was told of the run itself."""

    place: FlowPlace
    known: FlowRunListed | None = None
    # It was told everything up to this version.
    version: int = -1
    is_over: bool = False


class FlowRoom(FeedSource[FlowRunId]):
    def __init__(self, run_id: FlowRunId, store: Store, bus: Bus, limits: FeedLimits) -> None:
        super().__init__(run_id, store, bus, limits)
        self._visitors: dict[Watcher, _Visitor] = {}
        # The newest version that was heard of.
        self._version = 0

    @override
    def listen(self, bus: Bus) -> Listener:
        return bus.listen(run_id=RunId(self.key))

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
        found = await self._store.read(page(self.key, visitor.place, self._limits.run_page))
        if found is None:
            watcher.end("deleted")
            return
        if visitor.place.version > found.run.version:
            # An id of another database.
            visitor.place = START
            return
        frames = [_frame(self.key, place, row) for place, row in found.missed]
        visitor.place = _after(found)
        if not found.more:
            frames += self._told_of_run(visitor, found.run)
            # A version that a hint named is already committed. If it cannot be found, do not wait for it.
            visitor.version = max(heard, found.run.version)
            visitor.is_over = found.run.status in OVER
        self._heard(found.run.version)
        watcher.give(frames)

    def _told_of_run(self, visitor: _Visitor, run: FlowRun) -> list[Frame]:
        event_id, now = encode(self.key, visitor.place), flow_run_listed(run)
        first, frames = visitor.known is None, list[Frame]()
        if visitor.known != now:
            # Sent last: a client that sees that the run is over need not read on.
            frames.append(Frame("run", event_id, data_of(flow_run_data(run))))
        visitor.known = now
        if first:
            frames.append(Frame("caught_up", event_id, data_of(NOTHING)))
        return frames

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
    def poll(cls, sources: Sequence["FlowRoom"]) -> Query[Callable[[], None]]:
        def look(versions: Mapping[FlowRunId, int]) -> None:
            for room in sources:
                version = versions.get(room.key)
                room._read_again() if version is None else room._heard(version)

        ids = tuple(room.key for room in sources)
        return joined(flow_feed_reads.versions(ids), read=lambda versions: partial(look, versions))

    def _heard(self, version: int) -> None:
        if version > self._version:
            self._version = version
            self._wake()

    def _read_again(self) -> None:
        """Makes every watcher read again, even if no newer version is known."""
        for visitor in self._visitors.values():
            visitor.version = -1
        self._wake()

    def _wake(self) -> None:
        for watcher in self._visitors:
            watcher.wake()


def _frame(run_id: FlowRunId, place: FlowPlace, row: FlowStep | FlowLine) -> Frame:
    if isinstance(row, FlowStep):
        return Frame("step", encode(run_id, place), data_of(step_shown(row)))
    return Frame("log", encode(run_id, place), data_of(flow_line_shown(row)))


def _after(found: FlowPage) -> FlowPlace:
    return found.missed[-1][0] if found.more else FlowPlace(found.run.version)


# --- ids ---


def encode(run_id: FlowRunId, place: FlowPlace) -> str:
    """Checked, not secret, as those of a chat's feed are."""
    text = ".".join(map(str, place))
    return f"1.{text}.{_sum(run_id, text)}"


def decode(run_id: FlowRunId, cursor: str) -> FlowPlace | None:
    """None: it is not an id of this run's feed."""
    match = _CURSOR.fullmatch(cursor)
    if match is None or match["sum"] != _sum(run_id, match["text"]):
        return None
    return FlowPlace(*map(int, match["text"].split(".")))


def _sum(run_id: FlowRunId, text: str) -> str:
    return f"{crc32(text.encode(), crc32(run_id.encode())):08x}"
