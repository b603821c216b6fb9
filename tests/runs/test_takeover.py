"""A run is taken over: another worker replays its script to where its journal ends, and continues there."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from holdfast.core.events import RunHint
from holdfast.scripts.runs.sandboxes import Sandboxes
from holdfast.store import journals
from holdfast.store import runs as run_queries
from holdfast.store.journals import Entries, LeaseLost
from holdfast.store.query import query
from tests.providers.answering import Asked
from tests.providers.replies import Hang, Reply
from tests.runs.stage import COST, Stage, chats_of, js, py, texts
from tests.runs.test_runs import save
from tests.worker.engine import OWNER, SETTINGS, eventually

pytestmark = pytest.mark.heavy

HANGS = Reply(fault=Hang())
LEASE = replace(SETTINGS, lease_seconds=1.5)

RACE = py(
    "log('begin')\n"
    "phase('Race')\n"
    "first = await agent('a')\n"
    "log('between')\n"
    "rest = await parallel([lambda n=n: agent(f'{first} {n}') for n in range(4)])\n"
    "return [first, rest, budget.spent()]"
)


async def test_a_run_is_handed_over_when_its_worker_stops(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    hanging = {"<a> 2"}
    stage.answers = lambda prompt, asked: HANGS if prompt in hanging else None
    first = stage.work()
    run = await stage.start(RACE)
    await stage.until(
        run.id,
        lambda seen: sum(c.delivery is not None for c in seen.calls) == 4 and stage.prompts["<a> 2"] == 1,
    )
    hanging.clear()
    await stage.engine.stop(first)
    assert (await stage.details(run.id)).run.status == "running"
    stage.work()
    ran = await stage.over(run.id)
    assert ran.run.result == ["<a>", [f"<<a> {n}>" for n in range(4)], 5 * COST]
    assert ran.run.lease_number == 2
    # Only what was under way is asked for again, in its own chat.
    assert stage.prompts == {"a": 1, "<a> 0": 1, "<a> 1": 1, "<a> 2": 2, "<a> 3": 1}
    assert texts(ran, "log") == ["begin", "between"]
    assert texts(ran, "phase") == ["Race"]


async def test_answers_are_delivered_again_in_the_recorded_order(stage: Stage) -> None:
    """Who came first decides what is asked next: after the takeover the same one did."""
    gate = asyncio.Event()
    stage.answers = lambda prompt, asked: HANGS if prompt == "left" and not gate.is_set() else None
    body = js(
        "const left = agent('left'), right = agent('right')\n"
        "const winner = await Promise.race([left, right])\n"
        "const next = await agent(`after ${winner}`)\n"
        "return [winner, next, await left, await agent(`spent ${budget.spent()}`)]"
    )
    first = stage.work()
    run = await stage.start(body)
    await stage.until(run.id, lambda seen: sum(c.delivery is not None for c in seen.calls) == 2)
    gate.set()
    await stage.engine.stop(first)
    stage.work()
    ran = await stage.over(run.id)
    assert ran.run.result == ["<right>", "<after <right>>", "<left>", f"<spent {3 * COST}>"]
    assert stage.prompts["after <right>"] == 1


async def test_a_workflow_inside_goes_on_with_the_text_it_had(stage: Stage) -> None:
    save(stage, "inner", "log('in'); const a = await agent('x'); log('more'); return [a, await agent('y')]")
    save(stage, "early", "log('early'); return await agent('e')")
    hanging = {"y"}
    stage.answers = lambda prompt, asked: HANGS if prompt in hanging else None
    first = stage.work()
    run = await stage.start(
        js(
            "const e = await workflow('early'); log('main'); const i = await workflow('inner')\n"
            "log('end'); return [e, i]"
        )
    )
    await stage.until(run.id, lambda seen: any(c.scope == 2 and c.delivery for c in seen.calls))
    await stage.engine.until_asked(3)
    hanging.clear()
    await stage.engine.stop(first)
    save(stage, "inner", "return 'changed'")
    save(stage, "early", "return 'changed'")
    stage.work()
    ran = await stage.over(run.id)
    assert ran.run.result == ["<e>", ["<x>", "<y>"]]
    assert texts(ran, "log") == ["early", "main", "in", "more", "end"]
    assert (stage.prompts["e"], stage.prompts["x"]) == (1, 1)


async def test_a_pause_goes_on_where_it_was(stage: Stage) -> None:
    first = stage.work()
    run = await stage.start(py("await asyncio.sleep(3600)\nreturn 'awake'"))
    before = await stage.working(run.id, 1)
    await stage.engine.stop(first)
    second = stage.work()
    await stage.until(run.id, lambda seen: seen.run.lease_number == 2)
    after = await stage.details(run.id)
    assert after.calls[0].started_at == before.calls[0].started_at
    await stage.engine.stop(second)


async def test_a_reminder_is_given_once_whoever_owns_the_run(stage: Stage) -> None:
    def answers(_: str, asked: Asked) -> Reply | str:
        reminded = sum(message["role"] == "user" for message in asked.body["messages"]) > 1
        return HANGS if reminded and len(workers) == 1 else "just words"

    stage.answers = answers
    workers = [stage.work()]
    run = await stage.start(js("return await agent('x', {schema: {type: 'object'}})"))
    await stage.engine.until_asked(2)
    await stage.engine.stop(workers[0])
    workers.append(stage.work())
    ran = await stage.over(run.id)
    assert ran.run.status == "failed"
    (chat_id,) = chats_of(ran.calls)
    users = [message for message in await stage.engine.history(chat_id) if message.role == "user"]
    assert len(users) == 2


async def test_a_worker_that_lost_its_lease_writes_nothing(stage_everywhere: Stage) -> None:
    store = stage_everywhere.engine.store
    run = await stage_everywhere.start(js("return 1"))
    old = await store.register_worker("old", 30.0)
    (owned,) = await store.write(run_queries.acquire(old, 3))
    await store.retire(old)
    new = await store.register_worker("new", 30.0)
    (taken,) = await store.write(run_queries.acquire(new, 3))
    assert (owned.lease_number, taken.lease_number) == (1, 2)
    with pytest.raises(LeaseLost):
        await store.write(journals.record(run.id, owned.lease_number, Entries()))
    version = await store.write(journals.record(run.id, taken.lease_number, Entries()))
    assert version == taken.version + 1


async def test_a_replay_that_contradicts_the_journal_fails_clearly(stage: Stage) -> None:
    stage.answers = lambda prompt, asked: HANGS if prompt == "b" else None
    first = stage.work()
    run = await stage.start(js("await agent('a'); return await agent('b')"))
    await stage.working(run.id, 2)
    await stage.engine.stop(first)
    await _change_text(stage, run.id, js("await agent('z'); return await agent('b')"))
    stage.work()
    ran = await stage.over(run.id)
    assert ran.run.status == "failed"
    assert ran.run.error is not None
    assert "The journal has call 1" in ran.run.error.message
    assert "fresh" in ran.run.error.message


async def test_a_call_that_is_not_made_again_is_found_out(stage: Stage) -> None:
    stage.answers = lambda prompt, asked: HANGS if prompt == "b" else None
    first = stage.work()
    run = await stage.start(js("await agent('a'); return await agent('b', {label: 'B'})"))
    seen = await stage.working(run.id, 2)
    await stage.engine.stop(first)
    await _change_text(stage, run.id, js("await agent('a'); return await new Promise(() => {})"))
    stage.work()
    ran = await stage.over(run.id)
    assert ran.run.status == "failed"
    assert (await stage.engine.settled(chats_of(seen.calls)[1])).chat.status == "idle"


async def _change_text(stage: Stage, run_id: str, text: str) -> None:
    """What cannot happen: the text is pinned."""
    await stage.engine.store.write(
        query("UPDATE runs SET script = $2 WHERE id = $1", run_id, text, read=lambda _: None)
    )


async def test_hints_tell_watchers_of_every_step(stage: Stage) -> None:
    versions: list[int] = []
    run = await stage.start(js("return await agent('a')"))

    async def watch() -> None:
        async with stage.engine.bus.listen(run_id=run.id) as events:
            async for event in events:
                assert isinstance(event, RunHint)
                assert event.owner_id == OWNER
                versions.append(event.version)

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)
    stage.work()
    ran = await stage.over(run.id)
    await asyncio.sleep(0)
    watching.cancel()
    assert versions == sorted(set(versions))
    assert versions[-1] == ran.run.version
    since = await stage.engine.store.read(journals.since(run.id, versions[-2]))
    assert [call.status for call in since.calls] == ["succeeded"]
    nothing: Any = await stage.engine.store.read(journals.since(run.id, versions[-1]))
    assert (nothing.calls, nothing.lines) == ((), ())


@pytest.mark.parametrize("spares", [False, True])
async def test_sandboxes_end_with_their_runs(stage: Stage, spares: bool) -> None:
    stage.spares = spares
    stage.answers = lambda prompt, asked: HANGS
    worker = stage.work()
    run = await stage.start(js("return await agent('a')"))
    await stage.working(run.id, 1)
    assert _sandboxes()
    await stage.engine.stop(worker)
    assert not _sandboxes()


async def test_a_sandbox_that_was_opened_ahead_is_used(stage: Stage) -> None:
    stage.spares = True
    worker = stage.work()
    for number in range(3):
        assert await stage.result(js(f"return await agent('n{number}')")) == f"<n{number}>"
        assert len(_sandboxes()) <= 2
    await stage.engine.stop(worker)
    assert not _sandboxes()


async def test_one_that_died_meanwhile_is_replaced(stage: Stage) -> None:
    stage.spares = True
    stage.work()
    await stage.result(js("return 1"))
    await eventually(lambda: len(_sandboxes()) == 1)
    (pid,) = _sandboxes()
    os.kill(int(pid), signal.SIGKILL)
    await eventually(lambda: not _sandboxes())
    assert await stage.result(js("return 2")) == 2


async def test_giving_up_a_sandbox_that_is_just_being_opened_ends() -> None:
    """At whichever moment: a run may be cancelled before it has begun."""
    sandboxes = Sandboxes()
    await (await sandboxes.open("javascript")).close()
    for moment in range(20):
        opening = asyncio.create_task(sandboxes.open("javascript"))
        for _ in range(moment):
            await asyncio.sleep(0)
        opening.cancel()
        async with asyncio.timeout(60):
            await asyncio.wait({opening})
        if not opening.cancelled():
            await opening.result().close()
        assert not _sandboxes()


def _sandboxes() -> list[str]:
    """Of this process."""
    me = str(Path("/proc/self").resolve().name)
    found: list[str] = []
    for children in Path("/proc").glob(f"{me}/task/*/children"):
        for pid in children.read_text().split():
            line = Path(f"/proc/{pid}/cmdline")
            if line.exists() and "holdfast.scripts.engines.inside" in line.read_text():
                found.append(pid)
    return found
