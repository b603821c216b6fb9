"""Workspaces: directories below an allowed root that chats work in; their files and their changes."""

from typing import Annotated

from litestar import Response, Router, delete, get, post
from litestar.params import JSONBody, QueryParameter
from msgspec import Meta
from msgspec.structs import asdict

from holdfast.api.bodies import JsonRequest
from holdfast.api.commands import remove, write
from holdfast.api.pages import Cursor, Limit, Page
from holdfast.api.problems import invalid, not_found
from holdfast.api.services import By, InPath, Services, With, needs
from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.ids import WorkspaceId, is_uuid7
from holdfast.core.shapes import Border, Record
from holdfast.core.workspaces import Workspace, WorkspaceKind
from holdfast.store import workspaces
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.code.code_process import MapQuestion
from holdfast.workspaces.git.changes import diff_workspace
from holdfast.workspaces.git.repositories import branch_of, repository_of
from holdfast.workspaces.search.file_lookup import find_files


class CreateWorkspace(Border, frozen=True, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=100)]
    path: Annotated[str, Meta(min_length=1, max_length=4096)]


class WorkspaceShown(Record, frozen=True, kw_only=True):
    id: WorkspaceId
    name: str
    path: str
    kind: WorkspaceKind


class WorkspaceDetails(WorkspaceShown, frozen=True, kw_only=True):
    # The branch that is checked out; null if there is none, or no git repository.
    branch: str | None


class DirectoryShown(Record, frozen=True, kw_only=True):
    """A directory on the server's machine. `workspace` is the caller's own there; `allowed` says whether one
    can be created, `reason` why not."""

    path: str
    workspace: WorkspaceShown | None
    allowed: bool
    reason: str | None = None


class WorkspaceFile(Record, frozen=True, kw_only=True):
    path: str


class WorkspaceDiff(Record, frozen=True, kw_only=True):
    """What differs from the last commit, as a unified diff; cut if it is very long."""

    diff: str
    truncated: bool
    # Whether the directory is the top of a git repository: otherwise changes are unknown.
    git: bool


class CodeMapShown(Record, frozen=True, kw_only=True):
    """`left_out` files were not read yet, because there are many: ask again."""

    text: str
    files: int
    left_out: int


@get("/workspaces", guards=[needs("chats:read")])
async def list_workspaces(
    services: With, caller: By, limit: Limit = 50, cursor: Cursor = None
) -> Page[WorkspaceShown]:
    """The caller's workspaces."""
    if cursor is not None and not is_uuid7(cursor):
        raise invalid("cursor", "not a cursor of this list")
    after = None if cursor is None else WorkspaceId(cursor)
    found = await services.store.read(workspaces.page(caller.user.id, after=after, limit=limit + 1))
    return Page(
        items=tuple(_shown(each) for each in found[:limit]),
        next_cursor=found[limit - 1].id if len(found) > limit else None,
    )


@post("/workspaces", guards=[needs("chats:write")], status_code=201)
async def create_workspace(
    request: JsonRequest, data: JSONBody[CreateWorkspace], services: With, caller: By
) -> Response[WorkspaceShown]:
    """Create a workspace from an existing directory below one of `workspaces.roots`."""
    try:
        path = await blocking(lambda: services.workspaces.roots.allow(data.path))
    except InvalidInput as error:
        raise invalid("path", error.text) from None
    now = services.clock.now()
    new = Workspace(
        id=WorkspaceId(services.ids.uuid7(now)),
        owner_id=caller.user.id,
        name=data.name,
        path=str(path),
        created_at=now,
    )
    create = workspaces.create(new)
    return await write(services, caller, request, create, answer=lambda made: (201, _shown(made)))


@get("/workspaces/at", guards=[needs("chats:read")])
async def workspace_at(
    services: With,
    caller: By,
    path: Annotated[str, QueryParameter(min_length=1, max_length=4096, description="An absolute path.")],
) -> DirectoryShown:
    """Whether a directory is one of the caller's workspaces, or can become one."""
    try:
        real = await blocking(lambda: services.workspaces.roots.allow(path))
    except InvalidInput as error:
        return DirectoryShown(path=path, workspace=None, allowed=False, reason=error.text)
    found = await services.store.read(workspaces.at_path(str(real), caller.user.id))
    return DirectoryShown(path=str(real), workspace=None if found is None else _shown(found), allowed=True)


@get("/workspaces/{workspace_id:str}", guards=[needs("chats:read")])
async def read_workspace(workspace_id: InPath, services: With, caller: By) -> WorkspaceDetails:
    """One of the caller's own."""
    found = await own_workspace(services, caller, workspace_id)
    branch = await blocking(lambda: branch_of(found, services.workspaces.roots))
    return WorkspaceDetails(**asdict(_shown(found)), branch=branch)


@delete("/workspaces/{workspace_id:str}", guards=[needs("chats:write")], status_code=204)
async def delete_workspace(request: JsonRequest, workspace_id: InPath, services: With, caller: By) -> None:
    """Remove a workspace; its files stay where they are."""
    found = await own_workspace(services, caller, workspace_id)
    await remove(services, caller, request, workspaces.delete(found.id, caller.user.id))


@get("/workspaces/{workspace_id:str}/files", guards=[needs("chats:read")])
async def look_up_files(
    workspace_id: InPath,
    services: With,
    caller: By,
    q: Annotated[str, QueryParameter(max_length=500, description="Part of a path.")] = "",
    limit: Limit = 50,
) -> Page[WorkspaceFile]:
    """Files whose path contains the letters, best match first."""
    found = await own_workspace(services, caller, workspace_id)
    root = services.workspaces.root(found)
    paths = await find_files(services.walled, root, q, limit)
    return Page(items=tuple(WorkspaceFile(path=path) for path in paths))


@get("/workspaces/{workspace_id:str}/diff", guards=[needs("chats:read")])
async def workspace_diff(workspace_id: InPath, services: With, caller: By) -> WorkspaceDiff:
    """What has changed since the last commit, including new files."""
    found = await own_workspace(services, caller, workspace_id)
    try:
        repository = await blocking(lambda: repository_of(found, services.workspaces.roots))
        difference = await diff_workspace(services.walled, services.workspaces.root(found), repository)
    except NotFound:
        return WorkspaceDiff(diff="", truncated=False, git=False)
    return WorkspaceDiff(diff=difference.text, truncated=difference.truncated, git=True)


@get("/workspaces/{workspace_id:str}/code-map", guards=[needs("chats:read")])
async def workspace_code_map(
    workspace_id: InPath,
    services: With,
    caller: By,
    path: Annotated[str, QueryParameter(max_length=4096, description="A directory or file in it.")] = ".",
    tokens: Annotated[int, QueryParameter(ge=100, le=20_000, description="How long it may be.")] = 4_000,
) -> CodeMapShown:
    """The definitions that other files use most, by file."""
    found = await own_workspace(services, caller, workspace_id)
    root = services.workspaces.root(found)
    try:
        below = "/".join(root.parse(path))
    except InvalidInput as error:
        raise invalid("path", error.text) from None
    answer = await services.code.ask(root, found.id, MapQuestion(below=below, tokens=tokens))
    return CodeMapShown(text=answer.text, files=answer.files, left_out=answer.left_out)


async def own_workspace(services: Services, caller: By, workspace_id: str) -> Workspace:
    found = (
        await services.store.read(workspaces.workspace(WorkspaceId(workspace_id), caller.user.id))
        if is_uuid7(workspace_id)
        else None
    )
    if found is None:
        raise not_found("workspace")
    return found


def _shown(workspace: Workspace) -> WorkspaceShown:
    return WorkspaceShown(id=workspace.id, name=workspace.name, path=workspace.path, kind=workspace.kind)


router = Router(
    "/",
    route_handlers=[
        list_workspaces,
        create_workspace,
        workspace_at,
        read_workspace,
        delete_workspace,
        look_up_files,
        workspace_diff,
        workspace_code_map,
    ],
    tags=["workspaces"],
)
