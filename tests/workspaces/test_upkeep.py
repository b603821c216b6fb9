"""What nobody needs any more is removed, and only that: worktrees, scratch directories, those of commands."""

import asyncio
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.chats.commands import Delete
from holdfast.core.ids import ChatId, UserId, WorkspaceId
from holdfast.core.workspaces import Workspace
from holdfast.store import users, workspaces
from holdfast.store.open import open_store
from holdfast.workspaces.commands.command_setup import CommandOrder
from holdfast.workspaces.git.worktrees import Worktrees
from holdfast.workspaces.places.allowed_roots import Roots
from holdfast.workspaces.places.upkeep import (
    remove_commands,
    remove_left_over,
    remove_orphans,
    remove_scratch,
)
from tests.store.test_users import person
from tests.store.world import SetClock, World, fresh_id
from tests.workspaces.repository import make_repository
from tests.workspaces.rooms import room
from tests.workspaces.walls import walled_in

pytestmark = pytest.mark.heavy


async def test_what_nobody_needs_is_removed(tmp_path: Path) -> None:
    clock, hints = SetClock(), list[Any]()
    data = tmp_path / "data"
    store = await open_store(f"sqlite:{data}/holdfast.db", data=data, publish=hints.append, clock=clock)

    async def reopen() -> World:
        raise AssertionError

    world = World(store, clock, hints, reopen)
    roots = Roots(data, (tmp_path / "code",))
    worktrees = Worktrees(roots, walled_in(data))
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


async def test_worktrees_that_a_crash_left_are_removed_unless_there_is_work_in_them(tmp_path: Path) -> None:
    clock = SetClock()
    data = tmp_path / "data"
    store = await open_store(f"sqlite:{data}/holdfast.db", data=data, publish=lambda _: None, clock=clock)
    roots = Roots(data, (tmp_path / "code",))
    worktrees = Worktrees(roots, walled_in(data))
    project = tmp_path / "code" / "project"
    make_repository(project, {"a": "a\n"})
    origin = Workspace(
        id=WorkspaceId(fresh_id()),
        owner_id=UserId("nobody"),
        name="project",
        path=str(project),
        created_at=clock.now(),
    )

    async def left() -> Workspace:
        """Made, and the server died before it was written down."""
        return await worktrees.create(origin, WorkspaceId(fresh_id()), ChatId(fresh_id()), clock.now())

    clean, changed, committed, unfinished = [await left() for _ in range(4)]
    (Path(changed.path) / "new").write_text("work")
    _commit(Path(committed.path))
    (project / ".git" / "worktrees" / unfinished.id / "index").unlink()
    (data / "worktrees" / "not a worktree").mkdir()
    now = datetime.now(UTC)
    assert await remove_left_over(store, worktrees, roots, now) == 0, "not before an hour has passed"
    assert await remove_left_over(store, worktrees, roots, now + timedelta(hours=2)) == 2
    left_there = {changed.id, committed.id}
    assert _names(data / "worktrees") == {*left_there, "not a worktree"}
    assert _names(project / ".git" / "worktrees") == left_there
    branches = _names(project / ".git" / "refs" / "heads" / "holdfast")
    assert branches & {clean.id, committed.id} == {committed.id}
    await store.close()


def _names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def _commit(checkout: Path) -> None:
    (checkout / "b").write_text("b")
    who = ("-c", "user.name=t", "-c", "user.email=t@example.com")
    for command in (["add", "."], ["commit", "-qm", "work"]):
        subprocess.run(["git", *who, *command], cwd=checkout, check=True)


async def test_directories_of_commands_go_with_their_chat(tmp_path: Path) -> None:
    """Also of chats that were deleted while no server ran."""
    clock, hints = SetClock(), list[Any]()
    async with room(tmp_path, "none") as found:
        assert found is not None
        data = tmp_path / "data"
        store = await open_store(f"sqlite:{data}/holdfast.db", data=data, publish=hints.append, clock=clock)

        async def reopen() -> World:
            raise AssertionError

        world = World(store, clock, hints, reopen)
        living, gone = [(await world.idle()).chat.id for _ in range(2)]
        for chat_id in (living, gone):
            order = CommandOrder(
                chat_id=chat_id, place=found.place, cwd=found.workspace.resolve(), command="echo hi > ~/a"
            )
            await asyncio.wait({(await found.processes.start(order)).ended})
        chats = data / "commands" / "chats"
        assert {path.name for path in chats.iterdir()} == {living, gone}
        assert await remove_commands(store, found.processes) == 0
        await world.do(gone, Delete())
        assert await remove_commands(store, found.processes) == 1
        assert {path.name for path in chats.iterdir()} == {living}
        await store.close()
