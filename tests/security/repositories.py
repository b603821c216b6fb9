"""Hostile repositories: each is an ordinary one until somebody who may write in the workspace has changed it
so that git, run by the server, would look or write elsewhere. `attempt` has the server look, make a worktree
and clear it away, and sees to it that nothing of the outside came in or was touched."""

import atexit
import hashlib
import os
import shutil
import stat
import struct
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from holdfast.core.errors import HoldfastError
from holdfast.core.ids import ChatId, UserId, WorkspaceId
from holdfast.core.workspaces import Workspace
from holdfast.workspaces.commands.walled_programs import Walled
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.git.changes import diff_workspace
from holdfast.workspaces.git.repositories import repository_of
from holdfast.workspaces.git.worktrees import Worktrees
from holdfast.workspaces.places.allowed_roots import Roots
from tests.workspaces.repository import git, make_repository

SECRET = "the-secret-that-must-stay-outside"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
WORKTREE = WorkspaceId("0199c000-0000-7000-8000-00000000abcd")


@cache
def _template(text: str) -> Path:
    """Made once: git takes its time."""
    path = Path(tempfile.mkdtemp(prefix="holdfast-repository-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    make_repository(path, {"a.txt": text, "dir/b.txt": text})
    return path


class Scene:
    """`outside` lies below the allowed root as well: another project, which the agent was not given."""

    def __init__(self, base: Path) -> None:
        self.code = base / "code"
        self.work = self.code / "work"
        self.outside = self.code / "outside"
        self.git = self.work / ".git"
        self.other = self.outside / "other"
        shutil.copytree(_template("one\n"), self.work)
        shutil.copytree(_template(f"{SECRET}\n"), self.other)
        self.other_commit = git(self.other, "rev-parse", "HEAD").strip()
        self.over = False
        self.secret = self.outside / "secret"
        self.secret.write_text(f"{SECRET}\n")
        self.empty = self.outside / "empty"
        self.empty.mkdir()
        self.data = base / "data"
        self.data.mkdir(mode=0o700)
        (self.data / "admin.token").write_text(SECRET)

    def blob(self) -> bytes:
        return bytes.fromhex(git(self.work, "rev-parse", "HEAD:a.txt").strip())

    def write(self, name: str, text: str) -> None:
        path = self.git / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(text)

    def link(self, name: str, target: Path) -> None:
        """Instead of what is there."""
        path = self.git / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir() and not path.is_symlink():
            path.rename(path.with_name(f"{path.name}-before"))
        path.unlink(missing_ok=True)
        path.symlink_to(target)

    def use(self, commit: str) -> None:
        (self.git / "HEAD").write_text(f"{commit}\n")

    def state(self) -> dict[str, str]:
        """Everything outside, links and times included."""
        found: dict[str, str] = {}
        for directory, names, files in os.walk(self.outside):
            for name in (*names, *files):
                path = Path(directory, name)
                info = path.lstat()
                held = path.read_bytes() if stat.S_ISREG(info.st_mode) else b""
                found[str(path)] = f"{info.st_mode} {info.st_mtime_ns} {held!r}"
        return found


def index_of(entries: dict[str, bytes]) -> bytes:
    """An index that names whatever paths, with the right sum at its end."""
    data = b"DIRC" + struct.pack(">II", 2, len(entries))
    for path, blob in entries.items():
        name = path.encode()
        entry = struct.pack(">10I", 0, 0, 0, 0, 0, 0, 0o100644, 0, 0, 0) + blob
        entry += struct.pack(">H", min(len(name), 0xFFF)) + name
        data += entry + b"\0" * (8 - len(entry) % 8)
    return data + hashlib.sha1(data).digest()


def _sparse_file(scene: Scene) -> None:
    git(scene.work, "config", "core.sparseCheckout", "true")
    scene.link("info/sparse-checkout", scene.data / "admin.token")


def _sparse_file_of_a_worktree(scene: Scene) -> None:
    _sparse_file(scene)
    git(scene.work, "config", "extensions.worktreeConfig", "true")
    scene.link("config.worktree", scene.secret)


def _index(scene: Scene, *paths: str) -> None:
    (scene.git / "index").write_bytes(index_of({path: scene.blob() for path in sorted(paths)}))


def _index_absolute(scene: Scene) -> None:
    _index(scene, str(scene.secret), str(scene.data / "admin.token"), "/etc/shadow")


def _index_above(scene: Scene) -> None:
    _index(scene, "../outside/secret", "dir/../../outside/secret")


def _index_in_git(scene: Scene) -> None:
    (scene.work / "out").symlink_to(scene.outside)
    _index(scene, "out/secret", ".git/config")


def _alternates(scene: Scene) -> None:
    scene.write("objects/info/alternates", f"{scene.other / '.git' / 'objects'}\n")
    scene.use(scene.other_commit)


def _http_alternates(scene: Scene) -> None:
    scene.link("objects/info/alternates", scene.secret)
    scene.write("objects/info/http-alternates", f"{scene.other / '.git' / 'objects'}\n")


def _objects(scene: Scene) -> None:
    scene.link("objects", scene.other / ".git" / "objects")
    scene.use(scene.other_commit)


def _packs(scene: Scene) -> None:
    git(scene.other, "gc", "-q")
    scene.link("objects/pack", scene.other / ".git" / "objects" / "pack")
    scene.use(scene.other_commit)


def _refs(scene: Scene) -> None:
    scene.write("objects/info/alternates", f"{scene.other / '.git' / 'objects'}\n")
    scene.link("refs/heads", scene.other / ".git" / "refs" / "heads")


def _one_ref(scene: Scene) -> None:
    _alternates(scene)
    scene.write("HEAD", "ref: refs/heads/x")
    scene.link("refs/heads/x", scene.other / ".git" / "refs" / "heads" / "main")


def _packed_refs(scene: Scene) -> None:
    git(scene.other, "pack-refs", "--all")
    _refs(scene)
    scene.link("refs/heads", scene.empty)
    scene.link("packed-refs", scene.other / ".git" / "packed-refs")


def _git_file(scene: Scene) -> None:
    scene.git.rename(scene.work / "before")
    scene.git.write_text(f"gitdir: {scene.other / '.git'}\n")


def _git_link(scene: Scene) -> None:
    scene.git.rename(scene.work / "before")
    scene.git.symlink_to(scene.other / ".git")


def _common_directory(scene: Scene) -> None:
    scene.write("commondir", f"{scene.other / '.git'}\n")


def _common_directory_of_an_inner_one(scene: Scene) -> None:
    scene.git.rename(scene.work / "before")
    scene.git.write_text("gitdir: before\n")
    (scene.work / "before" / "commondir").write_text(f"{scene.other / '.git'}\n")


def _pretended_worktree(scene: Scene) -> None:
    """It names itself, from a place that only looks like one of the other repository."""
    scene.git.rename(scene.work / "before")
    (scene.work / "worktrees").mkdir()
    own = scene.work / "worktrees" / "x"
    own.mkdir()
    (own / "HEAD").write_text("ref: refs/heads/main\n")
    (own / "gitdir").write_text(f"{scene.git}\n")
    (own / "commondir").write_text(f"{scene.other / '.git'}\n")
    scene.git.write_text(f"gitdir: {own}\n")


def _index_link(scene: Scene) -> None:
    scene.link("index", scene.secret)


def _index_pipe(scene: Scene) -> None:
    (scene.git / "index").unlink()
    os.mkfifo(scene.git / "index")


def _index_huge(scene: Scene) -> None:
    os.truncate(scene.git / "index", 300 * 2**20)


def _shared_index(scene: Scene) -> None:
    git(scene.work, "update-index", "--split-index")
    for path in scene.git.glob("sharedindex.*"):
        scene.link(path.name, scene.secret)


def _head_pipe(scene: Scene) -> None:
    (scene.git / "HEAD").unlink()
    os.mkfifo(scene.git / "HEAD")


def _head_link(scene: Scene) -> None:
    scene.link("HEAD", scene.secret)


def _worktrees_link(scene: Scene) -> None:
    scene.link("worktrees", scene.empty)


def _worktree_is_there(scene: Scene) -> None:
    scene.link(f"worktrees/{WORKTREE}", scene.empty)


def _worktree_index(scene: Scene) -> None:
    scene.link(f"worktrees/{WORKTREE}/index", scene.secret)


def _worktree_index_at_once(scene: Scene) -> None:
    """Planted by a command that runs meanwhile, as soon as there is a place for it."""

    def plant() -> None:
        own = scene.git / "worktrees" / WORKTREE
        until = time.monotonic() + 30
        while time.monotonic() < until and not scene.over:
            with suppress(FileNotFoundError, FileExistsError):
                (own / "index").symlink_to(scene.secret)
                return

    threading.Thread(target=plant, daemon=True).start()


def _branches_link(scene: Scene) -> None:
    scene.link("refs/heads/holdfast", scene.empty)


def _branch_link(scene: Scene) -> None:
    scene.link(f"refs/heads/holdfast/{WORKTREE}", scene.empty / "new")


def _lock_link(scene: Scene) -> None:
    scene.link(f"refs/heads/holdfast/{WORKTREE}.lock", scene.empty / "new")


def _logs_link(scene: Scene) -> None:
    git(scene.work, "config", "core.logAllRefUpdates", "always")
    scene.link("logs", scene.empty)


def _info_links(scene: Scene) -> None:
    for name in ("exclude", "attributes", "grafts"):
        scene.link(f"info/{name}", scene.secret)
    scene.link("shallow", scene.secret)


def _info_pipes(scene: Scene) -> None:
    for name in ("info/exclude", "info/attributes", "shallow", "packed-refs"):
        (scene.git / name).unlink(missing_ok=True)
        os.mkfifo(scene.git / name)


def _settings(scene: Scene) -> None:
    values = {
        "core.worktree": scene.outside,
        "core.excludesFile": scene.secret,
        "core.attributesFile": scene.secret,
        "include.path": scene.secret,
        "core.hooksPath": scene.empty,
        "index.sparse": "true",
        "core.sparseCheckoutCone": "true",
        "extensions.partialClone": "origin",
        "remote.origin.url": scene.other,
        "remote.origin.promisor": "true",
        "submodule.recurse": "true",
        "core.gitProxy": "cat",
        "core.alternateRefsCommand": f"cat {scene.secret}",
    }
    for key, value in values.items():
        git(scene.work, "config", key, str(value))


def _config_link(scene: Scene) -> None:
    scene.link("config", scene.secret)


def _config_pipe(scene: Scene) -> None:
    (scene.git / "config").unlink()
    os.mkfifo(scene.git / "config")


def _ignored_by_a_link(scene: Scene) -> None:
    for name in (".gitignore", ".gitattributes", ".gitmodules", ".mailmap"):
        (scene.work / name).symlink_to(scene.secret)


def _files_that_are_none(scene: Scene) -> None:
    (scene.work / "a.txt").unlink()
    os.mkfifo(scene.work / "a.txt")
    os.mkfifo(scene.work / "new-pipe")
    (scene.work / "dir").rename(scene.work / "dir-before")
    (scene.work / "dir").symlink_to(scene.other / "dir")


def _tracked_links(scene: Scene) -> None:
    """Files that would be written through a link that the same commit makes."""
    tree = git(scene.work, "rev-parse", "HEAD^{tree}").strip()
    (scene.work / "l").symlink_to(scene.empty)
    git(scene.work, "add", "l")
    git(scene.work, "commit", "-qm", "a link")
    (scene.work / "l").unlink()
    assert tree


ATTACKS: dict[str, Callable[[Scene], None]] = {
    function.__name__.strip("_"): function
    for function in (
        _sparse_file,
        _sparse_file_of_a_worktree,
        _index_absolute,
        _index_above,
        _index_in_git,
        _alternates,
        _http_alternates,
        _objects,
        _packs,
        _refs,
        _one_ref,
        _packed_refs,
        _git_file,
        _git_link,
        _common_directory,
        _common_directory_of_an_inner_one,
        _pretended_worktree,
        _index_link,
        _index_pipe,
        _index_huge,
        _shared_index,
        _head_pipe,
        _head_link,
        _worktrees_link,
        _worktree_is_there,
        _worktree_index,
        _worktree_index_at_once,
        _branches_link,
        _branch_link,
        _lock_link,
        _logs_link,
        _info_links,
        _info_pipes,
        _settings,
        _config_link,
        _config_pipe,
        _ignored_by_a_link,
        _files_that_are_none,
        _tracked_links,
    )
}


async def attempt(base: Path, attack: Callable[[Scene], None], walled: Callable[[Path], Walled]) -> None:
    """Errors of ours are fine; what came in or was touched is not."""
    scene = Scene(base)
    attack(scene)
    before = scene.state()
    roots = Roots(scene.data, (scene.code,))
    behind = walled(scene.data)
    worktrees = Worktrees(roots, behind)
    origin = Workspace(
        id=WorkspaceId("0199c000-0000-7000-8000-000000000001"),
        owner_id=UserId("u"),
        name="work",
        path=str(scene.work),
        created_at=NOW,
    )
    shown = [await _diff(behind, roots, origin)]
    try:
        made = await worktrees.create(origin, WORKTREE, ChatId("c"), NOW)
    except HoldfastError as error:
        shown.append(error.text)
    else:
        shown += [await _diff(behind, roots, made), *_contents(Path(made.path))]
        shown += _contents(scene.git)
        await worktrees.is_unchanged(made)
        await worktrees.remove(made)
    scene.over = True
    assert [text for text in shown if SECRET in text] == []
    assert [text for text in shown if "root:" in text] == []
    assert scene.state() == before


async def _diff(walled: Walled, roots: Roots, workspace: Workspace) -> str:
    try:
        root = roots.directory(workspace.path) if workspace.worktree is None else roots.worktree(workspace.id)
        return (await diff_workspace(walled, root, repository_of(workspace, roots))).text
    except HoldfastError as error:
        return error.text


def _contents(directory: Path) -> list[str]:
    """Of all files in it that are really there."""
    return [
        path.read_text("utf-8", "replace")
        for path in Root(directory).path.rglob("*")
        if stat.S_ISREG(path.lstat().st_mode)
        and not any(parent.is_symlink() for parent in path.relative_to(directory).parents if parent.name)
    ]
