"""Where a workspace's git repository is and which commit is checked out, read by descriptor. `.git` can be
written by whoever works in the workspace: if it leads elsewhere it is not believed, unless the repository
there names the workspace in turn."""

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.core.errors import HoldfastError, InvalidInput, NotFound
from holdfast.core.workspaces import Workspace
from holdfast.workspaces.files.file_root import Root, Tree
from holdfast.workspaces.files.line_ranges import open_file, read_up_to
from holdfast.workspaces.files.paths import Parts, shown
from holdfast.workspaces.places.allowed_roots import Roots

GIT = ".git"
WORKTREES = "worktrees"
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"refs/[\w.@+/-]+")
_SECTION = re.compile(r"\s*\[\s*([\w.-]+)\s*\]")
_BRANCH = "ref: refs/heads/"
_REFS_BYTES = 64 * 1024 * 1024
_CONFIG_BYTES = 1024 * 1024
_TEXT_BYTES = 5000


@dataclass(frozen=True)
class Repository:
    """`directory` is what .git is or names; `common` the same, but for a worktree that of the main
    repository."""

    directory: Root
    common: Root
    # The commit that is checked out; None: there is none yet.
    head: str | None
    # The branch that is checked out; None: a commit itself is.
    branch: str | None = None


def find_repository(root: Root, trusted: Sequence[Path]) -> Repository:
    """The repository that the workspace is the top of. One that lies elsewhere has to be below a trusted
    directory, and to name this workspace as its worktree or as the place of its submodule."""
    with root.open() as tree:
        if _is_directory(tree):
            directory = inner(root, GIT)
            return Repository(directory, directory, *_head(directory, directory))
        directory = _placed(root, _named(root, tree), trusted)
    common = _common(root, directory, trusted)
    inside = [place.path.is_relative_to(root.path) for place in (directory, common)]
    if not all(inside) and (inside[0] or not _names_back(root, directory, common)):
        raise _may_not()
    return Repository(directory, common, *_head(directory, common))


def repository_of(workspace: Workspace, roots: Roots) -> Repository:
    """The same for any workspace. Of a worktree that was made here it is known what it is of: its .git must
    say just that. NotFound: there is no such directory any more, or no repository in it."""
    if workspace.worktree is None:
        return find_repository(roots.directory(workspace.path), roots.allowed)
    root = roots.worktree(workspace.id)
    with root.open() as tree:
        try:
            origin = roots.directory(workspace.worktree.repository)
            common = find_repository(origin, roots.allowed).common
            directory = inner(common, WORKTREES, workspace.id)
            named = None if _is_directory(tree) else _named(root, tree)
        except NotFound:
            raise _may_not() from None
    if named != directory.path:
        raise _may_not()
    return Repository(directory, common, *_head(directory, common))


def config_of(workspace: Workspace, roots: Roots) -> str:
    """The configuration of a workspace's repository, as far as one can be read."""
    try:
        with repository_of(workspace, roots).common.open() as tree:
            return read_text(tree, ("config",), _CONFIG_BYTES)
    except (InvalidInput, NotFound):
        return ""


def branch_of(workspace: Workspace, roots: Roots) -> str | None:
    """The branch that is checked out, as far as that can be read."""
    try:
        return repository_of(workspace, roots).branch
    except (InvalidInput, NotFound):
        return None


def inner(root: Root, *names: str) -> Root:
    return Root(root.base, (*root.inside, *names))


def read_text(tree: Tree, parts: Parts, size: int = _TEXT_BYTES) -> str:
    """Empty for whatever is not an ordinary file, which is never waited for."""
    try:
        with tree.place(parts) as place, open_file(place, parts) as descriptor:
            return read_up_to(descriptor, size).decode("utf-8", "replace").strip()
    except (HoldfastError, OSError):
        return ""


def config_value(text: str, section: str, key: str) -> str | None:
    """The last value of a key in a git configuration, as it is written there. Included files are not looked
    for."""
    found: str | None = None
    current = ""
    for line in text.splitlines():
        if (head := _SECTION.match(line)) is not None:
            current, line = head[1].casefold(), line[head.end() :]
        name, _, value = line.partition("=")
        if current == section and name.strip().casefold() == key:
            found = value.split("#")[0].split(";")[0].strip().strip('"')
    return found


def _is_directory(tree: Tree) -> bool:
    try:
        mode = os.stat(GIT, dir_fd=tree.root, follow_symlinks=False).st_mode
    except OSError:
        mode = 0
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise NotFound("The workspace is not the top of a git repository.")
    return stat.S_ISDIR(mode)


def _named(root: Root, tree: Tree) -> Path:
    text = read_text(tree, (GIT,))
    if not text.startswith("gitdir: ") or "\0" in text:
        raise NotFound("The workspace's .git is not what git makes.")
    return Path(os.path.realpath(root.path / text.removeprefix("gitdir: ")))


def _placed(root: Root, path: Path, trusted: Sequence[Path]) -> Root:
    """By a trusted base and names below it, none of which may be a link when it is opened."""
    for base in (root, *(Root(base) for base in trusted)):
        if path.is_relative_to(base.path):
            return inner(base, *path.relative_to(base.path).parts)
    raise _may_not()


def _common(root: Root, directory: Root, trusted: Sequence[Path]) -> Root:
    try:
        with directory.open() as tree:
            named = read_text(tree, ("commondir",))
    except NotFound:
        raise _may_not() from None
    if not named:
        return directory
    if "\0" in named:
        raise _may_not()
    return _placed(root, Path(os.path.realpath(directory.path / named)), trusted)


def _names_back(root: Root, directory: Root, common: Root) -> bool:
    """Whether the repository says that the workspace is its own. It lies where nobody who works in the
    workspace can write."""
    with directory.open() as tree:
        if directory.path.parent == common.path / WORKTREES:
            return _same(directory, read_text(tree, ("gitdir",)), root.path / GIT)
        named = config_value(read_text(tree, ("config",), _CONFIG_BYTES), "core", "worktree")
        return directory == common and named is not None and _same(directory, named, root.path)


def _same(directory: Root, named: str, path: Path) -> bool:
    return bool(named) and os.path.normpath(directory.path / named) == str(path)


def _may_not() -> InvalidInput:
    return InvalidInput("The workspace's .git leads to a repository that this server may not look into.")


def _head(directory: Root, common: Root) -> tuple[str | None, str | None]:
    """The commit, and the branch."""
    try:
        with directory.open() as own, common.open() as shared:
            text = read_text(own, ("HEAD",))
            named = text.removeprefix(_BRANCH)
            branch = shown(named) if named != text and _REF.fullmatch(text.removeprefix("ref: ")) else None
            return _resolved(own, shared, text), branch
    except NotFound:
        return None, None


def _resolved(own: Tree, shared: Tree, text: str) -> str | None:
    for _ in range(5):  # a ref may name another one
        if _SHA.fullmatch(text):
            return text
        ref = text.removeprefix("ref: ")
        if ref == text or not _REF.fullmatch(ref) or ".." in ref:
            return None
        parts = tuple(part for part in ref.split("/") if part)
        text = read_text(own, parts) or read_text(shared, parts) or _packed(shared, ref)
    return None


def _packed(shared: Tree, ref: str) -> str:
    refs = read_text(shared, ("packed-refs",), _REFS_BYTES)
    found = re.search(rf"^([0-9a-f]{{40,64}}) {re.escape(ref)}$", refs, re.MULTILINE)
    return found.group(1) if found else ""
