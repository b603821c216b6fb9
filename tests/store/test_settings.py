"""Settings: never execution state, never overwritten by background work."""

import asyncio

import pytest

from holdfast.chats.commands import BeginAttempt
from holdfast.core.chats import ClientTool, Settings
from holdfast.core.errors import InvalidInput
from holdfast.core.ids import ChatId, WorkspaceId
from holdfast.core.usage import Budget
from holdfast.store import chats
from holdfast.store.chats import Only
from holdfast.store.settings_rules import settings
from tests.store.world import World, fresh_id

EVERYTHING = Settings(
    title="A “title” with 'quotes'",
    title_source="person",
    summary="One line",
    model="default",
    effort="high",
    workspace_id=WorkspaceId("019df000-0000-7000-8000-00000000aaaa"),
    agent="reviewer",
    instructions="Be brief.\nAlways.",
    client_tools=(ClientTool(name="pick", description="Pick one", input_schema={"type": "object"}),),
    tools={"execute": {"approval": "ask"}},
    labels=("work", "später"),
    pinned=True,
    budget=Budget(tokens=5, cost_usd_micros=None),
)


async def test_settings_are_read_back_as_written(world: World) -> None:
    view = await world.create(settings=EVERYTHING)
    assert await world.store.read(settings(view.chat.id)) == EVERYTHING
    plain = await world.create()
    assert await world.store.read(settings(plain.chat.id)) == Settings()


async def test_choosing_never_moves_the_version(world: World) -> None:
    view = await world.own(await world.create())
    world.hints.clear()
    chosen = await world.store.update_settings(
        view.chat.id, title="Mine", labels=("x",), pinned=True, model="big", budget=Budget(tokens=1)
    )
    expected = Settings(
        title="Mine",
        title_source="person",
        labels=("x",),
        pinned=True,
        model="big",
        budget=Budget(tokens=1),
    )
    assert chosen == expected
    assert await world.store.read(settings(view.chat.id)) == expected
    assert await world.view(view.chat.id) == view
    [hint] = world.hints
    assert (hint.chat_id, hint.version, hint.status) == (view.chat.id, view.chat.version, "running")
    # An owner's view from before is still good.
    await world.work(view, BeginAttempt())


async def test_what_is_not_named_stays(world: World) -> None:
    view = await world.create(settings=EVERYTHING)
    chosen = await world.store.update_settings(view.chat.id, effort=None, budget=None, tools=None)
    assert chosen is not None
    assert (chosen.effort, chosen.budget, chosen.tools) == (None, None, None)
    assert (chosen.title, chosen.instructions) == (EVERYTHING.title, EVERYTHING.instructions)


async def test_a_generated_title_never_replaces_a_persons(world: World) -> None:
    view = await world.create()

    async def generate(title: str) -> Settings | None:
        return await world.store.update_settings(
            view.chat.id, title=title, title_source="generated", summary="s"
        )

    first = await generate("Generated")
    assert first is not None
    assert (first.title, first.title_source) == ("Generated", "generated")
    await world.store.update_settings(view.chat.id, title="Mine")
    second = await generate("Generated again")
    assert second is not None
    assert (second.title, second.title_source, second.summary) == ("Mine", "person", "s")


async def test_a_race_for_the_title_is_won_by_the_person(world: World) -> None:
    view = await world.create()
    update = world.store.update_settings
    await asyncio.gather(
        *(update(view.chat.id, title=f"g{n}", title_source="generated") for n in range(10)),
        update(view.chat.id, title="Mine"),
        *(update(view.chat.id, title=f"h{n}", title_source="generated") for n in range(10)),
    )
    chat = await world.store.read(chats.chat(view.chat.id))
    assert chat is not None
    assert chat.title == "Mine"


async def test_labels_are_found_by_their_present_value(world: World) -> None:
    view = await world.idle(settings=Settings(labels=("old", "both")))
    await world.store.update_settings(view.chat.id, labels=("new", "both", "new"))
    for label, found in (("old", 0), ("new", 1), ("both", 1)):
        page = await world.store.read(chats.page(world.owner, Only(label=label)))
        assert len(page.items) == found


async def test_nothing_new_is_told_to_nobody(world: World) -> None:
    view = await world.create(settings=Settings(title="Same", title_source="person"))
    world.hints.clear()
    await world.store.update_settings(view.chat.id, title="Same")
    assert world.hints == []


async def test_nobody_is_there(world: World) -> None:
    assert await world.store.update_settings(ChatId(fresh_id()), title="x") is None


async def test_unknown_settings_are_refused(world: World) -> None:
    view = await world.create()
    with pytest.raises(InvalidInput, match="nonsense"):
        await world.store.update_settings(view.chat.id, nonsense=1)  # pyright: ignore[reportCallIssue]
