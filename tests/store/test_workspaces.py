"""Workspaces: read back as written, found by their owner alone; worktrees whose chat is gone."""

import pytest

from holdfast.core.accounts import User
from holdfast.core.errors import WrongState
from holdfast.core.ids import ChatId, WorkspaceId
from holdfast.core.workspaces import Workspace, Worktree
from holdfast.store import users, workspaces
from tests.store.test_users import person
from tests.store.world import World, fresh_id


async def somebody(world: World, name: str) -> User:
    return await world.store.write(users.create(person(world, name)))


def workspace(world: World, owner: User, name: str, worktree: Worktree | None = None) -> Workspace:
    return Workspace(
        id=WorkspaceId(fresh_id()),
        owner_id=owner.id,
        name=name,
        path=f"/home/me/code/{name}",
        created_at=world.clock.now(),
        worktree=worktree,
    )


def worktree_for(chat_id: ChatId) -> Worktree:
    return Worktree(repository="/home/me/code/x", base="0" * 40, branch="holdfast/x", chat_id=chat_id)


async def test_a_workspace_is_found_by_its_owner(world: World) -> None:
    anna, ben = await somebody(world, "anna"), await somebody(world, "ben")
    hers = workspace(world, anna, "project")
    for _ in range(2):  # a repeated write does no harm
        assert await world.store.write(workspaces.create(hers)) == hers
    assert await world.store.read(workspaces.workspace(hers.id, anna.id)) == hers
    assert await world.store.read(workspaces.workspace(hers.id, ben.id)) is None
    his = await world.store.write(workspaces.create(workspace(world, ben, "project")))
    assert await world.store.read(workspaces.page(anna.id)) == (hers,)
    assert await world.store.read(workspaces.page(ben.id)) == (his,)
    with pytest.raises(WrongState, match="already have a workspace named project"):
        await world.store.write(workspaces.create(workspace(world, anna, "project")))
    await world.store.write(workspaces.delete(hers.id, ben.id))
    assert await world.store.read(workspaces.workspace(hers.id, anna.id)) == hers
    await world.store.write(workspaces.delete(hers.id, anna.id))
    assert await world.store.read(workspaces.workspace(hers.id, anna.id)) is None


async def test_pages(world: World) -> None:
    anna = await somebody(world, "anna")
    made = sorted([workspace(world, anna, f"w{n}") for n in range(5)], key=lambda each: each.id)
    for each in made:
        await world.store.write(workspaces.create(each))
    first = await world.store.read(workspaces.page(anna.id, limit=3))
    rest = await world.store.read(workspaces.page(anna.id, after=first[-1].id, limit=3))
    assert [*first, *rest] == made


async def test_a_worktree_is_an_orphan_a_while_after_its_chat_is_gone(world: World) -> None:
    anna = await somebody(world, "anna")
    chat_id = (await world.create()).chat.id
    living = workspace(world, anna, "living", worktree_for(chat_id))
    lost = workspace(world, anna, "lost", worktree_for(ChatId(fresh_id())))
    plain = workspace(world, anna, "plain")
    for each in (living, lost, plain):
        assert await world.store.write(workspaces.create(each)) == each
    hour = workspaces.ORPHAN_MICROS
    assert await world.store.write(workspaces.orphans(hour)) == ()
    assert await world.store.write(workspaces.orphans(0)) == (lost,)
    # The hour counts from when it was noticed, not from the last look.
    assert await world.store.write(workspaces.orphans(hour)) == ()
    assert await world.store.write(workspaces.orphans(0)) == (lost,)
