"""What the tools for sub-agents need from the server."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from holdfast.bus.interface import Bus
from holdfast.core.clock import Clock
from holdfast.core.ids import ChatId, Ids, UserId, WorkspaceId
from holdfast.core.shapes import Record
from holdfast.store.children import Child
from holdfast.store.interface import Store
from holdfast.tools.agent_names import AgentNames


class AgentLimits(Record, frozen=True, kw_only=True):
    # How deep sub-agents may be nested, and how many one chat may have.
    depth: int = 4
    per_chat: int = 32
    # How many messages may wait for a sub-agent.
    queue: int = 20


class Isolation(Protocol):
    """Separate worktrees for sub-agents that must not work in each other's files."""

    async def begin(self, origin_id: WorkspaceId | None, owner_id: UserId, chat_id: ChatId) -> WorkspaceId:
        """A worktree for this chat, made from that workspace. ToolError says why not."""
        ...

    async def resume(self, child: Child) -> None:
        """Called before an ended sub-agent continues: a worktree that was removed is made again."""
        ...

    async def end(self, child: Child) -> str | None:
        """Called after its end: an unchanged worktree is removed; otherwise returns a sentence that says
        where the changes are. May be repeated."""
        ...


@dataclass(frozen=True, kw_only=True)
class AgentFamily:
    store: Store
    bus: Bus
    clock: Clock
    ids: Ids
    limits: Callable[[], AgentLimits]
    # Raises ToolError for a model that does not exist.
    check_model: Callable[[str], None]
    # Whether there is such a tool.
    has_tool: Callable[[str], bool]
    # Resolves the name of an agent.
    agents: AgentNames
    # None: sub-agents cannot have their own worktrees.
    isolation: Isolation | None = None
