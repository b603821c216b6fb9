"""The tools of a server, with what they work on: workspaces, commands behind the wall, sub-agents."""

import asyncio
import shutil
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog

from holdfast.bus.interface import Bus
from holdfast.config.places import config_directory
from holdfast.config.sections import Config
from holdfast.core.clock import Clock
from holdfast.core.errors import HoldfastError
from holdfast.core.grants import Grant
from holdfast.core.ids import ChatId, Ids, UserId, WorkspaceId
from holdfast.core.workspaces import Workspace
from holdfast.files.kept import Files
from holdfast.providers.registry import Registry as Providers
from holdfast.scripts.runs.tool import workflow_tool
from holdfast.server.surroundings import WorkspaceSurroundings
from holdfast.server.workflows import Workflows, workflows
from holdfast.store import grants
from holdfast.store import workspaces as workspace_queries
from holdfast.store.interface import Store
from holdfast.tools.built_in import built_in
from holdfast.tools.contract import ToolError
from holdfast.tools.family import AgentLimits, Family
from holdfast.tools.isolation import OwnWorktrees
from holdfast.tools.patience import patiently
from holdfast.tools.registry import Registry
from holdfast.workspaces.cgroups import Cgroups
from holdfast.workspaces.check import Checks
from holdfast.workspaces.limits import Limits
from holdfast.workspaces.probe import Probe, probe
from holdfast.workspaces.processes import Processes
from holdfast.workspaces.roots import Roots
from holdfast.workspaces.seen import Seen
from holdfast.workspaces.workspaces import Workspaces
from holdfast.workspaces.worktrees import Worktrees

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Toolbox:
    tools: Registry
    surroundings: WorkspaceSurroundings
    workspaces: Workspaces
    worktrees: Worktrees
    isolation: OwnWorktrees
    files: Files
    processes: Processes
    probe: Probe
    workflows: Workflows


@asynccontextmanager
async def toolbox(
    *,
    config: Callable[[], Config],
    store: Store,
    bus: Bus,
    providers: Providers,
    clock: Clock,
    ids: Ids,
    environ: Mapping[str, str],
) -> AsyncGenerator[Toolbox]:
    """What a killed server left running is ended first; what runs at the end is ended then."""
    data = config().server.data.resolve()
    limits = Limits.of_machine()
    cgroups = await asyncio.to_thread(Cgroups.find, data)
    found = await asyncio.to_thread(lambda: probe(data, cgroups=cgroups, limits=limits))
    for sentence in found.sentences:
        log.info("wall", found=sentence)
    processes = Processes(
        data,
        found.wall,
        clock=clock,
        ids=ids,
        limits=limits,
        cgroups=cgroups,
        server_environment=environ,
    )
    try:
        for entry in await processes.end_left_over():
            log.warning("a command of a killed server was ended", process_id=entry.id, chat_id=entry.chat_id)
        roots = Roots(data, config().workspaces.roots, [config_directory(environ)])

        async def find(workspace_id: WorkspaceId, owner_id: UserId) -> Workspace | None:
            return await store.read(workspace_queries.workspace(workspace_id, owner_id))

        async def granted(chat_id: ChatId) -> tuple[Grant, ...]:
            return await store.read(grants.of_chat(chat_id))

        workspaces, worktrees = Workspaces(roots, find, granted), Worktrees(roots)
        # A call waits while the database is away; a request is told to come again.
        for_calls = Workspaces(roots, patiently(find), patiently(granted))
        isolation = OwnWorktrees(store, worktrees, clock, ids)
        most_bytes = config().files.max_mib * 2**20
        files = Files(store, data, most_bytes=most_bytes, clock=clock, ids=ids)
        family = Family(
            store=store,
            bus=bus,
            clock=clock,
            ids=ids,
            limits=lambda: AgentLimits(
                depth=config().limits.agent_depth,
                per_chat=config().limits.agents_per_chat,
                queue=config().limits.queue,
            ),
            check_model=lambda name: _check_model(providers, name),
            has_tool=lambda name: name in tools,
            isolation=isolation,
        )
        driven = workflows(
            config=config,
            bus=bus,
            family=family,
            workspaces=workspaces,
            providers=providers,
            environ=environ,
        )
        tools = Registry(
            (
                *built_in(
                    workspaces=for_calls,
                    seen=Seen(),
                    processes=processes,
                    limits=limits,
                    family=family,
                    files=files,
                    store=store,
                    clock=clock,
                    ids=ids,
                    ripgrep=shutil.which("rg"),
                ),
                workflow_tool(driven.runs, family),
            )
        )
        yield Toolbox(
            surroundings=WorkspaceSurroundings(
                workspaces,
                Checks(processes, clock) if found.wall.stands else None,
                config_directory(environ),
                lambda: config().workspaces,
            ),
            tools=tools,
            workspaces=workspaces,
            worktrees=worktrees,
            isolation=isolation,
            files=files,
            processes=processes,
            probe=found,
            workflows=driven,
        )
    finally:
        await processes.close()


def _check_model(providers: Providers, name: str) -> None:
    try:
        providers.require(name)
    except HoldfastError as error:
        raise ToolError(error.text) from None
