"""Git in a workspace, when a person asks for it: commit, branch, patch; and the worktrees of agents."""

from typing import Annotated, Literal

from litestar import Response, Router, get, post
from litestar.params import JSONBody, QueryParameter
from msgspec import Meta

from holdfast.api.problems import not_found
from holdfast.api.services import By, InPath, Services, With, needs
from holdfast.api.workspaces import own_workspace
from holdfast.changes.worktree_merge import MergedWorktree
from holdfast.core.errors import InvalidInput, NotFound, TryAgain
from holdfast.core.ids import ChatId, WorkspaceId
from holdfast.core.shapes import Border, Record
from holdfast.core.workspaces import Workspace
from holdfast.store import workspaces
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.git.commits import Committed, GitPerson, commit_files, make_branch, patch_of
from holdfast.workspaces.git.repositories import Repository, repository_of

Path = Annotated[str, Meta(min_length=1, max_length=4096)]


class CommitFiles(Border, frozen=True, kw_only=True):
    message: Annotated[str, Meta(min_length=1, max_length=20_000)]
    paths: Annotated[tuple[Path, ...], Meta(min_length=1, max_length=5000)] | None = None


class MakeBranch(Border, frozen=True, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=200)]


class WorktreeShown(Record, frozen=True, kw_only=True):
    id: WorkspaceId
    path: str
    branch: str
    base: str
    chat_id: ChatId
    # gone: its directory is not there any more.
    state: Literal["unchanged", "changed", "gone"]
    # It stays when its chat is deleted.
    kept: bool


class WorktreeList(Record, frozen=True, kw_only=True):
    items: tuple[WorktreeShown, ...]


@post("/workspaces/{workspace_id:str}/git/commit", guards=[needs("chats:write")], status_code=201)
async def commit(workspace_id: InPath, data: JSONBody[CommitFiles], services: With, caller: By) -> Committed:
    """Commit the workspace, or these paths, on the branch that is checked out. Leaves out new repositories
    inside. Nothing is pushed."""
    found, repository = await _repository(services, caller, workspace_id)
    root = services.workspaces.root(found)
    paths = tuple("/".join(root.parse(path)) for path in data.paths or ())
    return await commit_files(services.walled, root, repository, data.message, paths, _who(caller))


@post("/workspaces/{workspace_id:str}/git/branch", guards=[needs("chats:write")], status_code=201)
async def branch(workspace_id: InPath, data: JSONBody[MakeBranch], services: With, caller: By) -> Committed:
    """Make a branch at the commit that is checked out, and go on on it. Files stay as they are."""
    found, repository = await _repository(services, caller, workspace_id)
    return await make_branch(services.walled, services.workspaces.root(found), repository, data.name)


@get("/workspaces/{workspace_id:str}/git/patch", guards=[needs("chats:read")])
async def patch(
    workspace_id: InPath,
    services: With,
    caller: By,
    subject: Annotated[str, QueryParameter(max_length=200, description="The first line.")] = "Changes",
) -> Response[bytes]:
    """What is not committed, as a patch that `git am` takes."""
    found, repository = await _repository(services, caller, workspace_id)
    line = " ".join(subject.split()) or "Changes"
    text = await patch_of(
        services.walled,
        services.workspaces.root(found),
        repository,
        _who(caller),
        line,
        services.clock.now(),
    )
    return Response(
        text.encode("utf-8", "surrogateescape"),
        media_type="text/x-patch",
        headers={"Content-Disposition": 'attachment; filename="changes.patch"'},
    )


@get("/workspaces/{workspace_id:str}/worktrees", guards=[needs("chats:read")])
async def list_worktrees(workspace_id: InPath, services: With, caller: By) -> WorktreeList:
    """Worktrees that agents work in, made from this workspace's repository."""
    return await _listed(services, caller, workspace_id)


async def _listed(services: Services, caller: By, workspace_id: str) -> WorktreeList:
    found = await own_workspace(services, caller, workspace_id)
    made = await services.store.read(workspaces.worktrees_of(found.path, caller.user.id))
    return WorktreeList(items=tuple([await _shown(services, one) for one in made]))


@post(
    "/workspaces/{workspace_id:str}/worktrees/{worktree_id:str}/remove",
    guards=[needs("chats:write")],
    status_code=200,
)
async def remove_worktree(
    workspace_id: InPath, worktree_id: InPath, services: With, caller: By
) -> WorktreeList:
    """Remove it with everything in it. What was committed stays on its branch."""
    one = await _worktree(services, caller, workspace_id, worktree_id)
    await services.worktrees.remove(one)
    await services.store.write(workspaces.delete(one.id, caller.user.id))
    return await _listed(services, caller, workspace_id)


@post(
    "/workspaces/{workspace_id:str}/worktrees/{worktree_id:str}/keep",
    guards=[needs("chats:write")],
    status_code=200,
)
async def keep_worktree(
    workspace_id: InPath, worktree_id: InPath, services: With, caller: By
) -> WorktreeList:
    """It stays when its chat is deleted, until it is removed here."""
    one = await _worktree(services, caller, workspace_id, worktree_id)
    await services.store.write(workspaces.keep(one.id, caller.user.id))
    return await _listed(services, caller, workspace_id)


@post(
    "/workspaces/{workspace_id:str}/worktrees/{worktree_id:str}/merge",
    guards=[needs("chats:write")],
    status_code=200,
)
async def merge_worktree(
    workspace_id: InPath, worktree_id: InPath, services: With, caller: By
) -> MergedWorktree:
    """Its files come into the workspace, merged with what is there now; what cannot be merged is named and
    left. Nothing is committed, and the worktree stays."""
    one = await _worktree(services, caller, workspace_id, worktree_id)
    target = await own_workspace(services, caller, workspace_id)
    return await services.worktree_merge.merge(one, target, caller.user.id)


async def _worktree(services: Services, caller: By, workspace_id: str, worktree_id: str) -> Workspace:
    found = await own_workspace(services, caller, workspace_id)
    made = await services.store.read(workspaces.worktrees_of(found.path, caller.user.id))
    one = next((each for each in made if each.id == worktree_id), None)
    if one is None:
        raise not_found("worktree")
    return one


async def _shown(services: Services, one: Workspace) -> WorktreeShown:
    assert one.worktree is not None
    is_there = services.workspaces.root(one).path.is_dir
    there = await blocking(is_there)
    try:
        unchanged = there and await services.worktrees.is_unchanged(one)
    except (InvalidInput, NotFound, TryAgain):
        # It is being removed right now, or is broken: then nobody may take it for unchanged.
        unchanged, there = False, await blocking(is_there)
    return WorktreeShown(
        id=one.id,
        path=one.path,
        branch=one.worktree.branch,
        base=one.worktree.base,
        chat_id=one.worktree.chat_id,
        state="unchanged" if unchanged else "changed" if there else "gone",
        kept=one.worktree.kept,
    )


async def _repository(services: Services, caller: By, workspace_id: str) -> tuple[Workspace, Repository]:
    found = await own_workspace(services, caller, workspace_id)
    return found, await blocking(lambda: repository_of(found, services.workspaces.roots))


def _who(caller: By) -> GitPerson:
    name = " ".join(caller.user.name.replace("<", " ").replace(">", " ").split()) or "holdfast"
    return GitPerson(name=name, email=f"{name.replace(' ', '.')}@localhost")


router = Router(
    "/",
    route_handlers=[commit, branch, patch, list_worktrees, merge_worktree, keep_worktree, remove_worktree],
    tags=["workspaces"],
)
