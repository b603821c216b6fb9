"""The feed of a chat list: what appears, changes and goes, what needs the person, and coming back to it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfast.chats.commands import (
    Archive,
    Compact,
    Create,
    Delete,
    FinishTurn,
    Interrupt,
    RequireAction,
)
from holdfast.core.chats import Chat, Settings
from holdfast.core.ids import ChatId, RunId, UserId
from holdfast.core.origins import FromChat, FromRun
from holdfast.store.chats import chat as chat_query
from tests.feed.client import PATIENCE_SECONDS
from tests.feed.stage import QUICK, Chatting, Stage, staged
from tests.store.world import call, fresh_id, text, user


class ListClient:
    """What was told, by chat."""

    def __init__(self) -> None:
        self.cursor: str | None = None
        self.told: list[tuple[str, str]] = []
        self.chats: dict[str, dict[str, Any]] = {}
        self.changed = asyncio.Event()

    async def connect(self, stage: Stage, owner: UserId) -> None:
        async with stage.hub.watch_list(owner, cursor=self.cursor, label=owner) as watcher:
            async for batch in watcher:
                for frame in batch.frames:
                    self.cursor = frame.id or self.cursor
                    data = msgspec.json.decode(frame.data)
                    self.told.append((frame.event, data.get("id", "")))
                    if frame.event in ("created", "changed", "needs_you"):
                        self.chats[data["id"]] = data
                    self.changed.set()

    async def until(self, *told: tuple[str, str]) -> None:
        """All of these were told."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not set(told) <= set(self.told):
                self.changed.clear()
                await self.changed.wait()

    async def until_chat(self, chat_id: ChatId, **fields: object) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while any(self.chats.get(chat_id, {}).get(name, ...) != value for name, value in fields.items()):
                self.changed.clear()
                await self.changed.wait()

    def of(self, chat_id: ChatId) -> list[str]:
        return [event for event, about in self.told if about == chat_id]


@asynccontextmanager
async def listing(
    stage: Stage, owner: UserId, client: ListClient | None = None
) -> AsyncGenerator[ListClient]:
    client = client or ListClient()
    task = asyncio.create_task(client.connect(stage, owner))
    before = client.told.count(("caught_up", ""))
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while client.told.count(("caught_up", "")) == before:
                client.changed.clear()
                await client.changed.wait()
        yield client
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.fixture
def owner() -> UserId:
    return user()


async def chat_of(stage: Stage, owner: UserId, content: str = "hello") -> Chatting:
    chat = Chatting(stage.store, stage.way)
    chat.owner = owner
    stage.chats[chat.id] = chat
    await chat.create(content)
    return chat


async def test_a_chats_life_is_told(stage_everywhere: Stage, owner: UserId) -> None:
    stage = stage_everywhere
    old = await chat_of(stage, owner)
    async with listing(stage, owner) as client:
        chat = await chat_of(stage, owner)
        await client.until(("created", chat.id))
        stored = await stage.store.read(chat_query(chat.id))
        assert msgspec.convert(client.chats[chat.id], Chat) == stored
        await stage.store.update_settings(chat.id, title="renamed")
        await client.until_chat(chat.id, title="renamed")
        await chat.answer("Hi.")
        await client.until(("needs_you", chat.id))
        await stage.store.transition(chat.id, Archive())
        await client.until_chat(chat.id, archived=True)
        await stage.store.transition(chat.id, Delete())
        await client.until(("removed", chat.id))
        assert client.of(chat.id).count("created") == 1
        assert client.of(chat.id).count("needs_you") == 1
        assert "created" not in client.of(old.id)


async def test_others_chats_are_not_told(stage: Stage, owner: UserId) -> None:
    async with listing(stage, owner) as client:
        other = await stage.chat()
        await other.answer("Hi.")
        chat = await chat_of(stage, owner)
        await client.until(("created", chat.id))
        assert client.of(other.id) == []


async def test_many_steps_are_few_events(stage: Stage, owner: UserId) -> None:
    async with listing(stage, owner) as client:
        chat = await chat_of(stage, owner)
        for n in range(30):
            await chat.begin()
            chat.stream(f"step {n}")
            await chat.commit()
        await chat.answer("Done.")
        await client.until(("needs_you", chat.id))
        assert client.of(chat.id).count("needs_you") == 1
        commits = (await chat.view()).chat.version
        assert commits > 60
        assert len(client.of(chat.id)) < commits


@pytest.mark.parametrize("end", ["finished", "failed", "asked"])
async def test_a_person_is_needed(stage: Stage, owner: UserId, end: str) -> None:
    chat = await chat_of(stage, owner)
    async with listing(stage, owner) as client:
        await chat.begin()
        match end:
            case "finished":
                await chat.finish()
            case "failed":
                await chat.fail_turn()
            case _:
                await chat.commit(call("c1", waits_for="approval"), and_then=(RequireAction(),))
        await client.until(("needs_you", chat.id))
        await stage.store.update_settings(chat.id, title="renamed")
        await client.until_chat(chat.id, title="renamed")
        assert client.of(chat.id).count("needs_you") == 1


@pytest.mark.parametrize("end", ["interrupted", "goes on", "compacted"])
async def test_a_person_is_not_needed(stage: Stage, owner: UserId, end: str) -> None:
    chat = await chat_of(stage, owner)
    if end == "compacted":
        await chat.answer("Hi.")
    async with listing(stage, owner) as client:
        match end:
            case "interrupted":
                await chat.begin()
                await chat.do(Interrupt())
                await chat.finish_interrupt()
            case "goes on":
                await chat.send("and then this")
                await chat.answer("Yes.")
            case _:
                await chat.do(Compact())
                await chat.own()
                await chat.do(FinishTurn())
        await stage.store.update_settings(chat.id, title="the end")
        await client.until_chat(chat.id, title="the end")
        assert "needs_you" not in client.of(chat.id)


async def test_what_a_sub_agent_asks_is_asked_of_its_root(stage: Stage, owner: UserId) -> None:
    root = await chat_of(stage, owner)
    await root.own()
    async with listing(stage, owner) as client:
        child = Chatting(stage.store, stage.way)
        await child.do(
            Create(
                owner_id=owner,
                settings=Settings(),
                parts=text("sub"),
                origin=FromChat(chat_id=root.id),
                root_id=root.id,
            )
        )
        await child.begin()
        await child.commit(call("c1", waits_for="approval"), and_then=(RequireAction(),))
        await client.until(("needs_you", root.id))
        assert client.of(child.id) == []
        assert client.chats[root.id]["action"]["calls"][0]["chat_id"] == child.id


async def test_who_comes_back_gets_what_was_active_meanwhile(stage_everywhere: Stage, owner: UserId) -> None:
    stage = stage_everywhere
    quiet, busy = await chat_of(stage, owner), await chat_of(stage, owner)
    client = ListClient()
    async with listing(stage, owner, client):
        await busy.answer("Hi.")
        await client.until(("needs_you", busy.id))
    new = await chat_of(stage, owner)
    await busy.send("more")
    client.told.clear()
    async with listing(stage, owner, client):
        assert [about for event, about in client.told if event == "changed"] == [new.id, busy.id]
        assert client.told[-1] == ("caught_up", "")
        assert quiet.id not in dict(client.told).values()


@pytest.mark.parametrize(
    "cursor", [None, "garbage", "1.99999999999999.00000000-0000-0000-0000-000000000000.0"]
)
async def test_without_a_cursor_nothing_is_repeated(stage: Stage, owner: UserId, cursor: str | None) -> None:
    await chat_of(stage, owner)
    client = ListClient()
    client.cursor = cursor
    async with listing(stage, owner, client):
        assert client.told == [("caught_up", "")]


async def test_lost_hints_only_delay(stage_everywhere: Stage, owner: UserId) -> None:
    stage = stage_everywhere
    chat = await chat_of(stage, owner)
    async with listing(stage, owner) as client:
        stage.way.fate = lambda: "lost"
        await chat.answer("Hi.")
        new = await chat_of(stage, owner)
        await client.until(("needs_you", chat.id), ("created", new.id))


async def test_lists_that_are_opened_while_others_are_looked_at(tmp_path: Path) -> None:
    """One that has no place in its list when the question is asked, and has one when the answer comes."""
    async with (
        staged("sqlite", tmp_path, replace(QUICK, poll_seconds=0.0)) as stage,
        AsyncExitStack() as opened,
    ):
        for _ in range(30):
            await opened.enter_async_context(listing(stage, user()))
        owner = user()
        client = await opened.enter_async_context(listing(stage, owner))
        stage.way.fate = lambda: "lost"
        new = await chat_of(stage, owner)
        await client.until(("created", new.id))


async def test_agents_of_runs_are_not_listed(stage: Stage, owner: UserId) -> None:
    async with listing(stage, owner) as client:
        agent = Chatting(stage.store, stage.way)
        await agent.do(
            Create(
                owner_id=owner,
                settings=Settings(),
                parts=text("run"),
                origin=FromRun(run_id=RunId(fresh_id())),
            )
        )
        chat = await chat_of(stage, owner)
        await client.until(("created", chat.id))
        assert client.of(agent.id) == []


async def test_lists_end_as_feeds_do(stage: Stage, owner: UserId) -> None:
    other = user()
    async with listing(stage, owner) as cut, listing(stage, other) as kept:
        assert stage.hub.cut(lambda watcher: watcher.label == owner) == 1
        await cut.until(("closing", ""))
        assert ("closing", "") not in kept.told
        await stage.hub.close()
        await kept.until(("closing", ""))
