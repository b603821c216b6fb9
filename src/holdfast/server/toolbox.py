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
from holdfast.core.ids import Ids, UserId, WorkspaceId
from holdfast.core.workspaces import Workspace
from holdfast.providers.registry import Registry as Providers
from holdfast.server.surroundings import WorkspaceSurroundings
from holdfast.store import workspaces as workspace_queries
from holdfast.store.interface import Store
from holdfast.tools.built_in import built_in
from holdfast.tools.contract import ToolError
from holdfast.tools.family import AgentLimits, Family
from holdfast.tools.isolation import OwnWorktrees
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
    processes: Processes
    probe: Probe


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

        workspaces, worktrees = Workspaces(roots, find), Worktrees(roots)
        isolation = OwnWorktrees(store, worktrees, clock, ids)
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
        tools = Registry(
            built_in(
                workspaces=workspaces,
                seen=Seen(),
                processes=processes,
                limits=limits,
                family=family,
                clock=clock,
                ripgrep=shutil.which("rg"),
            )
        )
        yield Toolbox(
            surroundings=WorkspaceSurroundings(
                workspaces, Checks(processes) if found.wall.stands else None, config_directory(environ)
            ),
            tools=tools,
            workspaces=workspaces,
            worktrees=worktrees,
            isolation=isolation,
            processes=processes,
            probe=found,
        )
    finally:
        await processes.close()


def _check_model(providers: Providers, name: str) -> None:
    try:
        providers.require(name)
    except HoldfastError as error:
        raise ToolError(error.text) from None
