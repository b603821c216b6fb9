"""What handlers are given: the parts of the server, and the caller."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from litestar.connection import ASGIConnection
from litestar.datastructures import State
from litestar.di import NamedDependency
from litestar.handlers import BaseRouteHandler
from litestar.params import FromPath, SkipValidation
from litestar.types import Scope

from holdfast.accounts.access import Access, Caller
from holdfast.accounts.sign_in import SignIn
from holdfast.accounts.stored_providers import Stored
from holdfast.accounts.user_admin import People
from holdfast.api.attempts import Attempts
from holdfast.api.open_feeds import OpenFeeds
from holdfast.api.problems import Problem, not_found
from holdfast.bus.interface import Bus
from holdfast.changes.control import ChangeControl
from holdfast.changes.worktree_merge import WorktreeMerge
from holdfast.config.sections import Config
from holdfast.config.sources import Merged
from holdfast.core.accounts import Scope as TokenScope
from holdfast.core.chats import Chat
from holdfast.core.clock import Clock
from holdfast.core.ids import ChatId, Ids, is_uuid7
from holdfast.feed.hub import Hub
from holdfast.files.stored_files import StoredFiles
from holdfast.flows.runs.flow_start import FlowRuns
from holdfast.providers.discovery import Discovery
from holdfast.providers.registry import ModelRegistry as Providers
from holdfast.scripts.runs.run_start import Runs
from holdfast.store import chats
from holdfast.store.interface import Store
from holdfast.telemetry.metrics import Metrics
from holdfast.tools.agent_names import AgentNames
from holdfast.tools.agent_trust import AgentTrust
from holdfast.tools.hooks.hooks import Hooks
from holdfast.tools.mcp.servers import McpServers
from holdfast.tools.registry import ToolRegistry as Tools
from holdfast.tools.templates.builds import WorkspaceBuilds
from holdfast.tools.templates.catalogue import TemplateCatalogue
from holdfast.tools.trust import Trust
from holdfast.worker.commit_messages import CommitMessages
from holdfast.worker.resources import Surroundings
from holdfast.workspaces.code.code_indexes import CodeIndexes
from holdfast.workspaces.commands.walled_programs import Walled
from holdfast.workspaces.git.worktrees import Worktrees
from holdfast.workspaces.places.chat_directory import Workspaces


@dataclass(frozen=True, kw_only=True)
class Services:
    store: Store
    bus: Bus
    hub: Hub
    access: Access
    sign_in: SignIn
    people: People
    stored: Stored
    providers: Providers
    # Asks providers which models they have.
    discovery: Discovery
    # Where each provider and model is configured.
    origins: Callable[[], Merged]
    tools: Tools
    workspaces: Workspaces
    # Resolves the name of an agent.
    agent_names: AgentNames
    # Which content of a workspace its user trusts.
    trust: Trust
    agent_trust: AgentTrust
    # Where skills are that belong to no workspace.
    skills: tuple[Path, ...]
    # MCP servers and their connections.
    mcp: McpServers
    # What chats are told about their workspaces.
    surroundings: Surroundings
    # Templates of workspaces, and the making of workspaces from them.
    templates: TemplateCatalogue
    builds: WorkspaceBuilds
    # Programs and addresses that are told of what happens.
    hooks: Hooks
    # Runs programs on the contents of workspaces.
    walled: Walled
    files: StoredFiles
    # Maps source code.
    code: CodeIndexes
    changes: ChangeControl
    worktrees: Worktrees
    worktree_merge: WorktreeMerge
    commit_messages: CommitMessages
    runs: Runs
    flow_runs: FlowRuns
    # The configuration as it is now: it may be read again while the server runs.
    config: Callable[[], Config]
    # Reloads providers and models from file, environment and database.
    reload: Callable[[], Awaitable[tuple[str, ...]]]
    # The same from the database only.
    refresh: Callable[[], Awaitable[None]]
    metrics: Metrics
    clock: Clock
    ids: Ids
    # Whether requests are still wanted; False while the server stops.
    ready: Callable[[], bool]
    feeds: OpenFeeds = field(default_factory=OpenFeeds)
    attempts: Attempts = field(default_factory=Attempts)
    # Whether the spans that requests name are kept: they are what our own traces continue.
    traced: bool = False
    # One chat is imported at a time, because that takes much memory.
    importing: asyncio.Lock = field(default_factory=asyncio.Lock)


# A part of the path.
InPath = FromPath[str]
With = NamedDependency[SkipValidation[Services]]
By = NamedDependency[SkipValidation[Caller]]


def provide_services(state: State) -> Services:
    return state["services"]


def provide_caller(scope: Scope) -> Caller:
    caller = scope["state"].get("caller")
    if not isinstance(caller, Caller):
        raise Problem("unauthorized", "Sign in first.")
    return caller


Guard = Callable[[ASGIConnection[Any, Any, Any, Any], BaseRouteHandler], None]


def needs(scope: TokenScope) -> Guard:
    """A guard: the credential must have this scope."""

    def guard(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
        caller = connection.scope["state"].get("caller")
        if not isinstance(caller, Caller) or not caller.may(scope):
            raise lacks(scope)

    return guard


def lacks(scope: TokenScope) -> Problem:
    return Problem("forbidden", f"This needs a credential with the scope {scope}.")


async def own_chat(services: Services, caller: Caller, chat_id: str) -> Chat:
    """The chat, if it belongs to the caller."""
    found = await services.store.read(chats.chat(ChatId(chat_id))) if is_uuid7(chat_id) else None
    if found is None or found.owner_id != caller.user.id:
        raise not_found("chat")
    return found
