"""Flows that can be run: those of a workspace, of the server's home directory, and of the catalogue."""

from typing import Annotated, Literal

from litestar import Router, get
from litestar.params import QueryParameter
from msgspec.structs import asdict

from holdfast.accounts.access import Caller
from holdfast.api.checks import find_workspace
from holdfast.api.pages import MOST_LISTED, Cursor, Limit, Page, page_of
from holdfast.api.problems import not_found
from holdfast.api.services import By, InPath, Services, With, needs
from holdfast.core.shapes import Json, Record
from holdfast.flows.discovery import FlowFile
from holdfast.flows.graph_shapes import FlowGraph, graph_of

WorkspaceWanted = Annotated[
    str | None, QueryParameter(max_length=36, description="Include the flows of this workspace.")
]


class FlowListed(Record, frozen=True, kw_only=True):
    """One file. `error` (with line and column) says why it cannot be run; `name` is then the file's."""

    name: str
    description: str | None
    when_to_use: str | None
    # A JSON Schema of the arguments; null: any JSON, or nothing.
    args: dict[str, Json] | None
    # Output tokens of all agents of a run.
    budget: int | None
    # The number of steps.
    steps: int
    source: Literal["project", "home", "catalogue"]
    # Below the workspace, below the home directory (`~`), or the name of a file in the catalogue.
    path: str
    # It overrides a flow of the catalogue with the same name.
    hides_builtin: bool
    # The path of a nearer one of the same name, which is run instead.
    hidden_by: str | None
    error: str | None
    line: int | None
    column: int | None


class FlowShown(FlowListed, frozen=True, kw_only=True):
    text: str
    # Null if it cannot be read.
    graph: FlowGraph | None


@get("/flows", guards=[needs("chats:read")])
async def list_flows(
    services: With,
    caller: By,
    workspace_id: WorkspaceWanted = None,
    limit: Limit = MOST_LISTED,
    cursor: Cursor = None,
) -> Page[FlowListed]:
    """All flows, by name; files that cannot be run with the reason."""
    shown = [_listed(file) for file in await _found(services, caller, workspace_id)]
    return page_of(shown, limit, cursor, lambda flow: f"{flow.source}:{flow.path}")


@get("/flows/{name:str}", guards=[needs("chats:read")])
async def read_flow(
    name: InPath, services: With, caller: By, workspace_id: WorkspaceWanted = None
) -> FlowShown:
    """The flow that this name refers to, with its text and its graph."""
    named = [file for file in await _found(services, caller, workspace_id) if file.name == name]
    found = min(named, key=_rank, default=None)
    if found is None:
        raise not_found("flow")
    graph = None if found.flow is None else graph_of(found.flow)
    return FlowShown(**asdict(_listed(found)), text=found.text, graph=graph)


async def _found(services: Services, caller: Caller, workspace_id: str | None) -> tuple[FlowFile, ...]:
    wanted = await find_workspace(services, caller, workspace_id)
    return await services.flow_runs.library.listed(wanted, caller.user.id)


def _rank(file: FlowFile) -> int:
    """Flows that can be run first, then the others."""
    return 0 if file.flow is not None and file.hidden_by is None else 1 + (file.error is None)


def _listed(file: FlowFile) -> FlowListed:
    flow = file.flow
    return FlowListed(
        name=file.name,
        description=None if flow is None else flow.description,
        when_to_use=None if flow is None else flow.when_to_use,
        args=None if flow is None else flow.args,
        budget=None if flow is None else flow.budget,
        steps=0 if flow is None else len(flow.steps),
        source=file.origin,
        path=file.path,
        hides_builtin=file.hides_builtin,
        hidden_by=file.hidden_by,
        error=file.error,
        line=file.line,
        column=file.column,
    )


router = Router("/", route_handlers=[list_flows, read_flow], tags=["flows"])
