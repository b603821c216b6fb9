"""A call's writes are accepted only while the call is running: a server that lost the chat and comes back
does nothing more on its behalf."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from holdfast.bus.memory import MemoryBus
from holdfast.chats.change import Refusal
from holdfast.chats.commands import Command, Create, Interrupt
from holdfast.core.errors import HoldfastError
from holdfast.core.ids import ChatId
from holdfast.store.interface import Applied, Replayed
from holdfast.store.open import open_store
from tests.providers.replies import calls
from tests.tcp_proxy import TcpProxy
from tests.tools.families import a_scene, spawn
from tests.worker.engine import PATIENCE_SECONDS, SETTINGS, Engine, eventually, is_settled
from tests.worker.toolbox import Toolbox

# The shortest that may be configured.
LEASE_SECONDS = 3.0


@pytest.mark.heavy
async def test_a_replica_that_lost_the_chat_starts_no_sub_agent(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(SETTINGS, lease_seconds=LEASE_SECONDS)
    async with TcpProxy(postgres_url) as line, a_scene(line.url, tmp_path) as scene:
        engine, outcomes = scene.engine, list[Applied | Refusal | Replayed | HoldfastError]()
        transition = engine.store.transition

        async def silent_at_the_creation(chat_id: ChatId, *commands: Command, **more: Any) -> Any:
            if not isinstance(commands[0], Create) or more.get("once") is None:
                return await transition(chat_id, *commands, **more)
            line.mode = "black_hole"
            try:
                outcomes.append(await transition(chat_id, *commands, **more))
            except HoldfastError as error:
                outcomes.append(error)
                raise
            return outcomes[-1]

        monkeypatch.setattr(engine.store, "transition", silent_at_the_creation)
        parent = await scene.parent(calls(spawn("say: never")))
        scene.start(lease_seconds=LEASE_SECONDS)
        await eventually(lambda: line.mode == "black_hole")
        bus = MemoryBus()
        elsewhere = await open_store(postgres_url, data=tmp_path / "b", publish=bus.publish)
        try:
            assert isinstance(await elsewhere.transition(parent, Interrupt()), Applied)
            engine.start(settings, store=elsewhere, bus=bus)
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not ((view := await elsewhere.view(parent)) and is_settled(view)):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            # The connection comes back, and the old owner is in the middle of its creation.
            line.mode = "pass"
            line.cut()
            await eventually(lambda: bool(outcomes))
            assert not isinstance(outcomes[0], Applied | Replayed)
            await engine.stop()
            assert await scene.children(parent) == []
        finally:
            await engine.stop()
            await elsewhere.close()


async def test_what_a_thread_was_about_to_do_is_not_done_once_the_lease_is_over(
    engine: Engine, tools: Toolbox
) -> None:
    """As after a freeze between the look at the lease and the effect."""
    chat = await engine.create('call: tidy {"name": "late"}')
    worker = engine.start(replace(SETTINGS, cancel_seconds=0.1, grace_seconds=0.0))
    await eventually(lambda: bool(tools.contexts))
    (context,) = tools.contexts
    assert await asyncio.to_thread(context.still_ours)
    assert context.fence is not None
    await engine.stop(worker)
    assert not await asyncio.to_thread(context.still_ours)
    view = await engine.store.view(chat)
    assert view is not None
    assert view.chat.status == "running"
