"""A new kind of feed is one small class: here one that counts what moves in a user's chats."""

import asyncio
import inspect
from collections.abc import Callable, Sequence

import msgspec
from typing_extensions import override

from holdfast.bus.interface import Bus, Listener
from holdfast.core.events import BusEvent, Hint
from holdfast.core.ids import UserId
from holdfast.feed.frames import Frame, data_of
from holdfast.feed.hub import Hub
from holdfast.feed.log import FrameLog
from holdfast.feed.source import FeedSource
from holdfast.feed.watch import NOTHING
from holdfast.feed.watcher import Watcher
from holdfast.store.query import Query, constant
from tests.feed.stage import QUICK, Stage
from tests.worker.engine import eventually


class Moves(FeedSource[UserId]):
    """Tells the number of moves so far, then each move."""

    moves = 0

    @override
    def listen(self, bus: Bus) -> Listener:
        self.log = FrameLog()
        return bus.listen(owner_id=self.key)

    @override
    async def hear(self, event: BusEvent) -> None:
        self.moves += isinstance(event, Hint)
        self.log.append([Frame("changed", str(self.moves), data_of(NOTHING))])

    @override
    async def catch_up(self, watcher: Watcher) -> None:
        watcher.give([Frame("caught_up", str(self.moves), data_of(NOTHING))])
        watcher.enter_log(self.log)


class Polled(Moves):
    looked = 0

    @classmethod
    @override
    def poll(cls, sources: Sequence["Polled"]) -> Query[Callable[[], None]]:
        def look() -> None:
            for source in sources:
                source.looked += 1

        return constant(look)


def entered(source: Moves, watcher: Watcher) -> None:
    source.watchers.add(watcher)


async def names(watcher: Watcher) -> list[tuple[str, str]]:
    return [(frame.event, frame.id) for frame in (await anext(watcher)).frames]


def test_it_is_small() -> None:
    assert len(inspect.getsource(Moves).splitlines()) <= 20


async def test_it_is_watched_like_any_other(stage: Stage) -> None:
    chat = await stage.chat()
    async with (
        stage.hub.watch_source(Moves, chat.owner, entered, label="a") as first,
        stage.hub.watch_source(Moves, chat.owner, entered, label="b") as second,
    ):
        assert await names(first) == [("caught_up", "0")]
        await chat.send("more")
        assert await names(first) == [("changed", "1")]
        # It came a little later, and is told where the feed is.
        assert await names(second) == [("caught_up", "1")]
        assert stage.hub.watchers == 2
        assert stage.hub.cut(lambda watcher: watcher.label == "a") == 1
        (closing,) = (await anext(first)).frames
        assert (closing.event, msgspec.json.decode(closing.data)) == ("closing", {"reason": "access"})
        await stage.hub.close()
        assert await names(second) == [("closing", "")]


async def test_feeds_of_one_kind_are_polled_together_and_closed_when_left(stage: Stage) -> None:
    hub = Hub(stage.store, stage.bus, QUICK)
    sources: list[Polled] = []

    def entered_here(source: Polled, watcher: Watcher) -> None:
        sources.append(source)
        source.watchers.add(watcher)

    tasks = len(asyncio.all_tasks())
    async with (
        hub.watch_source(Polled, "one", entered_here) as one,
        hub.watch_source(Polled, "two", entered_here),
        hub.watch_source(Polled, "one", entered_here),
    ):
        assert await names(one) == [("caught_up", "0")]
        assert sources[0] is sources[2] is not sources[1]
        await eventually(lambda: min(source.looked for source in sources) >= 2)
    await eventually(lambda: all(source.closed for source in sources))
    await hub.close()
    assert len(asyncio.all_tasks()) <= tasks


async def test_an_error_ends_the_feed_and_nothing_else(stage: Stage) -> None:
    class Broken(Moves):
        @override
        async def hear(self, event: BusEvent) -> None:
            raise ValueError("broken")

    chat = await stage.chat()
    async with stage.hub.watch_source(Broken, chat.owner, entered) as watcher:
        assert await names(watcher) == [("caught_up", "0")]
        await chat.send("more")
        (closing,) = (await anext(watcher)).frames
        assert msgspec.json.decode(closing.data) == {"reason": "failed"}
    # Who comes back gets a new one.
    async with stage.hub.watch_source(Moves, chat.owner, entered) as watcher:
        assert await names(watcher) == [("caught_up", "0")]
