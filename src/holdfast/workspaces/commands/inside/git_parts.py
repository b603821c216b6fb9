"""The parts of a repository that name programs: hooks, settings, attributes. A person's own git runs them
without any wall, so commands can read but not change them; commits still work."""

import os
import stat

from holdfast.workspaces.commands.inside import kernel
from holdfast.workspaces.commands.inside.root import PATH, BuildRefused, NewRoot

# Created if missing: an empty one changes nothing, and nobody else can create one with content.
DIRECTORIES = ("hooks", "info")
CONFIG = "config"
FILES = (CONFIG, "config.worktree", "commondir", "gitdir")
# One of them is enough for the directory of a submodule: the others may have been moved away for a while.
_SIGNS = ("HEAD", "commondir", "objects", *DIRECTORIES, *FILES)
_CONFIG_BYTES = 1024 * 1024
_MODULE_DEPTH = 6
# More submodules and worktrees than anybody has.
MOST = 256


class TooMany(Exception):
    """There are more git directories inside one than can be protected."""


class GitDirectory:
    """Held open. `path` is relative to the outermost one, whose own is empty."""

    def __init__(self, descriptor: int, path: str, *, is_worktree: bool) -> None:
        self.descriptor = descriptor
        self.path = path
        # It has no hooks and settings of its own, but refers to those of another one.
        self.is_worktree = is_worktree
        self.identity = identity(descriptor)

    @property
    def directories(self) -> tuple[str, ...]:
        return () if self.is_worktree else DIRECTORIES


def identity(descriptor: int) -> str:
    found = os.fstat(descriptor)
    return f"{found.st_dev}:{found.st_ino}"


def all_inside(git: int) -> list[GitDirectory]:
    """A git directory, those of its submodules and those of its worktrees. To be closed by the caller."""
    found = [GitDirectory(os.dup(git), "", is_worktree=False)]
    try:
        _add_modules(found, git, "")
        worktrees = _open(git, "worktrees")
        if worktrees is not None:
            try:
                _add_worktrees(found, worktrees)
            finally:
                os.close(worktrees)
    except BaseException:
        close_all(found)
        raise
    return found


def close_all(found: list[GitDirectory]) -> None:
    for one in found:
        os.close(one.descriptor)


def make_missing(root: int, inside: str, kind: str) -> None:
    """Before the workspace is mounted, while its files still show their owners. `inside`: the path of a
    nested one from the root."""
    git = os.dup(root)
    for name in (*inside.split("/"), ".git") if kind != "repository" else ():
        inner = _open(git, name) if name else os.dup(git)
        os.close(git)
        if inner is None:
            return  # it does not exist, or not any more
        git = inner
    if stat.S_ISDIR(os.fstat(git).st_mode):
        found = _all_inside(git)
        for one in found:
            _make_parts(one)
        close_all(found)
    os.close(git)


def protect(new: NewRoot, root: str, kind: str, expected: str, below: str) -> None:
    """`root` is a workspace, a directory in one that is known to have a repository (`nested`), or a
    repository that a workspace is a worktree of. `expected` names the git directories that must be there,
    empty if that does not matter. `below`: the workspace, from which hooks may be taken."""
    place = new.find(root)
    if place is None:
        _must_be(expected, [], root)
        return
    git = place if kind == "repository" else _open(place, ".git")
    if git is None:
        _must_be(expected, [], root)
        return
    if stat.S_ISLNK(os.fstat(git).st_mode):
        raise BuildRefused(f"{root}/.git is a link, and commands cannot run there")
    if not stat.S_ISDIR(os.fstat(git).st_mode):
        new.pin(git, attributes=kernel.READ_ONLY)
        _must_be(expected, [], root)
        return
    held = git if kind == "repository" else new.pin(git)
    found = _all_inside(held)
    _must_be(expected, found, root)
    for one in found:
        for name in (*one.directories, *FILES):
            part = _open(one.descriptor, name)
            if part is not None and not stat.S_ISLNK(os.fstat(part).st_mode):
                os.close(new.pin(part, attributes=kernel.READ_ONLY))
    _protect_hooks_path(new, held, root, below)


def _all_inside(git: int) -> list[GitDirectory]:
    try:
        return all_inside(git)
    except TooMany:
        raise BuildRefused(f"its repository has more than {MOST} submodules and worktrees") from None


def _must_be(expected: str, found: list[GitDirectory], root: str) -> None:
    """Whoever started this knows of these: any other is examined when the command ends."""
    if expected and ",".join(one.identity for one in found) != expected:
        raise BuildRefused(f"the repository in {root} was changed just now. Try again")


def _make_parts(one: GitDirectory) -> None:
    if one.is_worktree:
        return
    owner = os.fstat(one.descriptor)
    for name in (*DIRECTORIES, CONFIG):
        try:
            if name == CONFIG:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                os.close(os.open(name, flags, 0o644, dir_fd=one.descriptor))
            else:
                os.mkdir(name, 0o755, dir_fd=one.descriptor)
            os.chown(name, owner.st_uid, owner.st_gid, dir_fd=one.descriptor, follow_symlinks=False)
        except OSError:
            continue  # it exists, or nobody here may create it


def _protect_hooks_path(new: NewRoot, git: int, root: str, below: str) -> None:
    """Where hooks are looked for instead, if that is in the workspace."""
    named = hooks_path(_read(git, CONFIG))
    if named is None:
        return
    path = os.path.normpath(os.path.join(root, named))
    if not path.startswith(f"{below.rstrip('/')}/"):
        return
    new.pin_above(path, below)
    place = new.find(path)
    if place is not None and stat.S_ISDIR(os.fstat(place).st_mode):
        os.close(new.pin(place, attributes=kernel.READ_ONLY))


def hooks_path(config: str) -> str | None:
    section = ""
    found = None
    for line in config.splitlines():
        if line.strip().startswith("["):
            section, _, line = line.strip()[1:].partition("]")
        name, is_value, value = line.partition("=")
        if section.strip().lower() == "core" and is_value and name.strip().lower() == "hookspath":
            found = value.strip().strip('"')
    return found or None


def _add_worktrees(found: list[GitDirectory], worktrees: int) -> None:
    if not stat.S_ISDIR(os.fstat(worktrees).st_mode):
        return
    for name in _names(worktrees):
        inner = _open(worktrees, name)
        if inner is None:
            continue
        if not stat.S_ISDIR(os.fstat(inner).st_mode):
            os.close(inner)
            continue
        found.append(GitDirectory(inner, f"worktrees/{name}", is_worktree=True))
        if len(found) > MOST:
            raise TooMany
        _add_modules(found, inner, f"worktrees/{name}/")


def _add_modules(found: list[GitDirectory], git: int, path: str) -> None:
    _add_below(found, git, ["modules"], path, 0)


def _add_below(found: list[GitDirectory], directory: int, names: list[str], path: str, depth: int) -> None:
    """Submodules, whose names may have several parts, and the submodules in these."""
    for name in names:
        inner = _open(directory, name)
        if inner is None:
            continue
        try:
            if not stat.S_ISDIR(os.fstat(inner).st_mode):
                continue
            if depth and any(_is_there(inner, sign) for sign in _SIGNS):
                found.append(GitDirectory(os.dup(inner), path + name, is_worktree=False))
                if len(found) > MOST:
                    raise TooMany
                _add_modules(found, inner, f"{path}{name}/")
            elif depth < _MODULE_DEPTH:
                _add_below(found, inner, _names(inner), f"{path}{name}/", depth + 1)
        finally:
            os.close(inner)


def _names(directory: int) -> list[str]:
    try:
        readable = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
    except OSError:
        return []  # neither we nor git may read it
    try:
        found: list[str] = []
        with os.scandir(readable) as entries:
            for entry in entries:
                found.append(entry.name)
                if len(found) > MOST:
                    raise TooMany
    finally:
        os.close(readable)
    return sorted(found)


def _is_there(directory: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return False
    return True


def _open(directory: int, name: str) -> int | None:
    try:
        return os.open(name, PATH, dir_fd=directory)
    except OSError:
        return None


def _read(directory: int, name: str) -> str:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        file = os.open(name, flags, dir_fd=directory)
    except OSError:
        return ""
    try:
        return os.read(file, _CONFIG_BYTES).decode("utf-8", "replace")
    finally:
        os.close(file)
