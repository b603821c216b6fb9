"""A feed whose database cannot be asked, or whose reading fails, and families that move without a hint."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

import pytest
import structlog

from holdfast.chats.commands import Create, RequireAction
from holdfast.core.chats import Settings
from holdfast.core.errors import StoreClosed, TryAgain
from holdfast.core.origins import FromChat
from holdfast.feed.hub import Hub
from holdfast.feed.limits import PageSize
from holdfast.store.interface import Store
from holdfast.store.query import Query
from tests.feed.client import Client, eventually, said_in
from tests.feed.stage import QUICK, Chatting, Stage, watching
from tests.store.world import call, text


class Troubled:
    """A store whose readings fail as long as they should."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.trouble: Callable[[], Exception | None] = lambda: None
        self.failures = 0

    async def read(self, *queries: Query[Any]) -> Any:
        if (error := self.trouble()) is not None:
            self.failures += 1
            raise error
        return await cast(Any, self._store).read(*queries)


class Troubling:
    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.store = Troubled(stage.store)
        # Little at a time, so that a watcher reads for itself too.
        limits = type(QUICK)(
            poll_seconds=0.05,
            door_page=PageSize(messages=2, bytes=100),
            own_page=PageSize(messages=2, bytes=100),
        )
        self.hub = Hub(cast(Store, self.store), stage.bus, limits)


@pytest.fixture
async def troubling(stage: Stage) -> AsyncIterator[Troubling]:
    made = Troubling(stage)
    yield made
    await made.hub.close()


def away() -> Exception:
    return TryAgain("The database is away.", 0.01)


async def test_a_database_that_is_away_only_delays(troubling: Troubling) -> None:
    stage, store = troubling.stage, troubling.store
    chat = await stage.chat()
    for n in range(5):
        await chat.answer(f"answer {n}")
        await chat.send(f"question {n}")
    store.trouble = away
    client = Client()
    task = asyncio.create_task(client.connect(troubling.hub, chat.id))
    task.add_done_callback(client.note_end)
    await eventually(lambda: store.failures > 3)
    # Every second reading fails: while it comes in, while it reads for itself, while it is in.
    store.trouble = lambda: away() if (store.failures + 1) % 2 else count(store)
    stored = await said_in(stage.store, chat.id)
    await client.until(lambda c: c.said == stored)
    await chat.answer("And on.")
    stored = await said_in(stage.store, chat.id)
    await client.until(lambda c: c.said == stored)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def count(store: Troubled) -> None:
    store.failures += 1


async def test_live_text_goes_on_while_the_database_is_away(troubling: Troubling) -> None:
    stage, store = troubling.stage, troubling.store
    chat = await stage.chat()
    await chat.begin()
    client = Client()
    task = asyncio.create_task(client.connect(troubling.hub, chat.id))
    task.add_done_callback(client.note_end)
    await client.until(lambda c: "caught_up" in c.names)
    store.trouble = away
    await stage.store.update_settings(chat.id, title="renamed")
    chat.stream("still ", "here")
    await client.until(lambda c: c.preview and c.preview.text == "still here")
    store.trouble = lambda: None
    await client.until(lambda c: c.state["chat"]["title"] == "renamed")
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    "error, reason", [(StoreClosed("Closed."), "closing"), (ValueError("A fault."), "failed")]
)
async def test_a_reading_that_fails_ends_the_feed_and_not_the_hub(
    troubling: Troubling, error: Exception, reason: str
) -> None:
    structlog.configure(processors=[structlog.processors.KeyValueRenderer()])
    stage, store = troubling.stage, troubling.store
    chat = await stage.chat()
    store.trouble = lambda: error
    client = Client()
    await client.connect(troubling.hub, chat.id)
    assert client.state["closing"] == {"reason": reason}
    store.trouble = lambda: None
    async with troubling.hub.watch(chat.id) as watcher:
        assert (await anext(watcher)).frames[0].event == "message"


class Gated:
    """A store whose readings wait at a gate."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.gate = asyncio.Event()
        self.gate.set()
        self.waiting = 0

    async def read(self, *queries: Query[Any]) -> Any:
        self.waiting += 1
        await self.gate.wait()
        self.waiting -= 1
        return await cast(Any, self._store).read(*queries)


async def test_who_cannot_follow_the_parts_is_told_what_is_committed_all_the_same(stage: Stage) -> None:
    """Also when it came to wait while that was being read."""
    store = Gated(stage.store)
    hub = Hub(cast(Store, store), stage.bus, replace(QUICK, kept_bytes=200, poll_seconds=1000))
    chat = await stage.chat()
    await chat.begin()
    first = Client()
    watching_first = asyncio.create_task(first.connect(hub, chat.id))
    await first.until(lambda c: "caught_up" in c.names)
    chat.stream(*"abcdefgh")
    await first.until(lambda c: c.preview and c.preview.text == "abcdefgh")
    late = Client()
    async with hub.watch(chat.id) as watcher:
        while "caught_up" not in late.names:
            for frame in (await anext(watcher)).frames:
                late.apply_frame(frame)
        assert late.preview is None  # the first parts are not kept: it waits outside
        store.gate.clear()
        await chat.commit()
        await eventually(lambda: store.waiting == 1)
        reading = asyncio.create_task(anext(watcher))
        await eventually(lambda: watcher.sleeps)
        store.gate.set()
        for frame in (await reading).frames:
            late.apply_frame(frame)
        assert late.said == await said_in(stage.store, chat.id)
    watching_first.cancel()
    await asyncio.wait([watching_first])
    await hub.close()


async def test_what_a_sub_agent_asks_is_shown_on_its_root(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    root = await stage.chat()
    await root.own()
    async with watching(stage, root) as client:
        await client.until(lambda c: "caught_up" in c.names)
        child = Chatting(stage.store, stage.way)
        create = Create(
            owner_id=root.owner,
            settings=Settings(),
            parts=text("sub"),
            origin=FromChat(chat_id=root.id),
            root_id=root.id,
        )
        await child.do(create)
        await child.begin()
        child.stream("Working.")
        await child.commit(call("c1", waits_for="approval"), and_then=(RequireAction(),))
        await client.until(lambda c: "action_required" in c.state)
        (asked,) = client.state["action_required"]["calls"]
        assert (asked["chat_id"], asked["call_id"]) == (child.id, "c1")
        await client.until(lambda c: c.state["usage"]["total"] > 0)
        # What the child says is not said on its root.
        assert client.preview is None
        assert len(client.messages) == 1
