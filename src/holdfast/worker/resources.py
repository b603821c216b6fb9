"""What a worker runs chats with: the same for all chats, given once when a chat is taken."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from holdfast.core.calls import CallMoment
from holdfast.core.checks import Checked
from holdfast.core.clock import Clock
from holdfast.core.ids import Ids
from holdfast.files.stored_files import StoredFiles
from holdfast.prompt.sources import PromptChat, WorkspaceText
from holdfast.telemetry.debug_recording import DebugRecorder
from holdfast.telemetry.trace_context import Tracing
from holdfast.tools.hooks.hooks import Hooks
from holdfast.tools.registry import ToolRegistry, ToolSource
from holdfast.worker.models import Models
from holdfast.worker.settings import WorkerSettings


class Surroundings(Protocol):
    """What a workspace tells the agents that work in it."""

    async def instructions(self, where: PromptChat) -> WorkspaceText:
        """The instructions for agents that work there, which may be empty."""
        ...

    async def check(self, where: PromptChat, still_ours: Callable[[], bool]) -> Checked | None:
        """Called after files were written: the result of the workspace's check; None if there is no check. A
        thread calls `still_ours` directly before it starts the command (see `tools.contract.ToolContext`)."""
        ...


class CallWatch(Protocol):
    """Examines the workspace before and after a call that may change it."""

    async def before(self, at: CallMoment) -> None: ...

    async def after(self, at: CallMoment) -> str:
        """What the call changed, as a diff."""
        ...

    def leave(self, at: CallMoment) -> None:
        """The call was interrupted: `after` will not be called for it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    settings: WorkerSettings
    models: Models
    # The tools that every chat may use. A turn has those that were chosen for it.
    tools: ToolRegistry
    clock: Clock
    ids: Ids
    surroundings: Surroundings | None = None
    files: StoredFiles | None = None
    checkpoints: CallWatch | None = None
    hooks: Hooks | None = None
    # Sources of tools that depend on the owner and workspace of a chat, such as MCP servers.
    tool_sources: tuple[ToolSource, ...] = ()
    # Writes the debug record; None: there is none.
    debug: DebugRecorder | None = None
    # None: no traces are exported.
    tracing: Tracing | None = None
