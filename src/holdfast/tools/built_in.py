"""Every built-in tool, from what they work with: the one list that the server, the reference and the tests
read."""

from holdfast.core.clock import Clock
from holdfast.core.ids import Ids
from holdfast.files.kept import Files
from holdfast.store.interface import Store
from holdfast.tools.access import access_tool
from holdfast.tools.agents import agent_tools
from holdfast.tools.attaching import attach_tool
from holdfast.tools.colliding import Colliding
from holdfast.tools.commands import command_tools
from holdfast.tools.contract import Tool
from holdfast.tools.family import Family
from holdfast.tools.files import file_tools
from holdfast.tools.people import ASK_USER, PROPOSE_PLAN
from holdfast.tools.search import search_tools
from holdfast.tools.subagents import subagent_tools
from holdfast.tools.todo import TODO
from holdfast.workspaces.limits import Limits
from holdfast.workspaces.processes import Processes
from holdfast.workspaces.seen import Seen
from holdfast.workspaces.workspaces import Workspaces


def built_in(
    *,
    workspaces: Workspaces,
    seen: Seen,
    processes: Processes,
    limits: Limits,
    family: Family,
    files: Files,
    store: Store,
    clock: Clock,
    ids: Ids,
    # The program that searches; None: we do it ourselves.
    ripgrep: str | None,
) -> tuple[Tool, ...]:
    return (
        ASK_USER,
        PROPOSE_PLAN,
        TODO,
        *file_tools(workspaces, seen, Colliding(store, workspaces, seen, clock, ids)),
        attach_tool(workspaces, files),
        access_tool(store, workspaces, clock, ids),
        *search_tools(workspaces, ripgrep),
        *command_tools(processes, workspaces, clock, limits),
        *agent_tools(family),
        *subagent_tools(family),
    )
