"""Commits, branches and patches that a person asks for, in repositories that agents can write: nothing of an
agent's is run, nothing outside is read or written, and what names programs in the repository stays as it
is."""

from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast.workspaces.git
from holdfast.core.errors import HoldfastError
from holdfast.workspaces.commands.wall import Kind
from holdfast.workspaces.commands.walled_programs import Walled
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.git.borrowed_repository import borrowed
from holdfast.workspaces.git.commits import GitPerson, commit_files, make_branch, patch_of
from holdfast.workspaces.git.repositories import find_repository
from tests.security.repositories import ATTACKS, NOW, SECRET, Scene
from tests.security.test_hostile_repositories import WORST
from tests.workspaces.repository import git, make_repository
from tests.workspaces.walls import BOTH, walled_in

pytestmark = pytest.mark.heavy
WHO = GitPerson(name="a person", email="person@example.com")
# Names that a repository gives to programs, and a change that makes git ask them.
NAMED = {
    "core.fsmonitor": "",
    "filter.evil.clean": "* filter=evil\n",
    "filter.evil.process": "* filter=evil\n",
    "diff.evil.textconv": "* diff=evil\n",
    "diff.external": "",
}


def nested(scene: Scene, name: str, attributes: str) -> Path:
    """A repository inside, which the index of the outer one names, and whose settings name a program that
    writes wherever it can. What it writes first."""
    inner = scene.work / "inner"
    make_repository(inner, {"f": "1\n", "evil": f"#!/bin/sh\n{plant(scene)}cat\n"})
    (inner / "evil").chmod(0o755)
    git(inner, "commit", "-qam", "a program")
    git(scene.work, "add", "inner")
    git(scene.work, "commit", "-qm", "with an inner one")
    git(inner, "config", name, str(inner / "evil"))
    (inner / ".git" / "info" / "attributes").write_text(attributes)
    for path in (inner / "f", inner / "new", scene.work / "a.txt", scene.work / "new"):
        path.write_text("2\n")
    return scene.git / "ran"


def plant(scene: Scene) -> str:
    ran = ("ran", "objects/ran", "refs/ran", "hooks/post-commit", "info/attributes")
    return "".join(f"touch {scene.git / name} 2> /dev/null\n" for name in ran)


@pytest.mark.parametrize("name", NAMED)
async def test_a_repository_inside_runs_nothing(name: str, tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    nested(scene, name, NAMED[name])
    walled, root = walled_in(scene.data), Root(scene.work)
    patch = await patch_of(walled, root, find_repository(root, ()), WHO, "s", NOW)
    assert "+++ b/new" in patch
    assert not list(scene.git.rglob("ran"))
    made = await commit_files(walled, root, find_repository(root, ()), "two", (), WHO)
    assert not list(scene.git.rglob("ran"))
    assert not (scene.git / "hooks" / "post-commit").exists()
    assert git(scene.work, "rev-parse", "main").strip() == made.commit
    assert git(scene.work, "show", "--name-only", "--format=").split() == ["a.txt", "new"]


@pytest.mark.parametrize("kind", BOTH)
async def test_what_names_programs_is_read_only_for_git_of_ours(kind: Kind, tmp_path: Path) -> None:
    """Whatever git might be made to run."""
    scene = Scene(tmp_path)
    walled, root = walled_in(scene.data, kind), Root(scene.work)
    repository = find_repository(root, ())
    before = (scene.git / "config").read_bytes()
    async with borrowed(walled, repository, root, refs=True) as own:
        program = f"{plant(scene)}echo x >> {scene.git}/config; mv {scene.git}/hooks {scene.git}/h; echo done"
        ran = await own.git("/bin/sh", "-c", program, writable=(repository.common,), limit=1000)
    assert ran.output == b"done\n"
    assert (scene.git / "config").read_bytes() == before
    assert not (scene.git / "hooks" / "post-commit").exists()
    assert not (scene.git / "info" / "attributes").exists()
    # It could write what commits are made of.
    assert (scene.git / "objects" / "ran").exists()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in WORST else pytest.mark.slow) for name in ATTACKS]
)
async def test_nothing_outside_is_read_or_written(name: str, tmp_path: Path) -> None:
    await attempt(tmp_path, ATTACKS[name], walled_in)


async def attempt(base: Path, attack: Callable[[Scene], None], walled: Callable[[Path], Walled]) -> None:
    scene = Scene(base)
    attack(scene)
    (scene.work / "new").write_text("new\n")
    before = scene.state()
    behind, root = walled(scene.data), Root(scene.work)
    shown: list[str] = []
    try:
        shown.append(await patch_of(behind, root, find_repository(root, ()), WHO, "s", NOW))
    except HoldfastError as error:
        shown.append(error.text)
    for act in (
        lambda: commit_files(behind, root, find_repository(root, ()), "two", (), WHO),
        lambda: make_branch(behind, root, find_repository(root, ()), "other"),
        lambda: commit_files(behind, root, find_repository(root, ()), "three", ("a.txt",), WHO),
    ):
        try:
            await act()
        except HoldfastError as error:
            shown.append(error.text)
    scene.over = True
    assert [text for text in shown if SECRET in text or "root:" in text] == []
    assert scene.state() == before
    for path in scene.git.rglob("*") if scene.git.is_dir() else ():
        if path.is_file() and not path.is_symlink() and path.name != "admin.token":
            assert SECRET.encode() not in path.read_bytes(), path


def test_no_script_of_ours_has_git_look_into_repositories_inside() -> None:
    """These run git there, with the settings of whoever made it."""
    sources = Path(holdfast.workspaces.git.__file__).parent.glob("*.py")
    scripts = [line for path in sources for line in path.read_text().splitlines() if not line.startswith("#")]
    found = [line for line in scripts for word in ("add -A", "git status", "git submodule") if word in line]
    assert [line for line in found if '"""' not in line and not line.strip().startswith("#")] == []
