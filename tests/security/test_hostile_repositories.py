"""Git that the server runs on repositories that agents can write: it sees the workspace and its repository,
whatever these say."""

import json
import math
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.core.errors import WrongState
from holdfast.core.ids import ChatId, UserId, WorkspaceId
from holdfast.core.workspaces import Workspace
from holdfast.workspaces.commands.wall import Kind
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.git.changes import diff_workspace
from holdfast.workspaces.git.repositories import find_repository
from holdfast.workspaces.git.worktrees import Worktrees
from holdfast.workspaces.places.allowed_roots import Roots
from tests.security.as_other_user import NOBODY
from tests.security.repositories import ATTACKS, NOW, WORKTREE, Scene, attempt
from tests.workspaces.serving import ROOT, strangers_environment, strangers_python
from tests.workspaces.walls import BOTH, walled_in

pytestmark = pytest.mark.heavy
# Shown to have worked: these are tried behind every wall.
WORST = ("sparse_file", "index_absolute", "alternates", "refs", "worktree_index_at_once")


@pytest.mark.parametrize("name", ATTACKS)
async def test_nothing_outside_is_read_or_written(name: str, tmp_path: Path) -> None:
    # Git waits for ever at a pipe that nobody writes to: each of its programs would take its whole timeout.
    most_seconds = 2.0 if name == "info_pipes" else math.inf
    await attempt(tmp_path, ATTACKS[name], lambda data: walled_in(data, most_seconds=most_seconds))


@pytest.mark.parametrize("name", WORST)
async def test_behind_the_other_wall(name: str, tmp_path: Path) -> None:
    await attempt(tmp_path, ATTACKS[name], lambda data: walled_in(data, "unshare"))


@pytest.fixture
def theirs() -> Iterator[Path]:
    """Where another user may work: pytest's own directories are closed to it."""
    path = Path(tempfile.mkdtemp(prefix=f"holdfast-{secrets.token_hex(4)}-"))
    os.chown(path, NOBODY, NOBODY)
    yield path
    shutil.rmtree(path)


@pytest.mark.timeout(900)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    "names", [pytest.param(WORST, id="worst"), pytest.param(tuple(ATTACKS), marks=pytest.mark.slow, id="all")]
)
def test_for_a_server_that_is_not_root(theirs: Path, kind: Kind, names: tuple[str, ...]) -> None:
    told = subprocess.run(
        [strangers_python(), "-m", "tests.security.as_other_user", str(theirs), kind, *names],
        cwd=ROOT,
        env=strangers_environment(),
        capture_output=True,
        check=True,
        text=True,
        timeout=850,
    )
    ended = json.loads(told.stdout)
    assert ended["user"] == NOBODY
    assert {name: trouble for name, trouble in ended["ended"].items() if trouble} == {}
    assert set(ended["ended"]) == set(names)


async def test_without_a_wall_git_is_not_run(tmp_path: Path) -> None:
    """Refused with a sentence; what has to go goes all the same."""
    scene = Scene(tmp_path)
    walled = walled_in(scene.data, "none")
    root = Root(scene.work)
    with pytest.raises(WrongState, match="needs a sandbox"):
        await diff_workspace(walled, root, find_repository(root, ()))
    roots = Roots(scene.data, (scene.code,))
    origin = Workspace(
        id=WorkspaceId("w"), owner_id=UserId("u"), name="work", path=str(scene.work), created_at=NOW
    )
    with pytest.raises(WrongState, match="A worktree needs a sandbox"):
        await Worktrees(roots, walled).create(origin, WORKTREE, ChatId("c"), NOW)
    made = await Worktrees(roots, walled_in(scene.data)).create(origin, WORKTREE, ChatId("c"), NOW)
    assert not await Worktrees(roots, walled).remove_left_over(WORKTREE), "nobody can tell what is in it"
    await Worktrees(roots, walled).remove(made)
    assert WORKTREE not in _names(scene.data / "worktrees")
    assert WORKTREE not in _names(scene.git / "worktrees")


def _names(directory: Path) -> list[str]:
    return os.listdir(directory)
