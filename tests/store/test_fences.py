"""A write on behalf of a call is accepted only while that call is running, in the same transaction."""

import pytest
from msgspec.structs import replace

from holdfast.chats.change import Refusal
from holdfast.chats.commands import CallFence, Create, FinishCall, Interrupt, Send, Stop
from holdfast.chats.view import View
from holdfast.core.chats import Settings
from holdfast.core.errors import WrongState
from holdfast.core.ids import CallId, ChatId
from holdfast.core.origins import FromChat
from holdfast.store import children
from holdfast.store.interface import Applied, Once, Replayed
from holdfast.store.query import joined, query
from tests.store.world import World, call, fence_of, fresh_id, text

IDLE_LIMIT = "SELECT current_setting('idle_in_transaction_session_timeout')"
WRITE = "UPDATE settings SET title = 'written' WHERE chat_id = $1 RETURNING title"


def fence(view: View, **more: object) -> CallFence:
    (one,) = view.calls
    known = CallFence(
        chat_id=view.chat.id, lease_number=view.chat.lease_number, call_id=one.call_id, run=one.run
    )
    return replace(known, **more)


async def started(world: World) -> View:
    return await world.step(await world.own(await world.create()), call("c1"))


async def spawned(world: World, parent: View, on_behalf: CallFence) -> Applied | Refusal | Replayed:
    once = Once(
        user_id=world.owner,
        method="tool",
        path=parent.chat.id,
        key=fresh_id(),
        fingerprint="",
        respond=lambda _: (201, b""),
    )
    create = Create(
        owner_id=world.owner,
        settings=Settings(),
        parts=text("do this"),
        origin=FromChat(chat_id=parent.chat.id, call_id=CallId("c1")),
        root_id=parent.chat.root_id,
    )
    return await world.store.transition(ChatId(fresh_id()), create, once=once, on_behalf=on_behalf)


async def test_a_child_of_a_call_that_goes_on(world: World) -> None:
    parent = await started(world)
    assert isinstance(await spawned(world, parent, fence(parent)), Applied)
    # An interrupt lets what began come to its end.
    await world.do(parent.chat.id, Interrupt())
    assert isinstance(await spawned(world, parent, fence(parent)), Applied)


@pytest.mark.parametrize("wrong", [{"lease_number": 2}, {"run": 2}, {"call_id": "c2"}])
async def test_no_child_of_another_run_or_lease(world: World, wrong: dict[str, object]) -> None:
    parent = await started(world)
    refused = await spawned(world, parent, fence(parent, **wrong))
    assert isinstance(refused, Refusal)
    assert refused.code == "stale"
    assert await world.store.read(children.children(parent.chat.id)) == ()


async def test_no_child_after_a_takeover(world: World) -> None:
    parent = await started(world)
    assert parent.chat.lease is not None
    await world.store.retire(parent.chat.lease.worker_id)
    world.worker = None
    await world.own(parent)
    assert isinstance(await spawned(world, parent, fence(parent)), Refusal)


async def test_no_child_of_a_call_that_has_ended(world: World) -> None:
    parent = await started(world)
    ended = FinishCall(call_id=CallId("c1"), run=1, outcome="cancelled", output="")
    await world.do(parent.chat.id, ended, fence=fence_of(parent), view=parent)
    assert isinstance(await spawned(world, parent, fence(parent)), Refusal)


async def test_messages_and_stops_are_fenced_alike(world: World) -> None:
    parent = await started(world)
    child = await world.child(parent, "c1")
    late = fence(parent, lease_number=7)
    for command in (Send(parts=text("go on"), created_by=world.owner), Stop()):
        refused = await world.store.transition(child.chat.id, command, on_behalf=late)
        assert isinstance(refused, Refusal)
        assert await world.view(child.chat.id) == child
        done = await world.store.transition(child.chat.id, command, on_behalf=fence(parent))
        assert isinstance(done, Applied)
        child = await world.view(child.chat.id)


async def test_other_writes_are_fenced_alike(world: World) -> None:
    parent = await started(world)
    written = query(WRITE, parent.chat.id, read=lambda rows: [row[0] for row in rows])
    with pytest.raises(WrongState):
        await world.store.write(written, on_behalf=fence(parent, run=2))
    assert await world.store.write(written, on_behalf=fence(parent)) == ["written"]


async def test_a_write_for_a_call_keeps_nobody_from_taking_over_for_long(world: World) -> None:
    """It locks the chat. A server that falls silent before the commit loses that lock soon."""
    if world.store.engine != "postgres":
        return
    parent = await started(world)
    limit = query(IDLE_LIMIT, read=lambda rows: [row[0] for row in rows])
    assert await world.store.write(limit, on_behalf=fence(parent)) == ["3s"]
    assert await world.store.write(joined(limit, limit, read=lambda one, _: one)) == ["15s"]
