"""All built-in tools, made from what they need: the one list that the server, the reference and the tests
read."""

from collections.abc import Callable
from pathlib import Path

from holdfast.core.clock import Clock
from holdfast.core.ids import Ids
from holdfast.files.stored_files import StoredFiles
from holdfast.store.interface import Store
from holdfast.tools.access import access_tool
from holdfast.tools.agents import agent_tools
from holdfast.tools.attach_file import attach_tool
from holdfast.tools.chats import chat_tools
from holdfast.tools.code import code_tools
from holdfast.tools.collisions import Colliding
from holdfast.tools.commands import command_tools
from holdfast.tools.contract import Tool
from holdfast.tools.family import AgentFamily
from holdfast.tools.files import file_tools
from holdfast.tools.intents import EditIntents
from holdfast.tools.people import ASK_USER, PROPOSE_PLAN
from holdfast.tools.search import search_tools
from holdfast.tools.subagents import subagent_tools
from holdfast.tools.todo import TODO
from holdfast.tools.web.documents import Documents
from holdfast.tools.web.web_tools import WebSettings, web_tools
from holdfast.workspaces.code.code_indexes import CodeIndexes
from holdfast.workspaces.code.grammars import installed
from holdfast.workspaces.commands.limits import CommandLimits
from holdfast.workspaces.commands.processes import Processes
from holdfast.workspaces.commands.walled_programs import Walled
from holdfast.workspaces.files.read_state import SeenFiles
from holdfast.workspaces.places.chat_directory import Workspaces


def built_in(
    *,
    workspaces: Workspaces,
    walled: Walled,
    seen: SeenFiles,
    processes: Processes,
    limits: CommandLimits,
    family: AgentFamily,
    files: StoredFiles,
    code: CodeIndexes,
    web: Callable[[], WebSettings],
    documents: Documents,
    store: Store,
    clock: Clock,
    ids: Ids,
    # The search program; None: we search ourselves.
    ripgrep: str | None,
    about_network: str = "",
    # Where skills are that belong to no workspace.
    skills: tuple[Path, ...] = (),
) -> tuple[Tool, ...]:
    return (
        ASK_USER,
        PROPOSE_PLAN,
        TODO,
        *file_tools(workspaces, seen, Colliding(store, workspaces, seen, clock, ids), EditIntents(store)),
        *chat_tools(store),
        attach_tool(workspaces, files),
        access_tool(store, workspaces, clock, ids),
        *search_tools(workspaces, walled, ripgrep, skills),
        *(code_tools(workspaces, code) if installed() else ()),
        *web_tools(web, documents),
        *command_tools(processes, workspaces, clock, limits, about_network),
        *agent_tools(family),
        *subagent_tools(family),
    )
