"""Workers and what they own: nobody is run twice, nobody is forgotten."""

import asyncio
from datetime import timedelta

import pytest

from holdfast.chats.commands import BeginAttempt, Interrupt, Release, RequireAction
from holdfast.chats.view import View
from holdfast.core.chats import Settings
from holdfast.core.ids import RunId, WorkerId
from holdfast.core.origins import FromRun
from holdfast.store import chats
from holdfast.store.sweep import sweep
from tests.store.world import World, call, fence_of, fresh_id, user


async def test_only_chats_that_are_wanted(world: World) -> None:
    idle = await world.idle()
    waiting = await world.work(
        await world.step(await world.own(await world.create()), call("a", waits_for="approval")),
        RequireAction(),
    )
    wanted = await world.create()
    worker = await world.store.register_worker("another", 15)
    found = await world.store.acquire(worker, limit=10, agents_limit=10)
    assert [view.chat.id for view in found] == [wanted.chat.id]
    assert await world.store.acquire(worker, limit=10, agents_limit=10) == []
    for other in (idle, waiting):
        assert await world.view(other.chat.id) == other


async def test_an_acquired_chat(world: World) -> None:
    view = await world.create()
    worker = await world.register(15)
    [owned] = await world.store.acquire(worker, limit=1, agents_limit=0)
    assert owned.chat.version == view.chat.version + 1
    assert owned.chat.lease is not None
    assert (owned.chat.lease.worker_id, owned.chat.lease.number) == (worker, 1)
    if world.store.engine == "postgres":
        assert owned.chat.lease.expires_at == world.clock.now() + timedelta(seconds=15)
    assert await world.view(view.chat.id) == owned


async def test_two_acquirers_never_get_the_same(world: World) -> None:
    made = {(await world.create()).chat.id for _ in range(60)}
    workers = [await world.store.register_worker(f"w{n}", 15) for n in range(6)]

    async def take(worker: WorkerId) -> list[View]:
        found: list[View] = []
        for _ in range(20):
            found += await world.store.acquire(worker, limit=7, agents_limit=7)
        return found

    taken = [view.chat.id for found in await asyncio.gather(*map(take, workers)) for view in found]
    assert len(taken) == 60
    assert set(taken) == made


async def test_limits_count_top_level_chats_and_agents_apart(world: World) -> None:
    roots = [await world.create() for _ in range(3)]
    for root in roots:
        await world.child(root)
    await world.create(origin=FromRun(run_id=RunId(fresh_id())))
    worker = await world.register(15)
    first = await world.store.acquire(worker, limit=2, agents_limit=3)
    tops = [view for view in first if view.chat.parent_id is None and view.chat.run_id is None]
    assert (len(tops), len(first)) == (2, 5)
    assert await world.store.acquire(worker, limit=0, agents_limit=0) == []
    rest = await world.store.acquire(worker, limit=10, agents_limit=10)
    assert len(rest) == 2


async def test_interrupting_needs_no_capacity(world: World) -> None:
    view = await world.own(await world.create())
    await world.do(view.chat.id, Interrupt())
    await world.do(view.chat.id, Release())
    worker = await world.store.register_worker("another", 15)
    found = await world.store.acquire(worker, limit=0, agents_limit=0, skip_owners=[world.owner])
    assert [other.chat.id for other in found] == [view.chat.id]


async def test_owners_at_their_limit_are_skipped(world: World) -> None:
    mine, theirs = await world.create(), await world.create(owner=user())
    worker = await world.register(15)
    found = await world.store.acquire(worker, limit=10, agents_limit=10, skip_owners=[world.owner])
    assert [view.chat.id for view in found] == [theirs.chat.id]
    found = await world.store.acquire(worker, limit=10, agents_limit=10)
    assert [view.chat.id for view in found] == [mine.chat.id]


async def test_the_longest_waiting_first(world: World) -> None:
    made: list[View] = []
    for _ in range(4):
        made.append(await world.create())
        world.clock.advance(1)
    worker = await world.register(15)
    found = await world.store.acquire(worker, limit=2, agents_limit=0)
    assert {view.chat.id for view in found} == {view.chat.id for view in made[:2]}


async def test_a_lease_lives_as_long_as_it_is_renewed(world: World) -> None:
    view = await world.create()
    first = await world.register(15)
    await world.own(view)
    second = await world.store.register_worker("second", 3600)
    for _ in range(3):
        world.clock.advance(10)
        assert await world.renew(first, 15)
        assert await world.store.acquire(second, limit=10, agents_limit=10) == []
    version = (await world.view(view.chat.id)).chat.version
    assert version == 2
    world.clock.advance(16)
    [taken] = await world.store.acquire(second, limit=10, agents_limit=10)
    assert taken.chat.lease_number == 2


async def test_a_lease_that_ran_out_is_not_renewed(world: World) -> None:
    worker = await world.register(15)
    world.clock.advance(15)
    assert not await world.renew(worker, 15)
    assert await world.store.acquire(worker, limit=10, agents_limit=10) == []
    assert not await world.renew(WorkerId(fresh_id()), 15)


@pytest.mark.parametrize("seconds", [20, 3600, 10 * 365 * 86_400, -20, -3600])
async def test_a_jump_of_the_wall_clock_costs_nobody_a_lease(world: World, seconds: float) -> None:
    """On SQLite, where the one process judges its own; PostgreSQL's clock is the database's."""
    if world.store.engine == "postgres":
        pytest.skip("leases are judged by the database's clock there")
    view = await world.own(await world.create())
    assert view.chat.lease is not None
    world.clock.jump(seconds)
    other = await world.store.register_worker("other", 15)
    assert await world.store.acquire(other, limit=10, agents_limit=10) == []
    assert await world.renew(view.chat.lease.worker_id, 15)
    world.clock.advance(16)
    [taken] = await world.store.acquire(await world.register(15), limit=10, agents_limit=10)
    assert taken.chat.id == view.chat.id


async def test_the_old_owner_is_refused_after_a_takeover(world: World) -> None:
    old = await world.own(await world.create())
    worker = old.chat.lease.worker_id if old.chat.lease else None
    assert worker is not None
    await world.store.retire(worker)
    world.worker = None
    new = await world.own(old)
    refusal = await world.refused(old.chat.id, BeginAttempt(), fence=fence_of(old), view=old)
    assert refusal.code == "stale"
    assert await world.view(old.chat.id) == new


async def test_a_retired_worker_frees_everything_at_once(world: World) -> None:
    made = [await world.create() for _ in range(3)]
    worker = await world.register(3600)
    await world.store.acquire(worker, limit=10, agents_limit=10)
    world.hints.clear()
    await world.store.retire(worker)
    assert {hint.chat_id for hint in world.hints} == {view.chat.id for view in made}
    second = await world.store.register_worker("second", 15)
    assert len(await world.store.acquire(second, limit=10, agents_limit=10)) == 3


async def test_recovery_sorts_out_calls(world: World) -> None:
    view = await world.step(
        await world.own(await world.create()),
        call("read", effect="read"),
        call("unsafe"),
        call("ask", on_uncertain="ask"),
    )
    assert view.chat.lease is not None
    await world.store.retire(view.chat.lease.worker_id)
    world.worker = None
    after = await world.own(view)
    assert [(found.call_id, found.state) for found in after.calls] == [
        ("read", "pending"),
        ("unsafe", "finished"),
        ("ask", "waiting"),
    ]
    assert after.calls[1].outcome == "uncertain"


async def test_waiting_for_capacity_is_visible(world: World) -> None:
    view = await world.create(settings=Settings(title="t"))
    seen = await world.store.read(chats.chat(view.chat.id))
    assert seen is not None
    assert seen.waiting == "capacity"
    owned = await world.own(view)
    seen = await world.store.read(chats.chat(view.chat.id))
    assert seen is not None
    assert seen.waiting is None
    assert owned.chat.lease is not None
    world.clock.advance(3601)
    # Whoever looks for chats notices that a lease has run out.
    assert await world.store.acquire(await world.register(15), limit=0, agents_limit=0) == []
    seen = await world.store.read(chats.chat(view.chat.id))
    assert seen is not None
    assert seen.waiting == "capacity"


async def test_workers_that_are_long_gone_are_forgotten_but_not_while_named(world: World) -> None:
    view = await world.create()
    worker = await world.register(15)
    await world.own(view)
    world.clock.advance(7200)
    await sweep(world.store)
    second = await world.store.register_worker("second", 15)
    [taken] = await world.store.acquire(second, limit=10, agents_limit=10)
    assert taken.chat.id == view.chat.id
    await sweep(world.store)
    assert not await world.renew(worker, 15)


async def test_renewing_works_from_many_threads(world: World) -> None:
    worker = await world.register(15)
    renewed = await asyncio.gather(*(world.renew(worker, 15) for _ in range(8)))
    assert all(renewed)
