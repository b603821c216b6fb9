"""The workflows that can be named: those of a workspace, of the server's home directory and of the catalogue.
Files are read off the loop, and their texts in a separate process."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.ids import ChatId, UserId, WorkspaceId
from holdfast.core.runs import Language
from holdfast.scripts.discovery import Workflow, WorkflowDirectory, discover, find, places, read_at
from holdfast.scripts.reader import ScriptReader
from holdfast.scripts.runs.workspace_state import state_of
from holdfast.scripts.source import Script
from holdfast.workspaces.commands.walled_programs import Walled
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.places.chat_directory import Workspaces

# A workspace is asked for without a chat.
NO_CHAT = ChatId("")


@dataclass(frozen=True)
class LibraryPlace:
    workspace_id: WorkspaceId | None
    owner_id: UserId
    chat_id: ChatId = NO_CHAT


class Library:
    """`workspaces` None: there are none, as in a test. `walled` None: no program is run in them."""

    def __init__(
        self,
        workspaces: Workspaces | None,
        home: Path | None,
        reader: ScriptReader,
        walled: Walled | None = None,
    ) -> None:
        self._workspaces = workspaces
        self._walled = walled
        self._home = home
        self._reader = reader

    async def read(self, text: str, language: Language) -> Script:
        """Raises BadScript."""
        return await asyncio.to_thread(self._reader.read, text, language)

    async def listed(self, workspace_id: WorkspaceId | None, owner_id: UserId) -> tuple[Workflow, ...]:
        """All workflows, by name; bad files with their errors."""
        where = await self._places(workspace_id, owner_id)
        return await asyncio.to_thread(discover, where, self._reader.read)

    async def find(self, name: str, workspace_id: WorkspaceId | None, owner_id: UserId) -> Workflow:
        """The workflow that this name refers to. Raises NotFound, or BadScript."""
        where = await self._places(workspace_id, owner_id)
        return await asyncio.to_thread(find, name, where, self._reader.read)

    async def read_at(self, path: str, workspace_id: WorkspaceId | None, owner_id: UserId) -> Script:
        root = await self._root(workspace_id, owner_id)
        if root is None:
            raise InvalidInput("A script is named by its path in a workspace; this run has none.")
        return await asyncio.to_thread(read_at, root, path, self._reader.read)

    async def state(self, workspace_id: WorkspaceId | None, owner_id: UserId) -> str | None:
        """The current state of the workspace; None: there is none, or it is unknown."""
        if workspace_id is None or self._workspaces is None:
            return None
        try:
            root = await self._workspaces.root_of(LibraryPlace(workspace_id, owner_id))
        except (NotFound, InvalidInput):
            return None
        return await state_of(self._walled, root, self._workspaces.roots.allowed)

    async def _places(
        self, workspace_id: WorkspaceId | None, owner_id: UserId
    ) -> tuple[WorkflowDirectory, ...]:
        return places(await self._root(workspace_id, owner_id), self._home)

    async def _root(self, workspace_id: WorkspaceId | None, owner_id: UserId) -> Root | None:
        if workspace_id is None or self._workspaces is None:
            return None
        return await self._workspaces.root_of(LibraryPlace(workspace_id, owner_id))
