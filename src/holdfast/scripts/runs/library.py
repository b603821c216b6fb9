"""The workflows that somebody can name: those of a workspace, of the server's home directory and of the
catalogue. Files are read off the loop."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from holdfast.core.errors import InvalidInput
from holdfast.core.ids import ChatId, UserId, WorkspaceId
from holdfast.scripts.discovery import Place, Workflow, discover, find, places, read_at
from holdfast.scripts.source import Script
from holdfast.workspaces.workspaces import Workspaces

# A workspace is asked for without a chat.
NO_CHAT = ChatId("")


@dataclass(frozen=True)
class Where:
    workspace_id: WorkspaceId | None
    owner_id: UserId
    chat_id: ChatId = NO_CHAT


class Library:
    """`workspaces` None: there are none, as in a test."""

    def __init__(self, workspaces: Workspaces | None, home: Path | None) -> None:
        self._workspaces = workspaces
        self._home = home

    async def listed(self, workspace_id: WorkspaceId | None, owner_id: UserId) -> tuple[Workflow, ...]:
        """All of them, by name; bad files with what is wrong with them."""
        where = await self._places(workspace_id, owner_id)
        return await asyncio.to_thread(discover, where)

    async def find(self, name: str, workspace_id: WorkspaceId | None, owner_id: UserId) -> Workflow:
        """The one that is run when somebody says this name. Raises NotFound, or BadScript."""
        where = await self._places(workspace_id, owner_id)
        return await asyncio.to_thread(find, name, where)

    async def read_at(self, path: str, workspace_id: WorkspaceId | None, owner_id: UserId) -> Script:
        root = await self._root(workspace_id, owner_id)
        if root is None:
            raise InvalidInput("A script is named by its path in a workspace; this run has none.")
        return await asyncio.to_thread(read_at, root, path)

    async def _places(self, workspace_id: WorkspaceId | None, owner_id: UserId) -> tuple[Place, ...]:
        return places(await self._root(workspace_id, owner_id), self._home)

    async def _root(self, workspace_id: WorkspaceId | None, owner_id: UserId) -> Path | None:
        if workspace_id is None or self._workspaces is None:
            return None
        return (await self._workspaces.root_of(Where(workspace_id, owner_id))).path
