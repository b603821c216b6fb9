"""The tools of a server, with what they work on: workspaces, commands behind the wall, sub-agents."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import structlog

from holdfast.accounts.vault import Vault
from holdfast.bus.interface import Bus
from holdfast.changes.apply_tool import apply_tool
from holdfast.changes.checkpoints import Checkpoints
from holdfast.changes.control import ChangeControl
from holdfast.changes.drafts import Drafts
from holdfast.changes.worktree_merge import WorktreeMerge
from holdfast.config.places import config_directory, skill_directories
from holdfast.config.sections import Config, WebSection
from holdfast.core.clock import Clock
from holdfast.core.errors import HoldfastError
from holdfast.core.grants import Grant
from holdfast.core.ids import ChatId, Ids, UserId, WorkspaceId
from holdfast.core.workspaces import Workspace
from holdfast.files.stored_files import StoredFiles
from holdfast.flows.evaluator import FlowEvaluator
from holdfast.flows.runs.tool import flow_tools
from holdfast.prompt.workspace import InstructionFiles, SkillList, Workplace, command_rules
from holdfast.providers.registry import ModelRegistry as Providers
from holdfast.scripts.reader import ScriptReader
from holdfast.scripts.runs.prompt_text import WorkflowList
from holdfast.scripts.runs.tool import workflow_tools
from holdfast.server.flows import FlowParts, flows
from holdfast.server.own_files import own_paths
from holdfast.server.surroundings import WorkspaceSurroundings
from holdfast.server.workflows import WorkflowParts, home_of, workflows
from holdfast.store import grants
from holdfast.store import workspaces as workspace_queries
from holdfast.store.interface import Store
from holdfast.telemetry.crashes import Crashes
from holdfast.tools.agent_names import AgentNames
from holdfast.tools.agent_trust import AgentTrust
from holdfast.tools.approval import EXECUTE
from holdfast.tools.built_in import built_in
from holdfast.tools.contract import ToolError
from holdfast.tools.family import AgentFamily, AgentLimits
from holdfast.tools.hooks.deliveries import HookDeliveries
from holdfast.tools.hooks.hooks import Hooks
from holdfast.tools.hooks.programs import HookPrograms
from holdfast.tools.hooks.settings_file import HookTrust
from holdfast.tools.isolation import OwnWorktrees
from holdfast.tools.mcp.questions import Questions
from holdfast.tools.mcp.servers import McpServers
from holdfast.tools.mcp.tool_source import McpTools
from holdfast.tools.mcp.workspace_file import McpTrust
from holdfast.tools.registry import ToolRegistry, ToolSource
from holdfast.tools.templates.builds import WorkspaceBuilds
from holdfast.tools.templates.catalogue import TemplateCatalogue
from holdfast.tools.templates.git_templates import GitTemplates
from holdfast.tools.templates.set_up_commands import SetUpCommands
from holdfast.tools.templates.template_tools import template_tools
from holdfast.tools.trust import Trust
from holdfast.tools.waits import patiently
from holdfast.tools.web.documents import Documents
from holdfast.tools.web.fetched import FetchRules
from holdfast.tools.web.web_tools import WebSettings
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.code.code_indexes import CodeIndexes
from holdfast.workspaces.code.parse_checks import ParseChecks
from holdfast.workspaces.commands.cgroups import Cgroups
from holdfast.workspaces.commands.check import Checks
from holdfast.workspaces.commands.limits import CommandLimits
from holdfast.workspaces.commands.piped_programs import PipedPrograms
from holdfast.workspaces.commands.processes import Processes
from holdfast.workspaces.commands.wall_probe import Probe, probe
from holdfast.workspaces.commands.walled_programs import Walled
from holdfast.workspaces.files.read_state import SeenFiles
from holdfast.workspaces.git.worktrees import Worktrees
from holdfast.workspaces.places.allowed_roots import Roots
from holdfast.workspaces.places.chat_directory import Workspaces
from holdfast.workspaces.search.ripgrep import find_ripgrep

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Toolbox:
    tools: ToolRegistry
    surroundings: WorkspaceSurroundings
    workspaces: Workspaces
    agent_names: AgentNames
    trust: Trust
    mcp: McpServers
    hooks: Hooks
    hook_deliveries: HookDeliveries
    agent_trust: AgentTrust
    # Tools that not every chat has.
    tool_sources: tuple[ToolSource, ...]
    walled: Walled
    worktrees: Worktrees
    worktree_merge: WorktreeMerge
    isolation: OwnWorktrees
    files: StoredFiles
    code: CodeIndexes
    checkpoints: Checkpoints
    changes: ChangeControl
    drafts: Drafts
    processes: Processes
    # Workspaces that are made from templates.
    set_up_commands: SetUpCommands
    git_templates: GitTemplates
    templates: TemplateCatalogue
    builds: WorkspaceBuilds
    probe: Probe
    workflows: WorkflowParts
    flows: FlowParts


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
    crashes: Crashes,
    vault: Vault,
) -> AsyncGenerator[Toolbox]:
    """First ends what a killed server left running; at the end, ends what is running then."""
    data = config().server.data.resolve()
    limits = CommandLimits.of_machine()
    cgroups = await asyncio.to_thread(Cgroups.find, data)
    roots = Roots(data, config().workspaces.roots, lambda: own_paths(config(), environ))
    hidden = await asyncio.to_thread(roots.hidden.there)
    wanted = config().sandbox.network
    found = await asyncio.to_thread(
        lambda: probe(data, hidden=hidden, cgroups=cgroups, limits=limits, network=wanted)
    )
    for path in await asyncio.to_thread(roots.hidden.below, roots.allowed):
        log.warning(
            "what the server keeps for itself lies below a root of workspaces; move it elsewhere: agents "
            "that write around it are only kept out by hiding it",
            path=str(path),
        )
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
        networks=found.networks(),
    )
    reader, evaluator = ScriptReader(), FlowEvaluator()
    closing = AsyncExitStack()
    try:
        for entry in await processes.end_left_over():
            log.warning("a command of a killed server was ended", process_id=entry.id, chat_id=entry.chat_id)

        async def find(workspace_id: WorkspaceId, owner_id: UserId) -> Workspace | None:
            return await store.read(workspace_queries.workspace(workspace_id, owner_id))

        async def granted(chat_id: ChatId) -> tuple[Grant, ...]:
            return await store.read(grants.of_chat(chat_id))

        walled = Walled(found.wall, data)
        await asyncio.to_thread(walled.remove_left_over)
        workspaces, worktrees = Workspaces(roots, find, granted), Worktrees(roots, walled)
        # A call waits while the database is unavailable; a request is told to try again.
        for_calls = Workspaces(roots, patiently(find), patiently(granted))
        isolation = OwnWorktrees(store, worktrees, clock, ids)
        sizes = config().files
        files = StoredFiles(
            store,
            data,
            most_bytes=sizes.max_mib * 2**20,
            quota_bytes=sizes.quota_mib * 2**20,
            clock=clock,
            ids=ids,
            behind=walled.on_file if walled.stands else None,
        )
        code = CodeIndexes(walled, data)
        drafts = Drafts(store, roots, walled)
        workspaces.drafts = for_calls.drafts = drafts
        checkpoints = Checkpoints(store, workspaces, data, clock, ids)
        changes = ChangeControl(store, workspaces, checkpoints, drafts, ParseChecks(walled), clock, ids)
        set_up_commands = SetUpCommands(processes)
        git_templates = GitTemplates(data, set_up_commands, clock, ids)
        await asyncio.to_thread(git_templates.remove_left_over)
        templates = TemplateCatalogue(store, roots, git_templates, clock, lambda: config().templates.roots)
        builds = WorkspaceBuilds(store, roots, templates, walled, set_up_commands, clock, ids)
        closing.push_async_callback(builds.close)
        agent_names = AgentNames(store, workspaces)
        # A feature that reads what a workspace brings along, and runs it, registers its kind here.
        trust = Trust(store, workspaces, clock)
        agent_trust = AgentTrust(
            clock,
            ids,
            check_model=providers.require,
            has_tool=lambda name: tools.names_one(name),  # noqa: PLW0108 - they are made below
        )
        trust.register(agent_trust)
        trust.register(McpTrust())
        trust.register(HookTrust())
        hook_programs = HookPrograms(
            PipedPrograms(
                data,
                found.wall,
                limits=limits,
                cgroups=cgroups,
                network=found.network,
                server_environment=environ,
            )
        )
        closing.callback(hook_programs.close)
        hooks = Hooks(store, trust, for_calls, hook_programs, configured=lambda: config().hooks)
        mcp = McpServers(
            store,
            vault,
            trust,
            workspaces,
            PipedPrograms(
                data,
                found.wall,
                limits=limits,
                cgroups=cgroups,
                network=found.network,
                server_environment=environ,
            ),
            clock,
            configured=lambda: config().mcp,
            questions=Questions(store, clock, ids),
        )
        closing.push_async_callback(mcp.close)
        family = AgentFamily(
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
            has_tool=lambda name: tools.names_one(name),  # noqa: PLW0108 - they are made below
            agents=agent_names,
            isolation=isolation,
        )
        driven = workflows(
            config=config,
            family=family,
            workspaces=workspaces,
            providers=providers,
            reader=reader,
            walled=walled,
            environ=environ,
            crashes=crashes,
        )
        flowing = flows(
            family=family,
            workspaces=workspaces,
            home=home_of(environ),
            evaluator=evaluator,
            reader=reader,
            providers=providers,
            workflows=driven,
        )
        tools = ToolRegistry(
            (
                *built_in(
                    workspaces=for_calls,
                    walled=walled,
                    seen=SeenFiles(),
                    processes=processes,
                    limits=limits,
                    family=family,
                    files=files,
                    code=code,
                    web=lambda: _web_settings(config().web),
                    documents=Documents(walled.on_file if walled.stands else None),
                    store=store,
                    clock=clock,
                    ids=ids,
                    ripgrep=await blocking(find_ripgrep),
                    about_network=processes.about_network,
                    skills=skill_directories(environ),
                ),
                *workflow_tools(driven.runs, family),
                apply_tool(store, changes),
                *(
                    template_tools(store, templates, builds, set_up_commands, workspaces)
                    if config().templates.roots
                    else ()
                ),
                *flow_tools(flowing.runs, family),
            )
        )
        yield Toolbox(
            surroundings=WorkspaceSurroundings(
                workspaces,
                Checks(processes, clock) if found.wall.stands else None,
                # A feature with a text for the model adds its source here.
                (
                    Workplace(workspaces, lambda: _command_rules(config(), found)),
                    InstructionFiles(workspaces, config_directory(environ)),
                    SkillList(workspaces, skill_directories(environ)),
                    WorkflowList(driven.runs.library),
                ),
                lambda: config().workspaces,
            ),
            tools=tools,
            workspaces=workspaces,
            agent_names=agent_names,
            trust=trust,
            mcp=mcp,
            hooks=hooks,
            hook_deliveries=HookDeliveries(store, hooks, clock, ids),
            agent_trust=agent_trust,
            tool_sources=(McpTools(mcp, files),),
            walled=walled,
            worktrees=worktrees,
            worktree_merge=WorktreeMerge(store, changes.acts, workspaces, checkpoints, walled),
            isolation=isolation,
            files=files,
            code=code,
            checkpoints=checkpoints,
            changes=changes,
            drafts=drafts,
            processes=processes,
            set_up_commands=set_up_commands,
            git_templates=git_templates,
            templates=templates,
            builds=builds,
            probe=found,
            workflows=driven,
            flows=flowing,
        )
    finally:
        await closing.aclose()
        await evaluator.close()
        await asyncio.to_thread(reader.close)
        await processes.close()


def _web_settings(web: WebSection) -> WebSettings:
    return WebSettings(
        rules=FetchRules(allow=web.allow, deny=web.deny, ports=web.ports),
        search=web.search or None,
        search_url=web.url,
        search_key=web.api_key,
    )


def _check_model(providers: Providers, name: str) -> None:
    try:
        providers.require(name)
    except HoldfastError as error:
        raise ToolError(error.text) from None


def _command_rules(config: Config, found: Probe) -> tuple[str, ...]:
    chosen = config.tools.named.get(EXECUTE)
    return command_rules(
        walled=found.wall.stands,
        network=found.network,
        approval=(chosen.approval if chosen is not None else None) or config.tools.approval,
    )
