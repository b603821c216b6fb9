"""What was changed, by git, without running anything that the repository names."""

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from holdfast.core.errors import InvalidInput, NotFound
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.git.changes import DIFF_BYTES, Difference, diff_workspace
from holdfast.workspaces.git.repositories import find_repository
from tests.workspaces.repository import git, make_repository
from tests.workspaces.walls import walled_in

pytestmark = pytest.mark.heavy


async def diff(root: Root, trusted: tuple[Path, ...] = (), limit: int = DIFF_BYTES) -> Difference:
    with TemporaryDirectory() as data:
        found = find_repository(root, trusted)
        return await diff_workspace(walled_in(Path(data)), root, found, limit)


def patch(directory: Path, diff: str) -> None:
    subprocess.run(["patch", "-p1", "--batch"], cwd=directory, input=diff, text=True, check=True)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    path = tmp_path / "work"
    make_repository(
        path, {"a.txt": "one\ntwo\n", "b.txt": "b\n", "dir/c.txt": "c\n", ".gitignore": "*.log\n"}
    )
    return path


async def test_nothing_changed(work: Path) -> None:
    assert (await diff(Root(work))).is_empty


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
async def test_no_flag_of_the_index_hides_a_change(work: Path, flag: str) -> None:
    (work / "gone.txt").write_text("x")
    git(work, "add", "gone.txt")
    git(work, "commit", "-q", "-m", "second")
    git(work, "update-index", flag, "a.txt", "dir/c.txt", "gone.txt")
    (work / "a.txt").write_text("one\nhidden\n")
    (work / "dir" / "c.txt").write_text("d\n")
    (work / "gone.txt").unlink()
    difference = await diff(Root(work))
    assert "+hidden\n" in difference.text
    assert "-c\n+d\n" in difference.text
    # A sparse checkout leaves files out: these are not said to be deleted.
    assert ("gone.txt" in difference.text) == (flag == "--assume-unchanged")


async def test_changes_additions_and_deletions(work: Path, tmp_path: Path) -> None:
    (work / "a.txt").write_text("one\n2\n")
    (work / "b.txt").unlink()
    (work / "new dir").mkdir()
    (work / "new dir" / "new.txt").write_text("new\nlines")
    (work / "staged.txt").write_text("staged\n")
    (work / "binary").write_bytes(b"\0\1")
    (work / "ignored.log").write_text("x")
    git(work, "add", "staged.txt")
    difference = await diff(Root(work))
    assert "-two\n+2\n" in difference.text
    assert "deleted file mode" in difference.text
    assert "+staged\n" in difference.text
    assert "--- /dev/null\n+++ b/new dir/new.txt\t\n" in difference.text
    assert "Only in b: binary (2 bytes)" in difference.text
    assert "ignored" not in difference.text
    assert difference.new_files == ("binary", "new dir/new.txt")
    assert not difference.truncated
    # It can be applied to the commit.
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(work), str(clone))
    patch(clone, difference.text)
    assert (clone / "a.txt").read_text() == "one\n2\n"
    assert (clone / "new dir" / "new.txt").read_text() == "new\nlines"
    assert not (clone / "b.txt").exists()


async def test_a_long_difference_is_cut(work: Path) -> None:
    (work / "a.txt").write_text("x\n" * 100_000)
    difference = await diff(Root(work), limit=1000)
    assert difference.truncated
    assert len(difference.text) <= 1000


async def test_before_the_first_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.txt").write_text("a\n")
    (tmp_path / "b.txt").write_text("b\n")
    git(tmp_path, "add", "b.txt")
    difference = await diff(Root(tmp_path))
    assert "+b\n" in difference.text
    assert difference.new_files == ("a.txt",)


@pytest.mark.parametrize("state", ["packed", "detached", "without index", "split index", "sha256"])
async def test_repositories_in_other_shapes(tmp_path: Path, state: str) -> None:
    work = tmp_path / "work"
    if state == "sha256":
        work.mkdir()
        git(work, "init", "-q", "--object-format=sha256")
    commit = make_repository(work, {"a.txt": "one\n"})
    match state:
        case "packed":
            git(work, "pack-refs", "--all")
            git(work, "gc", "-q")
        case "detached":
            git(work, "checkout", "-q", commit)
        case "without index":
            (work / ".git" / "index").unlink()
        case "split index":
            git(work, "update-index", "--split-index")
        case _:
            pass
    assert find_repository(Root(work), ()).head == commit
    assert (await diff(Root(work))).is_empty
    (work / "a.txt").write_text("two\n")
    assert "-one\n+two\n" in (await diff(Root(work))).text


async def test_nothing_that_the_repository_names_is_run(work: Path, tmp_path: Path) -> None:
    """Settings, attributes, filters, hooks, other repositories inside: each would leave a trace."""
    trace = tmp_path / "trace"
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\necho ran >> {trace}\ncat\n")
    script.chmod(0o755)
    keys = (
        "core.fsmonitor core.pager core.sshCommand core.editor diff.external diff.evil.command "
        "diff.evil.textconv filter.evil.clean filter.evil.smudge pager.diff"
    )
    for key in keys.split():
        git(work, "config", key, str(script))
    git(work, "config", "core.hooksPath", str(tmp_path / "hooks"))
    (tmp_path / "hooks").mkdir()
    for hook in ("post-index-change", "pre-commit", "post-checkout", "fsmonitor-watchman"):
        (tmp_path / "hooks" / hook).symlink_to(script)
    (work / ".gitattributes").write_text("* filter=evil diff=evil\n")
    (work / ".git" / "info").mkdir(exist_ok=True)
    (work / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil\n")
    make_repository(work / "inner", {"x": "x\n"})
    git(work / "inner", "config", "core.fsmonitor", str(script))
    (work / "a.txt").write_text("changed\n")
    git(work, "diff", "HEAD")
    assert trace.exists(), "whoever does not take care runs it"
    trace.unlink()
    os.utime(work / "b.txt")
    difference = await diff(Root(work))
    assert "+changed" in difference.text
    assert not trace.exists()


async def test_another_place_named_by_settings_is_not_looked_at(work: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("the secret that must stay outside\n")
    git(work, "config", "core.worktree", str(other))
    assert (await diff(Root(work))).is_empty


async def test_names_are_never_options(work: Path) -> None:
    for name in ("--upload-pack=x", "-oProxyCommand=x", ";id", "$(id)", "-"):
        (work / name).write_text("x\n")
    difference = await diff(Root(work))
    assert difference.new_files == ("$(id)", "-", "--upload-pack=x", "-oProxyCommand=x", ";id")


async def test_what_is_no_repository(tmp_path: Path, work: Path) -> None:
    with pytest.raises(NotFound, match="not the top of a git repository"):
        await diff(Root(tmp_path))
    with pytest.raises(NotFound, match="not the top of a git repository"):
        await diff(Root(work / "dir"))
    (tmp_path / ".git").symlink_to(work / ".git")
    with pytest.raises(NotFound):
        await diff(Root(tmp_path))


async def test_a_git_file_that_names_another_repository(tmp_path: Path, work: Path) -> None:
    """It is believed only if the other repository names this directory in turn."""
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / ".git").write_text(f"gitdir: {work / '.git'}\n")
    for trusted in ((), (tmp_path,)):
        with pytest.raises(InvalidInput, match="may not look into"):
            await diff(Root(mine), trusted)
    (mine / ".git").write_text("nonsense")
    with pytest.raises(NotFound):
        await diff(Root(mine))


async def test_worktrees_and_submodules_of_people(tmp_path: Path, work: Path) -> None:
    git(work, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "other")
    git(work, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(work), "sub")
    for path in (tmp_path / "tree", work / "sub"):
        with pytest.raises(InvalidInput, match="may not look into"):
            await diff(Root(path))
        assert (await diff(Root(path), (tmp_path,))).is_empty
        (path / "a.txt").write_text("changed\n")
        assert "+changed" in (await diff(Root(path), (tmp_path,))).text
