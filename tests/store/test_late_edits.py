"""An edit of several files whose call is another server's by now: it changes neither the files nor what the
new owner wrote down about its own."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from holdfast.core.edit_intents import EditIntent
from holdfast.core.errors import WrongState
from holdfast.core.ids import CallId
from holdfast.store import edit_intents
from holdfast.tools.contract import ToolContext
from holdfast.tools.intents import EditIntents
from holdfast.workspaces.files.chat_files import ChatFiles
from holdfast.workspaces.files.edits import PassageEdit
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.files.read_state import SeenFiles
from tests.store.world import World, call

CALL = CallId("c1")
NAMES = ("a.txt", "b.txt")
EDITS = [(name, PassageEdit(old="x", new="xx")) for name in NAMES]
BEFORE, AFTER = "x\n", "xx\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "code"
    place.mkdir()
    for name in NAMES:
        (place / name).write_text(BEFORE)
    return place


def contents(root: Path) -> list[str]:
    return [(root / name).read_text() for name in NAMES]


async def context_of(world: World) -> ToolContext:
    view = await world.step(await world.own(await world.create()), call(CALL))
    return ToolContext(
        chat_id=view.chat.id,
        owner_id=world.owner,
        workspace_id=None,
        call_id=CALL,
        run=1,
        lease_number=view.chat.lease_number,
    )


async def take_over(world: World, context: ToolContext) -> ToolContext:
    """By another worker, which runs the call again."""
    view = await world.view(context.chat_id)
    assert view.chat.lease is not None
    await world.store.retire(view.chat.lease.worker_id)
    world.worker = None
    view = await world.own(view)
    return replace(context, run=2, lease_number=view.chat.lease_number)


async def kept(world: World, context: ToolContext) -> EditIntent | None:
    return await world.store.read(edit_intents.of_call(context.chat_id, context.call_id))


async def test_who_lost_the_chat_begins_nothing(world: World, root: Path) -> None:
    context = await context_of(world)
    await take_over(world, context)
    files = ChatFiles(Root(root), SeenFiles(), context.chat_id, repeated=False)
    with pytest.raises(WrongState):
        await EditIntents(world.store).edit(context, files, EDITS)
    assert contents(root) == [BEFORE] * 2
    assert await kept(world, context) is None


async def test_who_is_frozen_before_it_writes_leaves_the_intent_of_the_next_owner(
    world: World, root: Path
) -> None:
    """Between its intent and the first file the chat becomes somebody else's."""
    context = await context_of(world)
    files = ChatFiles(Root(root), SeenFiles(), context.chat_id, repeated=False, still_ours=lambda: False)
    with pytest.raises(WrongState):
        await EditIntents(world.store).edit(context, files, EDITS)
    assert contents(root) == [BEFORE] * 2
    # The next owner brings to an end what is written down.
    again = await take_over(world, context)
    files = ChatFiles(Root(root), SeenFiles(), context.chat_id, repeated=True)
    done = await EditIntents(world.store).edit(again, files, EDITS)
    assert done.outcome == "succeeded"
    assert contents(root) == [AFTER] * 2


async def test_resuming_looks_at_the_lease_too(world: World, root: Path) -> None:
    context = await context_of(world)
    files = ChatFiles(Root(root), SeenFiles(), context.chat_id, repeated=False, still_ours=lambda: False)
    for _ in range(2):  # the second time there is an intent to go on with
        with pytest.raises(WrongState):
            await EditIntents(world.store).edit(context, files, EDITS)
    assert contents(root) == [BEFORE] * 2
