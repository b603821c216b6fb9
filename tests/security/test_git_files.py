"""File tools do not write what people's own git would run: its directories, whatever they are called and
however one gets there, and where hooks are taken from. Reading stays allowed."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from typing_extensions import override

from holdfast.core.errors import HoldfastError, InvalidInput
from holdfast.core.ids import CallId, UserId, WorkspaceId
from holdfast.store.open import open_store
from holdfast.tools.contract import ToolContext, ToolError
from holdfast.tools.files import file_tools
from holdfast.tools.intents import EditIntents
from holdfast.workspaces.files.chat_files import ChatFiles
from holdfast.workspaces.files.edits import PassageEdit
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.files.git_guard import Guard
from holdfast.workspaces.places.allowed_roots import Roots
from holdfast.workspaces.places.chat_directory import ChatPlace, Workspaces
from tests.workspaces.repository import git, make_repository
from tests.workspaces.stage import CHAT, Stage

pytestmark = pytest.mark.heavy


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path)
    make_repository(stage.inside, {"a.txt": "one\n", "sub/b.txt": "b\n"})
    return stage


def links(stage: Stage) -> None:
    stage.link("settings", ".git")
    stage.link("sub/up", "../.git/hooks")
    stage.link("one", ".git/config")
    stage.link("sub/new", "../.git/hooks/pre-commit")


def nested(stage: Stage) -> None:
    make_repository(stage.inside / "inner", {"x": "x\n"})
    git(stage.inside, "init", "-q", "--bare", "bare.git")
    git(stage.inside, "init", "-q", "--bare", "bare")
    git(stage.inside, "worktree", "add", "-q", "tree", "-b", "tree")


def half(stage: Stage) -> None:
    """One step away from being a repository."""
    for name, files in {
        "no-objects": ("HEAD", "refs/"),
        "no-head": ("objects/", "refs/"),
        "no-common": ("HEAD",),
    }.items():
        for file in files:
            path = stage.inside / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir() if file.endswith("/") else path.write_text("ref: refs/heads/main\n")


def hooks(stage: Stage) -> None:
    git(stage.inside, "config", "core.hooksPath", "tools/Hooks")
    (stage.inside / "tools").mkdir()


def hooks_that_are_there(stage: Stage) -> None:
    git(stage.inside, "config", "core.hooksPath", str(stage.inside / ".husky"))
    (stage.inside / ".husky" / "deep").mkdir(parents=True)
    stage.link("husky", ".husky")


PATHS: dict[str, tuple[Callable[[Stage], None], tuple[str, ...]]] = {
    "plain": (
        lambda _: None,
        (
            ".git/hooks/pre-commit",
            ".git/config",
            ".git/info/attributes",
            ".git/config.worktree",
            ".git/commondir",
            ".git/rebase-merge/git-rebase-todo",
            ".git/modules/x/config",
            ".git",
            "sub/../.git/config",
            "./.git/hooks/new/deep",
            "sub/.git",
            "new/.git/config",
            "new/.git",
        ),
    ),
    "spelled otherwise": (
        lambda _: None,
        (".GIT/config", ".Git/hooks/x", "new/.gIT", "git~1/config", ".g\u200cit/config", ".git./config"),
    ),
    "through links": (links, ("settings/config", "settings/hooks/x", "sub/up/x", "one", "sub/new")),
    "other repositories": (
        nested,
        (
            "inner/.git/config",
            "bare.git/config",
            "bare/hooks/post-update",
            "bare/hooks/deep/x",
            "bare/config",
            "tree/.git",
            "bare/HEAD",
        ),
    ),
    "made by hand": (half, ("no-objects/objects/x", "no-head/HEAD", "no-common/commondir", "no-head/head")),
    "hooks": (hooks, ("tools/Hooks/pre-commit", "tools/hooks/deep/pre-commit")),
    "hooks that are there": (
        hooks_that_are_there,
        (".husky/pre-commit", ".husky/deep/x", "husky/pre-commit", ".husky/new/x"),
    ),
}


def everything(stage: Stage) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for directory, names, files in os.walk(stage.inside):
        for name in (*names, *files):
            path = Path(directory, name)
            found[str(path)] = b"" if path.is_symlink() or path.is_dir() else path.read_bytes()
    return found


@pytest.mark.parametrize("what", PATHS)
def test_what_belongs_to_git_is_not_written(stage: Stage, what: str) -> None:
    prepare, paths = PATHS[what]
    prepare(stage)
    before = everything(stage)
    for path in paths:
        with pytest.raises(InvalidInput, match="people's own git would run"):
            stage.write(path, "[core]\n\tfsmonitor = evil\n")
        target = stage.inside / path
        if target.is_file():
            # For a file that was read before: nothing but this stands in the way.
            stage.read(path)
            with pytest.raises(InvalidInput, match="people's own git would run"):
                stage.edit(path, target.read_text().splitlines()[0], "evil")
            if not target.is_symlink():
                with pytest.raises(InvalidInput, match="people's own git would run"):
                    stage.files().delete(path)
    assert everything(stage) == before


def test_what_only_looks_like_it_is_written(stage: Stage) -> None:
    hooks(stage)
    for path in (
        ".gitignore",
        ".gitattributes",
        ".github/workflows/x.yml",
        "config",
        "hooks/pre-commit",
        "info/x",
        "tools/x",
        "HEAD",
        "git/config",
        "refs/x",
    ):
        stage.write(path, "x\n")
        stage.files().delete(path)
    links(stage)
    stage.files().delete("one")
    assert (stage.inside / ".git" / "config").exists(), "the link went, not what it led to"


def test_it_can_be_read(stage: Stage) -> None:
    assert "[core]" in stage.read(".git/config")
    assert "hooks/" in stage.files().look(".git").text


def test_hooks_of_a_worktree_stand_in_another_repositorys_settings(stage: Stage) -> None:
    """The workspace has a file for .git; whoever knows its repository passes on what that says."""
    (stage.inside / ".git").rename(stage.outside / "moved")
    (stage.inside / ".git").write_text(f"gitdir: {stage.outside / 'moved'}\n")
    guard = Guard(stage.inside, "[core]\n\thooksPath = tools/hooks\n")
    files = ChatFiles(stage.root, stage.seen, CHAT, repeated=False, guard=guard)
    with pytest.raises(InvalidInput, match="takes its hooks from"):
        files.write("tools/hooks/pre-push", "evil")
    assert files.write("tools/other", "fine")


async def test_edits_of_several_files_keep_off_the_same(stage: Stage, tmp_path: Path) -> None:
    """They take another way to the files, from the tool on."""

    class ElsewhereConfigured(Workspaces):
        @override
        async def root_of(self, where: ChatPlace) -> Root:
            return stage.root

        @override
        async def guard_of(self, where: ChatPlace) -> Guard:
            return Guard(stage.inside, "[core]\n\thooksPath = tools/hooks\n")

    async def no_workspace(_: WorkspaceId, __: UserId) -> None:
        return None

    (stage.inside / ".git").rename(stage.outside / "moved")
    (stage.inside / ".git").write_text(f"gitdir: {stage.outside / 'moved'}\n")
    (stage.inside / "tools" / "hooks").mkdir(parents=True)
    (stage.inside / "tools" / "hooks" / "pre-push").write_text("true\n")
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    store = await open_store("sqlite", data=data, publish=lambda _: None)
    workspaces = ElsewhereConfigured(Roots(data, ()), no_workspace)
    tools = file_tools(workspaces, stage.seen, None, EditIntents(store))
    edit = next(tool for tool in tools if tool.name == "edit_files")
    given = [
        {"path": "a.txt", "old": "one", "new": "two"},
        {"path": "tools/hooks/pre-push", "old": "true", "new": "evil"},
    ]
    context = ToolContext(
        chat_id=CHAT, owner_id=UserId("o"), workspace_id=None, call_id=CallId("call"), run=1
    )
    assert edit.run is not None
    with pytest.raises(ToolError, match="takes its hooks from"):
        await cast(Any, edit.run(context, edit.parse({"edits": given})))
    assert (stage.inside / "a.txt").read_text() == "one\n"
    assert (stage.inside / "tools" / "hooks" / "pre-push").read_text() == "true\n"
    await store.close()


def test_one_bad_path_keeps_all_edits_from_being_made(stage: Stage) -> None:
    stage.read("a.txt")
    stage.read(".git/HEAD")
    with pytest.raises(HoldfastError, match="people's own git would run"):
        stage.files().edit(
            [("a.txt", PassageEdit(old="one", new="two")), (".git/HEAD", PassageEdit(old="main", new="evil"))]
        )
    assert (stage.inside / "a.txt").read_text() == "one\n"
