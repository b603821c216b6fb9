"""Git worktrees for agents that must not work in each other's files: a branch and a checkout of their own.
One that is unchanged goes without a trace; of one that is not, what was committed stays on its branch."""

import shutil
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.ids import ChatId, WorkspaceId
from holdfast.core.workspaces import Workspace, Worktree
from holdfast.workspaces.beneath import Root
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.git import diff_workspace, run_git
from holdfast.workspaces.repositories import Repository, borrowed, environment, find_repository
from holdfast.workspaces.roots import Roots

# Where the repository's own settings have to be read, none of them may name a program.
_QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0")


class Worktrees:
    """Makes and removes them; that they are known is the store's business. What is on disk is found by the
    workspace's id, never by a path that somebody wrote down."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots

    async def create(
        self, origin: Workspace, workspace_id: WorkspaceId, chat_id: ChatId, now: datetime
    ) -> Workspace:
        """From the commit that is checked out in the origin, which may be a worktree itself."""
        repository = await self._repository(self._root(origin))
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
            await _check_out(repository, made, root)
        except BaseException:
            await self.remove(workspace)
            raise
        return workspace

    async def is_unchanged(self, workspace: Workspace) -> bool:
        """No commit, no changed file, no new one (but for those that .gitignore names)."""
        assert workspace.worktree is not None
        root = self._roots.worktree(workspace.id)
        if (await self._repository(root)).head != workspace.worktree.base:
            return False
        return (await diff_workspace(root, self._roots.allowed, limit=1)).is_empty

    async def remove(self, workspace: Workspace) -> None:
        """With everything in it. Its branch goes too if nothing was committed on it. May be repeated."""
        assert workspace.worktree is not None
        path = self._roots.worktree(workspace.id).path
        await blocking(lambda: shutil.rmtree(path, ignore_errors=True))
        try:
            repository = await self._repository(self._roots.directory(workspace.worktree.repository))
            # Only ours: `git worktree prune` would forget those of others that are not mounted just now.
            known = repository.common / "worktrees" / workspace.id
            await blocking(lambda: shutil.rmtree(known, ignore_errors=True))
            made = workspace.worktree
            await _git(repository, "update-ref", "-d", f"refs/heads/{made.branch}", made.base)
        except (InvalidInput, NotFound):
            pass  # the repository is gone, or the branch has commits

    async def remove_left_over(self, workspace_id: WorkspaceId) -> bool:
        """One that nobody wrote down. If there is anything in it that is nowhere else it is kept: the record
        of it may have been lost, not the work."""
        root = self._roots.worktree(workspace_id)
        try:
            repository = await self._repository(root)
        except (InvalidInput, NotFound):
            repository = None  # git did not get as far as telling what it is of
        if repository is not None and not await self._is_spare(root, repository):
            return False
        await blocking(lambda: shutil.rmtree(root.path, ignore_errors=True))
        if repository is not None:
            # As it is named, it is found through what goes now.
            repository = replace(repository, common=repository.common.resolve())
            known = repository.common / "worktrees" / workspace_id
            await blocking(lambda: shutil.rmtree(known, ignore_errors=True))
            with suppress(InvalidInput, NotFound):
                await _git(repository, "update-ref", "-d", f"refs/heads/holdfast/{workspace_id}")
        return True

    async def _is_spare(self, root: Root, repository: Repository) -> bool:
        if not await blocking((repository.directory / "index").exists):
            return True  # it was never finished, so nobody worked in it
        if repository.head is None or not (await diff_workspace(root, self._roots.allowed, limit=1)).is_empty:
            return False
        asked = ("for-each-ref", "--count=2", "--contains", repository.head)
        refs, _ = await run_git(environment(repository.common), repository.common, *_QUIET, *asked)
        return refs.count(b"\n") > 1

    def _root(self, workspace: Workspace) -> Root:
        if workspace.worktree is not None:
            return self._roots.worktree(workspace.id)
        return self._roots.directory(workspace.path)

    async def _repository(self, root: Root) -> Repository:
        return await blocking(lambda: find_repository(root, self._roots.allowed))


async def _check_out(repository: Repository, made: Worktree, root: Root) -> None:
    """The files, without the filters and hooks that the repository may name."""
    add = ("worktree", "add", "--quiet", "--no-checkout", "-b", made.branch, str(root.path), made.base)
    await _git(repository, *add)
    own = await blocking(lambda: find_repository(root, (repository.common,)))
    async with borrowed(own, root.path) as lent:
        await run_git(lent.environment, root.path, "read-tree", made.base)
        await run_git(lent.environment, root.path, "checkout-index", "--all", "--force", "--quiet")
        await run_git(lent.environment, root.path, "update-index", "-q", "--refresh")
        await blocking(lambda: shutil.copy2(lent.directory / "index", own.directory / "index"))


async def _git(repository: Repository, *arguments: str) -> None:
    await run_git(environment(repository.common), repository.common, *_QUIET, *arguments)
