"""Whoever waits for an end is told at once, by a hint, here or on another replica; a lost hint only causes a
delay."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from holdfast.bus.postgres import PostgresBus
from holdfast.store import children
from holdfast.store.open import open_store
from holdfast.tools import waits
from tests.providers.replies import call, calls, say
from tests.providers.server import ProviderServer
from tests.tools.families import AT_ONCE, AT_REST, WAIT, Scene, spawn
from tests.worker.engine import Engine, Hints, ShiftedClock, eventually, is_settled, providers
from tests.worker.toolbox import Toolbox

# Longer than any test waits.
NEVER_SECONDS = 600.0


@pytest.fixture
def no_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "POLL_SECONDS", NEVER_SECONDS)


@pytest.mark.usefixtures("no_poll")
async def test_a_wait_ends_with_the_hint_of_the_last_end(scene_everywhere: Scene) -> None:
    scene = scene_everywhere
    scene.start(notice_seconds=AT_REST, poll_seconds=NEVER_SECONDS)
    held = [scene.script(call("patient", {"name": f"h{n}"}), say(f"result-{n}")) for n in range(2)]
    parent = await scene.parent(calls(*map(spawn, held)), WAIT, say("Done."))
    await scene.engine.until(parent, lambda view: any(call.name == "wait_agents" for call in view.calls))
    for n in range(2):
        await eventually(lambda n=n: f"h{n}" in scene.tools.ledger)
        scene.tools.go(f"h{n}").set()
    await scene.engine.idle(parent)
    assert [await scene.times_told(parent, f"result-{n}") for n in range(2)] == [1, 1]


async def test_a_notice_follows_the_hint_of_an_end(scene_everywhere: Scene) -> None:
    scene = scene_everywhere
    scene.start(poll_seconds=NEVER_SECONDS)
    held = scene.script(call("patient", {"name": "held"}), say("the result"))
    parent = await scene.parent(calls(spawn(held)), say("I go on."))
    await scene.engine.idle(parent)
    await eventually(lambda: "held" in scene.tools.ledger)
    scene.tools.go("held").set()
    await scene.engine.until(parent, lambda view: view.chat.turn == 2 and is_settled(view))
    assert len(await scene.notices(parent)) == 1


async def test_without_hints_polls_find_it(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "POLL_SECONDS", 0.1)
    scene.start(notice_seconds=AT_REST)
    held = scene.script(call("patient", {"name": "held"}), say("the result"))
    waiting = await scene.parent(calls(spawn(held)), WAIT)
    await scene.engine.until(waiting, lambda view: any(call.name == "wait_agents" for call in view.calls))
    resting = await scene.parent(calls(spawn(held)), say("I go on."))
    await scene.engine.idle(resting)
    await eventually(lambda: scene.tools.ledger.count("held") == 2)
    scene.engine.hints.lost = True
    scene.tools.go("held").set()
    await scene.engine.idle(waiting)
    await scene.engine.until(resting, lambda view: view.chat.turn == 2 and is_settled(view))
    assert await scene.times_told(waiting, "the result") == 1
    assert await scene.times_told(resting, "the result") == 1


async def test_nothing_to_tell_is_found_in_an_index(scene: Scene) -> None:
    """It is asked every second, for ever, and most ends were told long ago."""
    scene.start(notice_seconds=AT_ONCE)
    parent = await scene.parent(calls(spawn("say: x")), WAIT)
    await scene.engine.idle(parent)
    explained = f"EXPLAIN QUERY PLAN {children.UNTOLD}"
    query = children.query(explained, 1, 0, read=lambda rows: [str(row[3]) for row in rows])
    plan = await scene.engine.store.read(query)
    assert any("deliveries_for_parent" in line for line in plan), plan
    assert not any(line.startswith("SCAN") and "USING" not in line for line in plan), plan


# Replicas


@asynccontextmanager
async def replica(url: str, path: Path, server: ProviderServer) -> AsyncGenerator[Scene]:
    """A process of its own, as far as hints go."""
    async with PostgresBus(url) as bus, providers(server) as models:
        clock, tools = ShiftedClock(), Toolbox()
        hints = Hints(cast(Any, bus))
        store = await open_store(url, data=path, publish=hints.publish, clock=clock)
        engine = Engine(store, clock, cast(Any, bus), hints, models, server, tools.registry())
        try:
            yield Scene(engine, tools)
        finally:
            await engine.stop()
            await store.close()


@pytest.mark.heavy
@pytest.mark.usefixtures("no_poll")
async def test_the_end_of_a_child_on_another_replica(postgres_url: str, tmp_path: Path) -> None:
    async with (
        ProviderServer() as server,
        replica(postgres_url, tmp_path, server) as there,
        replica(postgres_url, tmp_path, server) as here,
    ):
        # Chats run here, their sub-agents there.
        here.start(notice_seconds=AT_REST, poll_seconds=NEVER_SECONDS, max_agents=0)
        there.start(notice_seconds=AT_REST, poll_seconds=NEVER_SECONDS, max_chats=0)
        held = here.script(call("patient", {"name": "held"}), say("the result"))
        parent = await here.parent(calls(spawn(held)), WAIT, say("Done."))
        await here.engine.until(parent, lambda view: any(call.name == "wait_agents" for call in view.calls))
        await eventually(lambda: "held" in there.tools.ledger)
        there.tools.go("held").set()
        await here.engine.idle(parent)
        assert await here.times_told(parent, "the result") == 1
