"""From a chat to the directory its tools work in: its workspace if it has one (and it is its owner's), else a
scratch directory of its own."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from holdfast.core.errors import NotFound
from holdfast.core.ids import ChatId, UserId, WorkspaceId
from holdfast.core.workspaces import Workspace
from holdfast.workspaces.beneath import Root
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.mounts import Place
from holdfast.workspaces.repositories import find_repository
from holdfast.workspaces.roots import Roots

# The workspace, if this user may work in it.
Find = Callable[[WorkspaceId, UserId], Awaitable[Workspace | None]]


class Where(Protocol):
    """A tool's context, as far as it matters here."""

    @property
    def chat_id(self) -> ChatId: ...
    @property
    def owner_id(self) -> UserId: ...
    @property
    def workspace_id(self) -> WorkspaceId | None: ...


class Workspaces:
    def __init__(self, roots: Roots, find: Find) -> None:
        self.roots = roots
        self._find = find

    async def root_of(self, where: Where) -> Root:
        """NotFound: there is no such workspace, or no longer."""
        if where.workspace_id is None:
            return await blocking(lambda: self.roots.scratch(where.chat_id))
        return self.root(await self._workspace(where.workspace_id, where.owner_id))

    def root(self, workspace: Workspace) -> Root:
        if workspace.worktree is not None:
            return self.roots.worktree(workspace.id)
        return self.roots.directory(workspace.path)

    async def place_of(self, where: Where) -> Place:
        """Where commands run. In a worktree git writes to the repository it was made from."""
        root = await self.root_of(where)
        if (
            where.workspace_id is None
            or (await self._workspace(where.workspace_id, where.owner_id)).worktree is None
        ):
            return Place(root=root.path)
        repository = await blocking(lambda: find_repository(root, self.roots.allowed))
        return Place(root=root.path, writable=(repository.common.resolve(),))

    async def _workspace(self, workspace_id: WorkspaceId, owner_id: UserId) -> Workspace:
        workspace = await self._find(workspace_id, owner_id)
        if workspace is None:
            raise NotFound("This chat's workspace is not there any more. Ask the user to choose another one.")
        return workspace
