"""A repository and what sub-agents with worktrees of their own need: a workspace of it, the isolation, and a
tool that touches files."""

from pathlib import Path

from holdfast.core.accounts import User
from holdfast.core.clock import SystemClock
from holdfast.core.ids import ChatId, RandomIds, UserId, WorkspaceId
from holdfast.core.workspaces import Workspace
from holdfast.store import users, workspaces
from holdfast.tools.contract import ToolAnswer, ToolContext
from holdfast.tools.isolation import OwnWorktrees
from holdfast.workspaces.git.worktrees import Worktrees
from holdfast.workspaces.places.allowed_roots import Roots
from holdfast.workspaces.places.chat_directory import Workspaces
from tests.worker.engine import OWNER, Engine
from tests.worker.toolbox import Named, tool
from tests.workspaces.repository import git, make_repository
from tests.workspaces.walls import walled_in


class Workshop:
    """Whoever makes it hands `isolation` and `touch` to the agents."""

    def __init__(self, engine: Engine, base: Path) -> None:
        self._engine = engine
        self.repository = base / "code" / "project"
        make_repository(self.repository, {"a.txt": "one\n"})
        data = base / "workshop"
        data.mkdir(mode=0o700)
        roots = Roots(data, (base / "code",))
        self.isolation = OwnWorktrees(
            engine.store, Worktrees(roots, walled_in(data)), SystemClock(), RandomIds()
        )
        self._workspaces = Workspaces(roots, self._find)
        self.touch = tool("touch", self._touch, effect="idempotent")

    async def workspace(self) -> WorkspaceId:
        now = SystemClock().now()
        owner = User(id=OWNER, name="owner", role="member", suspended_at=None, created_at=now)
        await self._engine.store.write(users.create_first(owner))
        new = Workspace(
            id=WorkspaceId(RandomIds().uuid7(now)),
            owner_id=OWNER,
            name="project",
            path=str(self.repository),
            created_at=now,
        )
        return (await self._engine.store.write(workspaces.create(new))).id

    async def of(self, chat_id: ChatId) -> Workspace | None:
        """The workspace of a chat, unless it is gone."""
        workspace_id = (await self._engine.chat(chat_id)).workspace_id
        assert workspace_id is not None
        return await self._find(workspace_id, OWNER)

    @property
    def worktrees(self) -> list[str]:
        return git(self.repository, "worktree", "list", "--porcelain").split("\n\n")[1:-1]

    async def _find(self, workspace_id: WorkspaceId, owner_id: UserId) -> Workspace | None:
        return await self._engine.store.read(workspaces.workspace(workspace_id, owner_id))

    async def _touch(self, context: ToolContext, given: Named) -> ToolAnswer:
        root = await self._workspaces.root_of(context)
        (root.path / given.name).write_text("touched\n")
        return ToolAnswer(output=f"touched {given.name}")
