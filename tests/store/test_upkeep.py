"""What is due by the clock, what is checked, what is backed up."""

from datetime import timedelta

from holdfast.chats.commands import HoldQueued, RequireAction
from holdfast.chats.view import Queued
from holdfast.core.ids import ChatId
from holdfast.store.sweep import sweep
from tests.store.world import World, call, view_of


async def held_chat(world: World) -> ChatId:
    """Idle, with a held item."""
    view = await world.own(await world.create())
    item = (await world.send(view.chat.id, "later")).change.answer
    assert isinstance(item, Queued)
    held = (await world.do(view.chat.id, HoldQueued(item_id=item.id))).change.answer
    assert isinstance(held, Queued)
    assert held.hold_token is not None
    await world.finish(await world.view(view.chat.id))
    return view.chat.id


async def test_a_hold_lapses_and_the_item_starts(world: World) -> None:
    chat_id = await held_chat(world)
    assert (await world.view(chat_id)).chat.status == "idle"
    world.clock.advance(119)
    assert (await sweep(world.store)).lapsed == 0
    assert (await world.view(chat_id)).chat.status == "idle"
    world.clock.advance(2)
    world.hints.clear()
    assert (await sweep(world.store)).lapsed == 1
    after = await world.view(chat_id)
    assert (after.chat.status, after.queue) == ("running", ())
    assert [hint.wanted for hint in world.hints] == [True]
    assert (await sweep(world.store)).lapsed == 0


async def test_a_call_that_nobody_answers_expires(world: World) -> None:
    view = await world.own(await world.create())
    view = await world.step(
        view,
        call("soon", waits_for="client_tool", deadline_seconds=60),
        call("never", waits_for="approval"),
    )
    view = await world.work(view, RequireAction())
    assert view.calls[0].deadline_at == world.clock.now() + timedelta(seconds=60)
    world.clock.advance(59)
    assert (await sweep(world.store)).expired == 0
    world.clock.advance(2)
    assert (await sweep(world.store)).expired == 1
    after = await world.view(view.chat.id)
    assert [(found.call_id, found.state) for found in after.calls] == [
        ("soon", "finished"),
        ("never", "waiting"),
    ]
    assert after.chat.status == "requires_action"
    assert (await sweep(world.store)).expired == 0


async def test_everything_survives_a_restart(world: World) -> None:
    view = await world.step(await world.own(await world.create()), call("a"), call("b", waits_for="plan"))
    await world.send(view.chat.id, "queued", "steer")
    before = await world.view(view.chat.id)
    history = await world.history(view.chat.id)
    world = await world.reopen()
    after = await world.view(view.chat.id)
    assert (after.queue, after.inbox, after.calls) == (before.queue, before.inbox, before.calls)
    assert after.chat.version == before.chat.version
    assert await world.history(view.chat.id) == history
    assert await world.store.check() == []


async def test_a_sound_database_has_no_problems(world: World) -> None:
    view = await world.step(await world.own(await world.create()), call("a"))
    await world.send(view.chat.id, "queued")
    await world.child(view_of(await world.send(view.chat.id, "more")))
    await world.idle()
    assert await world.store.check() == []
