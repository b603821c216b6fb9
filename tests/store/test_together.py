"""Commands for one chat that wait at the same moment: each is decided on what the one before left, and all
are written as if one had come after the other."""

import asyncio

from holdfast.chats.change import Refusal
from holdfast.chats.commands import (
    DeleteQueued,
    EditQueued,
    FinishInterrupt,
    FinishTurn,
    Interrupt,
    MoveQueued,
    Notify,
    Send,
)
from holdfast.store.interface import Applied
from tests.store.world import World, answer, fence_of, text, view_of


async def test_each_is_a_version_of_its_own(world: World) -> None:
    view = await world.create()
    chat_id = view.chat.id
    world.hints.clear()
    told = await asyncio.gather(
        *(
            world.store.transition(chat_id, Send(parts=text(f"{n}"), created_by=world.owner))
            for n in range(25)
        ),
        world.store.transition(chat_id, Interrupt()),
    )
    views = [view_of(one) for one in told if isinstance(one, Applied)]
    # The 21st does not fit any more.
    assert [v.chat.version for v in views] == list(range(view.chat.version + 1, view.chat.version + 22))
    assert [one.code for one in told if isinstance(one, Refusal)] == ["queue_full"] * 5
    after = await world.view(chat_id)
    assert after == views[-1]
    assert [item.parts for item in after.queue] == [text(f"{n}") for n in range(20)]
    assert after.chat.status == "interrupting"
    assert len(world.hints) < 5
    assert world.hints[-1].version == after.chat.version


async def test_items_and_turns_that_come_and_go_within_one_commit(world: World) -> None:
    view = await world.own(await world.create())
    chat_id, do = view.chat.id, world.store.transition
    for n in range(4):
        await world.send(chat_id, f"{n}")
    first, second, third, _ = (item.id for item in (await world.view(chat_id)).queue)
    told = await asyncio.gather(
        do(chat_id, EditQueued(item_id=second, parts=text("edited"))),
        do(chat_id, DeleteQueued(item_id=first)),
        do(chat_id, MoveQueued(item_id=third, position=0)),
        do(chat_id, Send(parts=text("steer"), busy="steer", created_by=world.owner)),
        do(chat_id, EditQueued(item_id=first, parts=text("too late"))),
        do(chat_id, Interrupt()),
        do(chat_id, FinishInterrupt(), fence=fence_of(view)),
    )
    assert [isinstance(one, Applied) for one in told] == [True, True, True, True, False, True, True]
    after = await world.view(chat_id)
    assert isinstance(told[-1], Applied)
    assert after == told[-1].view
    assert after.chat.status == "running"
    assert after.chat.turn == view.chat.turn + 1
    assert [item.parts for item in after.queue] == [text("edited"), text("3"), text("steer")]
    assert await world.store.check() == []


async def test_an_owner_that_somebody_was_quicker_than(world: World) -> None:
    """The owner decided on a view that is old by the time it is written."""
    view = await world.own(await world.create())
    chat_id, do = view.chat.id, world.store.transition
    sent, done, late = await asyncio.gather(
        do(chat_id, Send(parts=text("next"), created_by=world.owner)),
        do(chat_id, answer(), FinishTurn(), fence=fence_of(view), view=view),
        do(chat_id, Send(parts=text("and then"), created_by=world.owner)),
    )
    assert isinstance(sent, Applied)
    assert isinstance(done, Applied)
    assert isinstance(late, Applied)
    after = await world.view(chat_id)
    assert after.chat.version == view.chat.version + 3
    assert after.chat.turn == view.chat.turn + 1
    assert [item.parts for item in after.queue] == [text("and then")]
    assert [message.parts for message in await world.history(chat_id)] == [
        text("hello"),
        text("Let me see."),
        text("next"),
    ]
    assert await world.store.check() == []


async def test_what_looks_at_other_rows_sees_what_came_before(world: World) -> None:
    """A notice once per key, in the same moment as commands that look at nothing but the chat."""
    root = await world.idle()
    chat_id, do = root.chat.id, world.store.transition
    told = await asyncio.gather(
        do(chat_id, Send(parts=text("go on"), created_by=world.owner)),
        do(chat_id, Notify(source="t", key="once", text="first")),
        do(chat_id, Send(parts=text("more"), created_by=world.owner)),
        do(chat_id, Notify(source="t", key="once", text="second")),
        do(chat_id, Interrupt()),
    )
    assert [isinstance(one, Applied) for one in told] == [True] * 5
    after = await world.view(chat_id)
    assert [notice.text for notice in after.inbox] == ["first"]
    assert [item.parts for item in after.queue] == [text("more")]
    assert after.chat.status == "interrupting"
    assert after.chat.version == root.chat.version + 4
    assert await world.store.check() == []
