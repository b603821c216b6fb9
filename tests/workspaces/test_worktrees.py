"""Worktrees: made without running the repository's own, gone without a trace when nothing was done in
them."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.ids import ChatId, UserId, WorkspaceId
from holdfast.core.workspaces import Workspace
from holdfast.workspaces.git.worktrees import Worktrees
from holdfast.workspaces.places.allowed_roots import Roots
from tests.workspaces.repository import git, make_repository
from tests.workspaces.walls import walled_in

NOW = datetime(2026, 1, 1, tzinfo=UTC)
pytestmark = pytest.mark.heavy
WORKTREE = WorkspaceId("0199c000-0000-7000-8000-00000000abcd")


class Scene:
    def __init__(self, base: Path) -> None:
        self.code = base / "code"
        self.repository = self.code / "project"
        self.commit = make_repository(
            self.repository, {"a.txt": "one\n", "run.sh": "x\n", ".gitignore": "*.log\n"}
        )
        (self.repository / "run.sh").chmod(0o755)
        git(self.repository, "commit", "-aqm", "executable")
        self.commit = git(self.repository, "rev-parse", "HEAD").strip()
        (base / "data").mkdir(mode=0o700)
        self.roots = Roots(base / "data", (self.code,))
        self.worktrees = Worktrees(self.roots, walled_in(base / "data"))
        self.origin = Workspace(
            id=WorkspaceId("0199c000-0000-7000-8000-000000000001"),
            owner_id=UserId("u"),
            name="project",
            path=str(self.repository),
            created_at=NOW,
        )

    async def create(self) -> tuple[Workspace, Path]:
        workspace = await self.worktrees.create(self.origin, WORKTREE, ChatId("c"), NOW)
        return workspace, Path(workspace.path)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


async def test_one_is_made_used_and_removed(scene: Scene) -> None:
    workspace, path = await scene.create()
    assert workspace.kind == "worktree"
    assert workspace.worktree is not None
    assert workspace.worktree.base == scene.commit
    assert (path / "a.txt").read_text() == "one\n"
    assert (path / "run.sh").stat().st_mode & 0o111
    # Git itself finds it in order.
    assert git(path, "status", "--porcelain") == ""
    assert git(path, "rev-parse", "HEAD").strip() == scene.commit
    assert await scene.worktrees.is_unchanged(workspace)
    await scene.worktrees.remove(workspace)
    assert not path.exists()
    assert len(git(scene.repository, "worktree", "list").splitlines()) == 1
    assert "holdfast" not in git(scene.repository, "branch", "--list")
    await scene.worktrees.remove(workspace)


@pytest.mark.parametrize("change", ["edit", "new file", "delete", "commit", "staged"])
async def test_what_was_done_in_it_counts(scene: Scene, change: str) -> None:
    workspace, path = await scene.create()
    match change:
        case "edit":
            (path / "a.txt").write_text("two\n")
        case "new file":
            (path / "new.txt").write_text("x\n")
        case "delete":
            (path / "a.txt").unlink()
        case "staged":
            (path / "new.txt").write_text("x\n")
            git(path, "add", "new.txt")
        case _:
            git(path, "commit", "-q", "--allow-empty", "-m", "work")
    assert not await scene.worktrees.is_unchanged(workspace)
    await scene.worktrees.remove(workspace)
    branches = git(scene.repository, "branch", "--list", "--format=%(refname:short)").split()
    # What was committed stays to be found.
    assert (f"holdfast/{WORKTREE}" in branches) is (change == "commit")


async def test_what_is_ignored_does_not_count(scene: Scene) -> None:
    workspace, path = await scene.create()
    (path / "x.log").write_text("x")
    assert await scene.worktrees.is_unchanged(workspace)


async def test_nothing_that_the_repository_names_is_run(scene: Scene, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\necho ran >> {trace}\ncat\n")
    script.chmod(0o755)
    (scene.repository / ".gitattributes").write_text("* filter=evil\n")
    git(scene.repository, "add", "-A")
    git(scene.repository, "commit", "-qm", "attributes")
    for key in ("filter.evil.smudge", "filter.evil.clean", "core.fsmonitor"):
        git(scene.repository, "config", key, str(script))
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        (scene.repository / ".git" / "hooks").mkdir(exist_ok=True)
        (scene.repository / ".git" / "hooks" / hook).symlink_to(script)
    workspace, path = await scene.create()
    assert (path / "a.txt").read_text() == "one\n"
    assert await scene.worktrees.is_unchanged(workspace)
    await scene.worktrees.remove(workspace)
    assert not trace.exists()


async def test_one_that_cannot_be_made_leaves_nothing(scene: Scene) -> None:
    git(scene.repository, "branch", f"holdfast/{WORKTREE}", "HEAD")
    with pytest.raises(InvalidInput, match="git could not do it"):
        await scene.create()
    assert not scene.roots.worktree(WORKTREE).path.exists()


async def test_a_repository_without_a_commit_or_none(scene: Scene, tmp_path: Path) -> None:
    empty = scene.code / "empty"
    empty.mkdir()
    origin = Workspace(id=WorkspaceId("w"), owner_id=UserId("u"), name="x", path=str(empty), created_at=NOW)
    with pytest.raises(NotFound, match="not the top"):
        await scene.worktrees.create(origin, WORKTREE, ChatId("c"), NOW)
    git(empty, "init", "-q")
    with pytest.raises(InvalidInput, match="no commit yet"):
        await scene.worktrees.create(origin, WORKTREE, ChatId("c"), NOW)


async def test_a_repository_that_is_gone_does_not_keep_the_worktree(scene: Scene) -> None:
    workspace, path = await scene.create()
    scene.repository.rename(scene.code / "elsewhere")
    await scene.worktrees.remove(workspace)
    assert not path.exists()
