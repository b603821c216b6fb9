"""Worktrees and scratch directories whose chat is gone are removed, and only those."""

from pathlib import Path

import pytest

from holdfast.chats.commands import Delete
from holdfast.core.events import Hint
from holdfast.core.ids import ChatId, WorkspaceId
from holdfast.core.workspaces import Workspace
from holdfast.store import users, workspaces
from holdfast.store.open import open_store
from holdfast.workspaces.roots import Roots
from holdfast.workspaces.upkeep import remove_orphans, remove_scratch
from holdfast.workspaces.worktrees import Worktrees
from tests.store.test_users import person
from tests.store.world import SetClock, World, fresh_id
from tests.workspaces.repository import make_repository

pytestmark = pytest.mark.heavy


async def test_what_nobody_needs_is_removed(tmp_path: Path) -> None:
    clock, hints = SetClock(), list[Hint]()
    data = tmp_path / "data"
    store = await open_store(f"sqlite:{data}/holdfast.db", data=data, publish=hints.append, clock=clock)

    async def reopen() -> World:
        raise AssertionError

    world = World(store, clock, hints, reopen)
    roots = Roots(data, (tmp_path / "code",))
    worktrees = Worktrees(roots)
    make_repository(tmp_path / "code" / "project", {"a": "a\n"})
    owner = await store.write(users.create(person(world, "anna")))
    origin = Workspace(
        id=WorkspaceId(fresh_id()),
        owner_id=owner.id,
        name="project",
        path=str(tmp_path / "code" / "project"),
        created_at=clock.now(),
    )
    paths: dict[ChatId, tuple[Path, Path]] = {}
    for _ in range(2):
        chat_id = (await world.idle()).chat.id
        made = await worktrees.create(origin, WorkspaceId(fresh_id()), chat_id, clock.now())
        await store.write(workspaces.create(made))
        paths[chat_id] = Path(made.path), roots.scratch(chat_id).path
    (data / "scratch" / "not a chat").mkdir()
    gone, living = paths
    assert await remove_orphans(store, worktrees, 0) == await remove_scratch(store, roots) == 0
    await world.do(gone, Delete())
    assert await remove_orphans(store, worktrees) == 0, "not before an hour has passed"
    assert await remove_orphans(store, worktrees, 0) == 1
    assert await remove_scratch(store, roots) == 1
    assert not any(path.exists() for path in paths[gone])
    assert all(path.exists() for path in paths[living])
    assert (data / "scratch" / "not a chat").exists()
    assert [
        each.worktree.chat_id for each in await store.read(workspaces.page(owner.id)) if each.worktree
    ] == [living]
    assert await remove_orphans(store, worktrees, 0) == await remove_scratch(store, roots) == 0
    await store.close()
