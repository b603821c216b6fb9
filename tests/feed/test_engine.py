"""The feed of chats that a real worker runs against the scripted provider: what is streamed is what is
committed, and nothing is withdrawn that was not given up."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from holdfast.chats.commands import Compact, Edit, Interrupt
from holdfast.core.ids import ChatId
from holdfast.core.parts import Text
from holdfast.feed.hub import Hub
from tests.feed.client import Client, said_in
from tests.feed.stage import QUICK
from tests.providers.replies import Call, Drop, Reply, Say, Status, Think, fails, say
from tests.worker.conftest import opened
from tests.worker.engine import OWNER, Engine
from tests.worker.toolbox import Toolbox

SLOWLY = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen."


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with opened("sqlite", tmp_path, Toolbox()) as engine:
        yield engine


@asynccontextmanager
async def watched(engine: Engine, chat_id: ChatId) -> AsyncGenerator[Client]:
    """Until the end of the block, at which the client holds what is stored."""
    hub, client = Hub(engine.store, engine.bus, QUICK), Client()
    task = asyncio.create_task(client.connect(hub, chat_id))
    task.add_done_callback(client.note_end)
    try:
        yield client
        stored = await said_in(engine.store, chat_id)
        await client.until(lambda c: c.said == stored and c.preview is None)
    finally:
        await hub.close()
        with suppress(asyncio.CancelledError):
            await task


@pytest.mark.parametrize("name", ["default", "claude", "demo"])
async def test_a_turn_with_tools_is_never_withdrawn(engine: Engine, name: str) -> None:
    ask = 'call: add {"a": 1, "b": 2}\nsay: The sum is {result}.'
    chat = await engine.create(ask, model=name)
    async with watched(engine, chat) as client:
        await client.until(lambda c: "caught_up" in c.names)
        engine.start()
        await engine.idle(chat)
    # Whether parts are seen before their commit depends on the machine; the interrupts below wait for them.
    assert "preview_reset" not in client.names
    assert {span["kind"] for span in client.spans.values()} == {"turn", "step", "model_call", "tool_call"}
    assert all(span["finished_at"] is not None for span in client.spans.values())


async def test_everything_a_model_says_is_shown(engine: Engine) -> None:
    engine.server.queue(
        Reply(content=(Think("Hm, let me see."), Say("Well. "), Call("add", {"a": 1, "b": 2})))
    )
    engine.server.queue(say("Three."))
    chat = await engine.create("Add", model="claude")
    async with watched(engine, chat) as client:
        await client.until(lambda c: "caught_up" in c.names)
        engine.start()
        await engine.idle(chat)
    assert "preview_reset" not in client.names


async def test_an_attempt_that_fails_midway_is_withdrawn_once(engine: Engine) -> None:
    engine.server.queue(
        Reply(content=(Say(SLOWLY),), fault=Drop(after=0.4), delay_seconds=0.005), say("Better.")
    )
    chat = await engine.create("Count")
    async with watched(engine, chat) as client:
        await client.until(lambda c: "caught_up" in c.names)
        engine.start()
        await engine.idle(chat)
    assert client.names.count("preview_reset") <= 1
    assert "retry" in client.names


async def test_an_interrupt_keeps_what_was_shown(engine: Engine) -> None:
    engine.server.queue(say(SLOWLY, delay_seconds=0.02, piece=4))
    chat = await engine.create("Count")
    async with watched(engine, chat) as client:
        engine.start()
        await client.until(lambda c: c.preview and len(c.preview.text) > 20)
        await engine.do(chat, Interrupt())
        await engine.idle(chat)
    assert "preview_reset" not in client.names


async def test_an_edit_while_the_model_speaks(engine: Engine) -> None:
    engine.server.queue(say(SLOWLY, delay_seconds=0.02, piece=4), say("Again."))
    chat = await engine.create("Count")
    async with watched(engine, chat) as client:
        engine.start()
        await client.until(lambda c: c.preview and len(c.preview.text) > 20)
        first = (await engine.history(chat))[0]
        await engine.do(chat, Edit(message_id=first.id, parts=(Text(text="Go"),), created_by=OWNER))
        await engine.idle(chat)
    assert client.names.count("history_reset") == 1


async def test_a_compaction_is_shown_as_its_call(engine: Engine) -> None:
    engine.server.queue(say("Hello."), say("A summary."))
    engine.start()
    chat = await engine.create("Hi")
    await engine.idle(chat)
    async with watched(engine, chat) as client:
        await client.until(lambda c: "caught_up" in c.names)
        await engine.do(chat, Compact())
        await engine.idle(chat)
    assert "preview_reset" not in client.names
    assert [message["role"] for message in client.messages.values()][-2:] == ["assistant", "tool"]


async def test_a_turn_that_fails_says_so(engine: Engine) -> None:
    engine.server.queue(fails(Status(401)))
    engine.start()
    chat = await engine.create("Hi")
    async with watched(engine, chat) as client:
        await engine.failed(chat)
        await client.until(lambda c: "failed" in c.state and c.status == "error")
