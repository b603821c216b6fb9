"""Idempotency keys: stored with what the request did; the same request again gets the same answer."""

import asyncio
from typing import Any

import pytest

from holdfast.chats.change import Refusal
from holdfast.chats.commands import Create, Send
from holdfast.core.chats import Settings
from holdfast.core.errors import InvalidInput
from holdfast.core.ids import ChatId
from holdfast.store import chats, settings_rules
from holdfast.store.interface import Applied, OnceOf, Replayed
from holdfast.store.query import Query, Rows, query
from holdfast.store.sweep import sweep
from tests.store.world import World, fresh_id, text


def once(world: World, key: str = "k", fingerprint: str = "f", **more: Any) -> OnceOf[Any]:
    def respond(applied: Applied) -> tuple[int, bytes]:
        answer = applied.change.answer
        return 201, b"\x00\xff" + (answer.id if answer else "none").encode()

    values: dict[str, Any] = {
        "user_id": world.owner,
        "method": "POST",
        "path": "/api/v1/chats",
        "key": key,
        "fingerprint": fingerprint,
        "respond": respond,
        **more,
    }
    return OnceOf(**values)


async def test_the_same_request_is_answered_from_memory(world: World) -> None:
    view = await world.idle()
    send = Send(parts=text("once"), created_by=world.owner)
    first = await world.do(view.chat.id, send, once=once(world))
    world.hints.clear()
    again = await world.replayed(view.chat.id, send, once=once(world))
    answer = first.change.answer
    assert answer is not None
    assert (again.status, again.body) == (201, b"\x00\xff" + answer.id.encode())
    assert await world.view(view.chat.id) == first.view
    assert world.hints == []


async def test_it_survives_a_restart(world: World) -> None:
    view = await world.idle()
    owner = world.owner
    send = Send(parts=text("once"), created_by=world.owner)
    await world.do(view.chat.id, send, once=once(world))
    world = await world.reopen()
    world.owner = owner
    await world.replayed(view.chat.id, send, once=once(world))


async def test_another_body_is_refused(world: World) -> None:
    view = await world.idle()
    await world.do(view.chat.id, Send(parts=text("once"), created_by=world.owner), once=once(world))
    other = Send(parts=text("twice"), created_by=world.owner)
    refusal = await world.refused(view.chat.id, other, once=once(world, fingerprint="g"))
    assert refusal.code == "idempotency_mismatch"
    assert len(await world.history(view.chat.id)) == 3


async def test_a_key_counts_for_its_user_method_and_path(world: World) -> None:
    view = await world.own(await world.create())
    send = Send(parts=text("again"), created_by=world.owner)
    await world.do(view.chat.id, send, once=once(world))
    for other in ({"method": "PATCH"}, {"path": "/elsewhere"}, {"key": "l"}, {"user_id": fresh_id()}):
        await world.do(view.chat.id, send, once=once(world, **other))
    assert len((await world.view(view.chat.id)).queue) == 5


async def test_a_refusal_is_not_remembered(world: World) -> None:
    nobody = ChatId(fresh_id())
    send = Send(parts=text("hello"), created_by=world.owner)
    await world.refused(nobody, send, once=once(world))
    view = await world.idle()
    await world.do(view.chat.id, send, once=once(world))


async def test_twins_at_the_same_time_become_one(world: World) -> None:
    """Each with a chat id of its own, as an impatient client's two requests have."""
    create = Create(owner_id=world.owner, settings=Settings(), parts=text("only one"))
    twins = [world.store.transition(ChatId(fresh_id()), create, once=once(world)) for _ in range(8)]
    told = await asyncio.gather(*twins)
    made = [answer for answer in told if isinstance(answer, Applied)]
    repeated = [answer for answer in told if isinstance(answer, Replayed)]
    assert (len(made), len(repeated)) == (1, 7)
    assert len({answer.body for answer in repeated}) == 1
    assert len((await world.store.read(chats.page(world.owner))).items) == 1


async def test_a_failing_answer_undoes_everything(world: World) -> None:
    def respond(_: Applied) -> tuple[int, bytes]:
        raise ValueError("cannot be said")

    view = await world.idle()
    send = Send(parts=text("once"), created_by=world.owner)
    world.hints.clear()
    with pytest.raises(ValueError, match="cannot be said"):
        await world.store.transition(view.chat.id, send, once=once(world, respond=respond))
    assert await world.view(view.chat.id) == view
    assert world.hints == []
    await world.do(view.chat.id, send, once=once(world))


async def test_a_day_later_it_is_forgotten(world: World) -> None:
    view = await world.own(await world.create())
    send = Send(parts=text("again"), created_by=world.owner)
    await world.do(view.chat.id, send, once=once(world))
    world.clock.advance(24 * 3600 - 60)
    await sweep(world.store)
    await world.replayed(view.chat.id, send, once=once(world))
    world.clock.advance(120)
    # Whether or not it was swept yet.
    await world.do(view.chat.id, send, once=once(world))
    world.clock.advance(25 * 3600)
    await sweep(world.store)
    await world.do(view.chat.id, send, once=once(world, fingerprint="g"))


# What is no transition


def of_settings(world: World, fingerprint: str = "f") -> OnceOf[Settings]:
    def respond(chosen: Settings) -> tuple[int, bytes]:
        return 200, chosen.title.encode()

    return once(world, method="PATCH", fingerprint=fingerprint, respond=respond)


def of_text(text: str) -> tuple[int, bytes]:
    return 201, text.encode()


async def test_choices_are_made_once_under_a_key(world: World) -> None:
    view = await world.idle()
    choose = world.store.update_settings_once
    first = await choose(view.chat.id, of_settings(world), title="Mine", labels=("a", "b"))
    assert isinstance(first, Settings)
    assert (first.title, first.labels) == ("Mine", ("a", "b"))
    await world.store.update_settings(view.chat.id, title="Later", labels=("b", "c"))
    world.hints.clear()
    assert await choose(view.chat.id, of_settings(world), title="Mine") == Replayed(200, b"Mine")
    refusal = await choose(view.chat.id, of_settings(world, "other"), title="Mine")
    assert isinstance(refusal, Refusal)
    assert refusal.code == "idempotency_mismatch"
    now = await world.store.read(settings_rules.settings(view.chat.id))
    assert now is not None
    assert (now.title, now.labels) == ("Later", ("b", "c"))
    assert world.hints == []


async def test_a_choice_that_changes_nothing_is_remembered_and_one_of_no_chat_is_not(world: World) -> None:
    view = await world.idle()
    await world.store.update_settings(view.chat.id, title="Mine")
    assert isinstance(
        await world.store.update_settings_once(view.chat.id, of_settings(world), title="Mine"), Settings
    )
    assert await world.store.update_settings_once(view.chat.id, of_settings(world)) == Replayed(200, b"Mine")
    nobody: OnceOf[Settings] = once(world, key="other")
    for _ in range(2):
        assert await world.store.update_settings_once(ChatId(fresh_id()), nobody, title="x") is None


async def test_twins_of_a_write_are_answered_alike(world: World) -> None:
    def put(name: str) -> Query[str]:
        args = (fresh_id(), name)
        return query(
            "INSERT INTO workers (id, name, started_at, expires_at) VALUES ($1, $2, 0, 0) RETURNING id",
            *args,
            read=lambda rows: str(rows[0][0]),
        )

    key = once(world, respond=of_text)
    answers = await asyncio.gather(*(world.store.write_once(put("twin"), key) for _ in range(8)))
    made = [answer for answer in answers if isinstance(answer, str)]
    assert len(made) == 1
    assert {answer.body for answer in answers if isinstance(answer, Replayed)} == {made[0].encode()}
    count = query("SELECT count(*) FROM workers WHERE name = 'twin'", read=lambda rows: int(rows[0][0]))
    assert await world.store.read(count) == 1


async def test_a_write_that_raises_leaves_its_key_free(world: World) -> None:
    def refuse(_: Rows) -> str:
        raise InvalidInput("no")

    key = once(world, respond=of_text)
    with pytest.raises(InvalidInput):
        await world.store.write_once(query("SELECT 1", read=refuse), key)
    assert await world.store.write_once(query("SELECT 1", read=lambda _: "yes"), key) == "yes"
