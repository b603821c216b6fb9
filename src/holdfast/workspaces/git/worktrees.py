"""Git worktrees for agents that must not work in each other's files: a branch and a checkout of their own.
One that is unchanged goes without a trace; of one that is not, what was committed stays on its branch."""

import os
import shutil
from contextlib import ExitStack, suppress
from datetime import datetime

from holdfast.core.errors import HoldfastError, InvalidInput, NotFound, TryAgain, WrongState
from holdfast.core.ids import ChatId, WorkspaceId
from holdfast.core.workspaces import Workspace, Worktree
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.commands.walled_programs import Walled
from holdfast.workspaces.files.file_root import DIRECTORY, Root
from holdfast.workspaces.git.borrowed_repository import borrowed, copy_in, remove_below
from holdfast.workspaces.git.changes import diff_workspace
from holdfast.workspaces.git.repositories import (
    GIT,
    WORKTREES,
    Repository,
    find_repository,
    inner,
    repository_of,
)
from holdfast.workspaces.places.allowed_roots import Roots

_SECONDS = 60.0
_SAID_BYTES = 64 * 1024
# A branch that must not be there yet, the files without filters and hooks, and an index that knows their
# times. Arguments: the branch, the commit, the commit that the branch must be at before.
_CHECK_OUT = """
git update-ref "$1" "$2" "$3" && git read-tree "$2" &&
git checkout-index --all --force --quiet && git update-index -q --refresh
"""


class Worktrees:
    """Makes and removes them; that they are known is the store's business. What is on disk is found by the
    workspace's id, never by a path that somebody wrote down."""

    def __init__(self, roots: Roots, walled: Walled) -> None:
        self._roots = roots
        self._walled = walled

    async def create(
        self, origin: Workspace, workspace_id: WorkspaceId, chat_id: ChatId, now: datetime
    ) -> Workspace:
        """From the commit that is checked out in the origin, which may be a worktree itself."""
        self._walled.require("A worktree")
        repository = await self._repository(origin)
        if repository.head is None:
            raise InvalidInput("The repository has no commit yet, so there is nothing to make a worktree of.")
        root = self._roots.worktree(workspace_id)
        made = Worktree(
            repository=origin.path if origin.worktree is None else origin.worktree.repository,
            base=repository.head,
            branch=f"holdfast/{workspace_id}",
            chat_id=chat_id,
        )
        workspace = Workspace(
            id=workspace_id,
            owner_id=origin.owner_id,
            name=f"{origin.name} ({workspace_id[-8:]})",
            path=str(root.path),
            created_at=now,
            worktree=made,
        )
        try:
            await self._check_out(repository, made, root, workspace_id)
        except BaseException:
            await self.remove(workspace)
            raise
        return workspace

    async def is_unchanged(self, workspace: Workspace) -> bool:
        """No commit, no changed file, no new one (but for those that .gitignore names)."""
        assert workspace.worktree is not None
        repository = await self._repository(workspace)
        if repository.head != workspace.worktree.base:
            return False
        root = self._roots.worktree(workspace.id)
        return (await diff_workspace(self._walled, root, repository, limit=1)).is_empty

    async def remove(self, workspace: Workspace) -> None:
        """With everything in it. Its branch goes too if nothing was committed on it. May be repeated."""
        assert workspace.worktree is not None
        made, path = workspace.worktree, self._roots.worktree(workspace.id).path
        await blocking(lambda: shutil.rmtree(path, ignore_errors=True))
        with suppress(InvalidInput, NotFound):  # the repository is gone, or the branch has commits
            origin = self._roots.directory(made.repository)
            repository = await blocking(lambda: find_repository(origin, self._roots.allowed))
            await self._forget(repository, workspace.id, f"refs/heads/{made.branch}", made.base)

    async def remove_left_over(self, workspace_id: WorkspaceId) -> bool:
        """One that nobody wrote down. If there is anything in it that is nowhere else it is kept: the record
        of it may have been lost, not the work."""
        root = self._roots.worktree(workspace_id)
        try:
            repository = await blocking(lambda: find_repository(root, self._roots.allowed))
        except (InvalidInput, NotFound):
            repository = None  # git did not get as far as telling what it is of
        if repository is not None and not await self._is_spare(root, repository):
            return False
        await blocking(lambda: shutil.rmtree(root.path, ignore_errors=True))
        if repository is not None:
            with suppress(InvalidInput, NotFound):
                await self._forget(repository, workspace_id, f"refs/heads/holdfast/{workspace_id}")
        return True

    async def _is_spare(self, root: Root, repository: Repository) -> bool:
        if not await blocking(lambda: _has_index(repository)):
            return True  # it was never finished, so nobody worked in it
        if not self._walled.stands or repository.head is None:
            return False
        if not (await diff_workspace(self._walled, root, repository, limit=1)).is_empty:
            return False
        asked = ("for-each-ref", "--count=2", "--contains", repository.head)
        async with borrowed(self._walled, repository, root, refs=True) as own:
            ran = await own.git("git", *asked, limit=_SAID_BYTES)
        return ran.output.count(b"\n") > 1

    async def _repository(self, workspace: Workspace) -> Repository:
        return await blocking(lambda: repository_of(workspace, self._roots))

    async def _check_out(
        self, repository: Repository, made: Worktree, root: Root, workspace_id: WorkspaceId
    ) -> None:
        with ExitStack() as stack:
            own = await blocking(lambda: _lay_out(repository, made, root, workspace_id, stack))
            async with borrowed(self._walled, repository, root, refs=True) as lent:
                await blocking(lambda: (lent.directory / "index").unlink(missing_ok=True))
                nothing = "0" * len(made.base)
                asked = (f"refs/heads/{made.branch}", made.base, nothing)
                may_write = (root, repository.common)
                await lent.git(
                    "/bin/sh", "-c", _CHECK_OUT, "git", *asked,
                    writable=may_write, limit=_SAID_BYTES, seconds=_SECONDS,
                )  # fmt: skip
                try:
                    await blocking(lambda: copy_in(lent.directory / "index", own, "index"))
                except OSError as error:
                    raise _disturbed(error) from error

    async def _forget(self, repository: Repository, name: str, *ref: str) -> None:
        """What the repository knows of a worktree. Only ours: `git worktree prune` would forget those of
        others that are not mounted just now."""
        await blocking(lambda: remove_below(inner(repository.common, WORKTREES), name))
        if not self._walled.stands:
            return  # the branch stays, then: nothing is run here
        with suppress(TryAgain, WrongState):
            async with borrowed(self._walled, repository, repository.common, refs=True) as own:
                asked = ("git", "update-ref", "-d", *ref)
                await own.git(*asked, writable=(repository.common,), limit=_SAID_BYTES)


def _lay_out(repository: Repository, made: Worktree, root: Root, name: str, stack: ExitStack) -> int:
    """The directory of a worktree and what the repository notes of it, as git lays them out. Gives the
    second one, held open."""
    noted = inner(repository.common, WORKTREES, name).path
    try:
        root.path.mkdir()
        with root.open() as tree:
            _write(tree.root, GIT, f"gitdir: {noted}")
        with repository.common.open() as tree:
            with suppress(FileExistsError):
                os.mkdir(WORKTREES, dir_fd=tree.root)
            outer = os.open(WORKTREES, DIRECTORY | os.O_NOFOLLOW, dir_fd=tree.root)
        stack.callback(os.close, outer)
        os.mkdir(name, dir_fd=outer)
        own = os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=outer)
        stack.callback(os.close, own)
        _write(own, "gitdir", str(root.path / GIT))
        _write(own, "commondir", "../..")
        _write(own, "HEAD", f"ref: refs/heads/{made.branch}")
    except OSError as error:
        raise _disturbed(error) from error
    return own


def _write(directory: int, name: str, text: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o666, dir_fd=directory)
    try:
        os.write(descriptor, f"{text}\n".encode())
    finally:
        os.close(descriptor)


def _disturbed(error: OSError) -> InvalidInput:
    return InvalidInput(f"The repository cannot take a worktree: {error.strerror} in its directory.")


def _has_index(repository: Repository) -> bool:
    try:
        with repository.directory.open() as tree:
            os.stat("index", dir_fd=tree.root, follow_symlinks=False)
    except (HoldfastError, OSError):
        return False
    return True
