"""From a chat to the directory its tools work in: its workspace if it has one (and it belongs to its owner),
else its own scratch directory."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.grants import Grant
from holdfast.core.ids import ChatId, UserId, WorkspaceId
from holdfast.core.workspaces import Workspace
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.commands.mounts import CommandPlace
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.files.git_guard import Guard
from holdfast.workspaces.files.grant_roots import granted_root
from holdfast.workspaces.files.paths import RELATIVE, shown
from holdfast.workspaces.git.repositories import config_of, repository_of
from holdfast.workspaces.places.allowed_roots import Roots

NO_CHAT = ChatId("")
# The workspace, if this user may work in it.
Find = Callable[[WorkspaceId, UserId], Awaitable[Workspace | None]]
# What a chat may read outside its workspace.
Grants = Callable[[ChatId], Awaitable[tuple[Grant, ...]]]


class ChatPlace(Protocol):
    """The part of a tool's context that matters here."""

    @property
    def chat_id(self) -> ChatId: ...
    @property
    def owner_id(self) -> UserId: ...
    @property
    def workspace_id(self) -> WorkspaceId | None: ...


@dataclass(frozen=True)
class WorkspacePlace:
    """A workspace, whichever chat works in it."""

    workspace_id: WorkspaceId | None
    owner_id: UserId
    chat_id: ChatId = NO_CHAT


class DraftRoots(Protocol):
    """Copies of workspaces, for chats whose writes wait for review."""

    async def of_chat(self, chat_id: ChatId, /) -> ChatId | None:
        """The chat whose draft this chat works in; None: it has none."""
        ...

    async def root(self, chat_id: ChatId, workspace: Root, /) -> Root: ...


class Workspaces:
    # Set by whoever has drafts; None: every chat works in its workspace itself.
    drafts: DraftRoots | None = None

    def __init__(self, roots: Roots, find: Find, grants: Grants | None = None) -> None:
        self.roots = roots
        self._find = find
        self._grants = grants

    async def root_of(self, where: ChatPlace) -> Root:
        """NotFound: there is no such workspace, or not any more."""
        if where.workspace_id is None:
            return await blocking(lambda: self.roots.scratch(where.chat_id))
        root = self.root(await self._workspace(where.workspace_id, where.owner_id))
        draft = await self.draft_of(where)
        return root if draft is None or self.drafts is None else await self.drafts.root(draft, root)

    async def draft_of(self, where: ChatPlace) -> ChatId | None:
        """The chat whose draft is worked in; None: the workspace itself is."""
        if self.drafts is None or where.workspace_id is None or where.chat_id == NO_CHAT:
            return None
        return await self.drafts.of_chat(where.chat_id)

    async def root_for_reading(self, where: ChatPlace, path: str) -> Root:
        """The root that a path is to be read from: the workspace's, or what was granted to the chat."""
        root = await self.root_of(where)
        inside = path == str(root.path) or path.startswith(f"{root.path}/")
        if path.startswith("/") and not inside and self._grants is not None:
            granted = granted_root(path, await self._grants(where.chat_id), self.roots.hidden)
            if granted is None:
                raise InvalidInput(
                    f"{shown(path)} is outside the workspace. {RELATIVE} To read what is elsewhere, ask for "
                    "it with request_access."
                )
            return granted
        return root

    async def guard_of(self, where: ChatPlace) -> Guard:
        """What in the workspace file tools must not write."""
        root = await self.root_of(where)
        if where.workspace_id is None:
            return Guard(root.path)
        workspace = await self._workspace(where.workspace_id, where.owner_id)
        return Guard(root.path, await blocking(lambda: config_of(workspace, self.roots)))

    async def origin_of(self, where: ChatPlace) -> str | None:
        """The directory that the files of a workspace share with its worktrees; None: the chat works in its
        own directory."""
        if where.workspace_id is None:
            return None
        workspace = await self._workspace(where.workspace_id, where.owner_id)
        return workspace.path if workspace.worktree is None else workspace.worktree.repository

    def root(self, workspace: Workspace) -> Root:
        if workspace.worktree is not None:
            return self.roots.worktree(workspace.id)
        return self.roots.directory(workspace.path)

    async def place_of(self, where: ChatPlace) -> CommandPlace:
        """Where commands run. In a worktree git writes to the repository it was made from."""
        root = await self.root_of(where)
        if where.workspace_id is None:
            return CommandPlace(root=root.path)
        workspace = await self._workspace(where.workspace_id, where.owner_id)
        if workspace.worktree is None or await self.draft_of(where) is not None:
            # A draft has no way to the repository of anybody.
            return CommandPlace(root=root.path)
        repository = await blocking(lambda: repository_of(workspace, self.roots))
        return CommandPlace(root=root.path, writable=(repository.common.path,))

    async def _workspace(self, workspace_id: WorkspaceId, owner_id: UserId) -> Workspace:
        workspace = await self._find(workspace_id, owner_id)
        if workspace is None:
            raise NotFound("This chat's workspace is not there any more. Ask the user to choose another one.")
        return workspace
