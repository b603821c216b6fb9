"""Many at once: no update is lost, versions are exactly one apart, nobody fails because of another."""

import asyncio

import pytest

from holdfast.chats.change import Refusal
from holdfast.chats.commands import (
    BeginAttempt,
    DeleteQueued,
    EditQueued,
    Notify,
    Promote,
    Send,
    StartCalls,
)
from holdfast.chats.view import Queued, View
from holdfast.core.ids import CallId, QueueItemId
from holdfast.store.interface import Applied
from tests.store.world import World, answer, call, fence_of, finished, text, view_of

WRITERS = 64


async def test_64_writers_on_one_chat(world: World) -> None:
    view = await world.own(await world.create())
    chat_id = view.chat.id

    async def write(n: int) -> list[int]:
        versions: list[int] = []
        for k in range(3):
            told = await world.store.transition(chat_id, Notify(source="test", key=f"{n}-{k}", text="x"))
            assert isinstance(told, Applied)
            versions.append(view_of(told).chat.version)
        return versions

    versions = [v for found in await asyncio.gather(*map(write, range(WRITERS))) for v in found]
    assert sorted(versions) == list(range(view.chat.version + 1, view.chat.version + 1 + 3 * WRITERS))
    after = await world.view(chat_id)
    assert after.chat.version == max(versions)
    assert {notice.key for notice in after.inbox} == {f"{n}-{k}" for n in range(WRITERS) for k in range(3)}
    # One for each commit, and what came last is told last.
    told = [hint.version for hint in world.hints if hint.chat_id == chat_id]
    assert told == sorted(set(told))
    assert told[-1] == after.chat.version


async def test_64_owners_on_many_chats(world: World) -> None:
    for _ in range(WRITERS):
        await world.create()
    worker = await world.register(3600)
    views = await world.store.acquire(worker, limit=WRITERS, agents_limit=0)
    assert len(views) == WRITERS

    async def turn(view: View) -> View:
        fence = fence_of(view)
        for k in range(5):
            call_id = CallId(f"call-{k}")
            for commands in (
                (BeginAttempt(),),
                (answer(call(call_id)), StartCalls(call_ids=(call_id,))),
                (finished(call_id),),
            ):
                told = await world.store.transition(view.chat.id, *commands, fence=fence, view=view)
                assert isinstance(told, Applied)
                assert view_of(told).chat.version == view.chat.version + 1
                view = view_of(told)
        return view

    ended = await asyncio.gather(*map(turn, views))
    for view in ended:
        assert await world.view(view.chat.id) == view
        # The first message, five answers, and the results of all but the last.
        assert view.chat.message_count == len(await world.history(view.chat.id)) == 10
    assert await world.store.check() == []


async def test_owners_and_people_on_the_same_chats(world: World) -> None:
    """Owners decide on views that people make stale all the time: everything of both is kept."""
    views = [await world.own(await world.create()) for _ in range(4)]

    async def own(view: View) -> None:
        for k in range(15):
            call_id = CallId(f"call-{k}")
            for commands in (
                (BeginAttempt(admit=False),),
                (answer(call(call_id)), StartCalls(call_ids=(call_id,))),
                (finished(call_id),),
            ):
                told = await world.store.transition(view.chat.id, *commands, fence=fence_of(view), view=view)
                assert isinstance(told, Applied), told
                view = view_of(told)

    async def talk(view: View, n: int) -> None:
        for k in range(5):
            told = await world.store.transition(
                view.chat.id, Send(parts=text(f"{n}-{k}"), created_by=world.owner)
            )
            assert isinstance(told, Applied), told

    await asyncio.gather(*map(own, views), *(talk(view, n) for view in views for n in range(4)))
    for view in views:
        after = await world.view(view.chat.id)
        assert after.chat.version == view.chat.version + 45 + 20
        assert len(after.queue) == 20
        assert [found.state for found in after.calls] == ["finished"]
        assert len(await world.history(view.chat.id)) == 1 + 15 + 14
        for n in range(4):
            mine = [text(f"{n}-{k}") for k in range(5)]
            assert [item.parts for item in after.queue if item.parts in mine] == mine
    assert await world.store.check() == []


@pytest.mark.parametrize("command", [Promote, DeleteQueued])
async def test_a_hundred_at_one_item(world: World, command: type[Promote | DeleteQueued]) -> None:
    """One winner; the others are told what became of it."""
    view = await world.idle()
    await world.send(view.chat.id, "busy again")
    await world.own(view)
    item = (await world.send(view.chat.id, "queued")).change.answer
    assert isinstance(item, Queued)
    asked = [world.store.transition(view.chat.id, command(item_id=item.id)) for _ in range(100)]
    told = await asyncio.gather(*asked)
    changed = [answer for answer in told if isinstance(answer, Applied) and not answer.change.is_empty]
    assert len(changed) == 1
    refusals = [answer for answer in told if isinstance(answer, Refusal)]
    assert {refusal.code for refusal in refusals} <= {"not_found", "already_sent"}


async def test_a_failing_neighbour_fails_alone(world: World) -> None:
    """All in one batch, with commands that cannot be written among them."""
    view = await world.own(await world.create())
    parts = text("changed")

    async def good(n: int) -> Applied | object:
        return await world.store.transition(view.chat.id, Notify(source="test", key=f"{n}", text="x"))

    async def bad() -> object:
        # Not an id at all: refused by decision on one engine, by type on the other, never by harm.
        return await world.store.transition(
            view.chat.id, EditQueued(item_id=QueueItemId("no id"), parts=parts)
        )

    told = await asyncio.gather(*(good(n) if n % 5 else bad() for n in range(50)), return_exceptions=True)
    applied = [answer for answer in told if isinstance(answer, Applied)]
    assert len(applied) == 40
    assert (await world.view(view.chat.id)).chat.version == view.chat.version + 40


async def test_who_stops_waiting_breaks_nothing(world: World) -> None:
    view = await world.own(await world.create())
    world.hints.clear()
    tasks = [
        asyncio.ensure_future(world.store.transition(view.chat.id, Notify(source="t", key=f"{n}", text="x")))
        for n in range(40)
    ]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    told = await asyncio.gather(*tasks, return_exceptions=True)
    assert sum(isinstance(answer, Applied) for answer in told) >= 20
    # What was committed was told, whether or not anybody waited for it.
    after = (await world.send(view.chat.id, "and now?")).view
    assert after is not None
    assert len(after.inbox) == after.chat.version - view.chat.version - 1
    versions = [hint.version for hint in world.hints]
    assert versions == sorted(set(versions))
    assert versions[-1] == after.chat.version


async def test_a_burst_then_close_loses_nothing_acknowledged(world: World) -> None:
    view = await world.create()
    tasks = [
        asyncio.ensure_future(world.store.transition(view.chat.id, Notify(source="t", key=f"{n}", text="x")))
        for n in range(100)
    ]
    await asyncio.sleep(0)
    await world.store.close()
    told = await asyncio.gather(*tasks, return_exceptions=True)
    acknowledged = sum(isinstance(answer, Applied) for answer in told)
    after = await (await world.reopen()).view(view.chat.id)
    assert len(after.inbox) >= acknowledged
