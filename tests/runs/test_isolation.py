"""Agents of runs with worktrees of their own."""

from pathlib import Path

import pytest

from holdfast.core.accounts import User
from holdfast.core.clock import SystemClock
from holdfast.core.ids import RandomIds, UserId, WorkspaceId
from holdfast.core.workspaces import Workspace
from holdfast.store import users, workspaces
from holdfast.tools.contract import Answer, Context
from holdfast.tools.isolation import OwnWorktrees
from holdfast.tools.registry import Registry
from holdfast.workspaces.roots import Roots
from holdfast.workspaces.workspaces import Workspaces
from holdfast.workspaces.worktrees import Worktrees
from tests.providers.replies import call
from tests.runs.stage import Stage, js, texts, texts_of
from tests.worker.engine import OWNER
from tests.worker.toolbox import Named, tool
from tests.workspaces.repository import git, make_repository

pytestmark = pytest.mark.heavy


class Workshop:
    """A repository, and agents that can touch files."""

    def __init__(self, stage: Stage, base: Path) -> None:
        self.stage = stage
        self.repository = base / "code" / "project"
        make_repository(self.repository, {"a.txt": "one\n"})
        (base / "own-data").mkdir(mode=0o700)
        roots = Roots(base / "own-data", (base / "code",))
        store = stage.engine.store
        stage.isolation = OwnWorktrees(store, Worktrees(roots), SystemClock(), RandomIds())
        self._workspaces = Workspaces(roots, self._find)
        stage.tools = Registry([*stage.tools, tool("touch", self._touch, effect="idempotent")])

    async def workspace(self) -> WorkspaceId:
        now = SystemClock().now()
        owner = User(id=OWNER, name="owner", role="member", suspended_at=None, created_at=now)
        await self.stage.engine.store.write(users.create_first(owner))
        new = Workspace(
            id=WorkspaceId(RandomIds().uuid7(now)),
            owner_id=OWNER,
            name="project",
            path=str(self.repository),
            created_at=now,
        )
        return (await self.stage.engine.store.write(workspaces.create(new))).id

    async def _find(self, workspace_id: WorkspaceId, owner_id: UserId) -> Workspace | None:
        return await self.stage.engine.store.read(workspaces.workspace(workspace_id, owner_id))

    async def _touch(self, context: Context, given: Named) -> Answer:
        root = await self._workspaces.root_of(context)
        (root.path / given.name).write_text("touched\n")
        return Answer(output=f"touched {given.name}")

    @property
    def worktrees(self) -> list[str]:
        return git(self.repository, "worktree", "list", "--porcelain").split("\n\n")[1:-1]


async def test_unchanged_it_is_removed_changed_it_is_kept_and_named(stage: Stage, tmp_path: Path) -> None:
    workshop = Workshop(stage, tmp_path)
    stage.answers = lambda prompt, asked: (
        call("touch", {"name": "new.txt"}) if prompt == "write" and not texts_of(asked, "tool") else None
    )
    stage.work()
    ran = await stage.ran(
        js(
            "const alone = p => agent(p, {label: p, isolation: 'worktree'})\n"
            "return await parallel(['read', 'write'].map(p => () => alone(p)))"
        ),
        workspace_id=await workshop.workspace(),
    )
    assert ran.run.result == ["<read>", "<write>"]
    assert len(workshop.worktrees) == 1
    (said,) = texts(ran, "log")
    assert said.startswith("The agent “write”: Its changes are in ")
    assert "branch holdfast/" in said
    assert not (workshop.repository / "new.txt").exists()


async def test_without_a_repository_there_is_no_worktree(stage: Stage, tmp_path: Path) -> None:
    Workshop(stage, tmp_path)
    stage.work()
    ran = await stage.ran(js("return await agent('x', {isolation: 'worktree'})"))
    assert ran.run.error is not None
    assert "worktree" in ran.run.error.message
