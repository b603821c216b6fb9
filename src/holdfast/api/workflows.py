"""Workflows that can be run: those of a workspace, of the server's home directory, and of the catalogue."""

from pathlib import PurePath
from typing import Annotated, Literal

from litestar import Router, get
from litestar.params import QueryParameter
from msgspec.structs import asdict

from holdfast.accounts.access import Caller
from holdfast.api.checks import find_workspace
from holdfast.api.pages import MOST_LISTED, Cursor, Limit, Page, page_of
from holdfast.api.problems import not_found
from holdfast.api.services import By, InPath, Services, With, needs
from holdfast.core.runs import Language
from holdfast.core.shapes import Json, Record
from holdfast.scripts.discovery import Workflow
from holdfast.scripts.meta import PlannedPhase

WorkspaceWanted = Annotated[
    str | None, QueryParameter(max_length=36, description="Include the workflows of this workspace.")
]


class WorkflowListed(Record, frozen=True, kw_only=True):
    """One file. `error` (and its `line`) says why it cannot be run; `name` is then the file's."""

    name: str
    description: str | None
    when_to_use: str | None
    phases: tuple[PlannedPhase, ...]
    # A JSON Schema of the arguments; null: any JSON, or nothing.
    args: dict[str, Json] | None
    # Output tokens of a run with all its agents.
    budget: int | None
    language: Language
    source: Literal["project", "home", "catalogue"]
    # Below the workspace, below the home directory (`~`), or the name of a file in the catalogue.
    path: str
    # It overrides a workflow of the catalogue with the same name.
    hides_builtin: bool
    # The path of a nearer one of the same name, which is run instead.
    hidden_by: str | None
    error: str | None
    line: int | None
    warnings: tuple[str, ...]


class WorkflowShown(WorkflowListed, frozen=True, kw_only=True):
    # Its text; null if it cannot be read.
    script: str | None


@get("/workflows", guards=[needs("chats:read")])
async def list_workflows(
    services: With,
    caller: By,
    workspace_id: WorkspaceWanted = None,
    limit: Limit = MOST_LISTED,
    cursor: Cursor = None,
) -> Page[WorkflowListed]:
    """All workflows, by name; files that cannot be run with the reason."""
    found = await _listed(services, caller, workspace_id)
    paths = _paths(found)
    shown = [_shown(workflow, paths) for workflow in found]
    return page_of(shown, limit, cursor, lambda workflow: f"{workflow.source}:{workflow.path}")


@get("/workflows/{name:str}", guards=[needs("chats:read")])
async def read_workflow(
    name: InPath, services: With, caller: By, workspace_id: WorkspaceWanted = None
) -> WorkflowShown:
    """The workflow that this name refers to, with its script."""
    listed = await _listed(services, caller, workspace_id)
    named = [workflow for workflow in listed if workflow.name == name]
    found = min(named, key=_rank, default=None)
    if found is None:
        raise not_found("workflow")
    text = None if found.script is None else found.script.text
    return WorkflowShown(**asdict(_shown(found, _paths(listed))), script=text)


async def _listed(services: Services, caller: Caller, workspace_id: str | None) -> tuple[Workflow, ...]:
    wanted = await find_workspace(services, caller, workspace_id)
    return await services.runs.library.listed(wanted, caller.user.id)


def _rank(workflow: Workflow) -> int:
    """Workflows that can be run first, then the others."""
    return 0 if workflow.script is not None and workflow.hidden_by is None else 1 + (workflow.error is None)


def _shown(workflow: Workflow, paths: dict[str, str]) -> WorkflowListed:
    script = workflow.script
    meta = None if script is None else script.meta
    return WorkflowListed(
        name=workflow.name,
        description=None if meta is None else meta.description,
        when_to_use=None if meta is None else meta.when_to_use,
        phases=() if meta is None else meta.phases,
        args=None if meta is None else meta.args,
        budget=None if meta is None else meta.budget,
        language=workflow.language,
        source=workflow.origin,
        path=paths[workflow.path],
        hides_builtin=workflow.hides_builtin,
        hidden_by=None if workflow.hidden_by is None else paths[workflow.hidden_by],
        error=workflow.error,
        line=workflow.line,
        warnings=() if script is None else script.warnings,
    )


def _paths(workflows: tuple[Workflow, ...]) -> dict[str, str]:
    return {workflow.path: _path(workflow) for workflow in workflows}


def _path(workflow: Workflow) -> str:
    """Without paths of the server."""
    *_, first, second, name = ("", "", *PurePath(workflow.path).parts)
    match workflow.origin:
        case "project":
            return f"{first}/{second}/{name}"
        case "home":
            return f"~/{first}/{second}/{name}"
        case "catalogue":
            return name


router = Router("/", route_handlers=[list_workflows, read_workflow], tags=["workflows"])
