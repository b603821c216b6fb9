"""Resolves the name of an agent: one of the workspace, if a person has trusted the content of its file; else
the person's own; else one that somebody published."""

from dataclasses import dataclass
from typing import Protocol

from holdfast.core.accounts import NamedAgent
from holdfast.core.errors import HoldfastError, TryAgain
from holdfast.core.ids import UserId, WorkspaceId
from holdfast.store import named_agents
from holdfast.store.interface import Store
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.places.agent_files import AgentFile, list_agent_files
from holdfast.workspaces.places.chat_directory import WorkspacePlace


class WorkspaceRoots(Protocol):
    async def root_of(self, where: WorkspacePlace) -> Root: ...


@dataclass(frozen=True, slots=True)
class FoundAgent:
    """`untrusted`: the workspace file with this name that is not trusted and so is ignored."""

    agent: NamedAgent | None
    untrusted: AgentFile | None = None

    def missing(self, name: str) -> str:
        """Why there is none, in a sentence."""
        if self.untrusted is None:
            return f"There is no named agent {name[:100]!r}."
        return (
            f"The agent {name[:100]!r} of this workspace ({self.untrusted.path}) cannot be used: "
            "its content has not been trusted by a person."
        )


class AgentNames:
    """`places` None: there are no workspaces, as in a test."""

    def __init__(self, store: Store, places: WorkspaceRoots | None) -> None:
        self._store = store
        self._places = places

    async def find(self, name: str, owner_id: UserId, workspace_id: WorkspaceId | None) -> FoundAgent:
        file = None
        if workspace_id is not None:
            files = await self.files(workspace_id, owner_id)
            usable = (one for one in files if one.name == name and not (one.error or one.hidden_by))
            file = next(usable, None)
            if file is not None:
                trusted = await self._store.read(named_agents.trusted(workspace_id, owner_id, name))
                if trusted is not None and (trusted.path, trusted.digest) == (file.path, file.digest):
                    return FoundAgent(trusted)
        return FoundAgent(await self._store.read(named_agents.named(name, owner_id)), file)

    async def files(self, workspace_id: WorkspaceId, owner_id: UserId) -> tuple[AgentFile, ...]:
        """Those of the workspace in their current form; none if it cannot be read."""
        if self._places is None:
            return ()
        try:
            root = await self._places.root_of(WorkspacePlace(workspace_id, owner_id))
            return await blocking(lambda: list_agent_files(root))
        except TryAgain:
            raise
        except HoldfastError:
            return ()
