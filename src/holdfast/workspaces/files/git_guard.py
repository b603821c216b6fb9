"""What file tools do not write: git's own directories, wherever they are and whatever they are called, and
the directories that hooks are taken from. People run git in a workspace without a wall, and git runs what is
written there. They are recognised by what is really there, so that no link and no spelling gets around it."""

import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from holdfast.core.errors import InvalidInput
from holdfast.workspaces.files.file_root import FilePlace, Tree, explained
from holdfast.workspaces.files.openat2 import kernel_open
from holdfast.workspaces.files.paths import Parts, shown_path
from holdfast.workspaces.git.repositories import GIT, config_value, read_text

CONFIG_BYTES = 1024 * 1024
_DEPTH = 300
# A directory need not be readable to look around from it.
_HELD = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
# To git, a directory that contains one of these is a repository.
_REPOSITORIES = (("HEAD", "objects", "refs"), ("HEAD", "commondir"))

_Identity = tuple[int, int]


class Guard:
    """For one workspace, whose root is at `top`. `config` is that of its repository if this is elsewhere, as
    for a worktree."""

    def __init__(self, top: Path, config: str = "") -> None:
        self._top = top
        self._config = config

    def check_path(self, tree: Tree, parts: Parts) -> None:
        """Before anything is created on the way there. InvalidInput says why not."""
        if any(is_git_name(part) for part in parts):
            raise _refused(parts)
        for depth in range(len(parts) - 1, -1, -1):
            try:
                directory = tree.open_directory(parts[:depth])
            except FileNotFoundError:
                continue
            except OSError:
                return  # finding the place will tell why
            try:
                with explained(parts):
                    self._check(tree, directory, parts[depth:], parts)
            finally:
                os.close(directory)
            return

    def check_place(self, tree: Tree, place: FilePlace, parts: Parts) -> None:
        """What was found behind links, and is held open."""
        if is_git_name(place.name):
            raise _refused(parts)
        with explained(parts):
            self._check(tree, place.directory, (place.name,), parts)

    def _check(self, tree: Tree, directory: int, further: Parts, parts: Parts) -> None:
        """`further` is what will be created below the directory, which exists."""
        below: set[_Identity] = set()
        new = {further[0].casefold()}
        for each in _upwards(tree, directory):
            below.add(_identity(each))
            at_top = _identity(each) == _identity(tree.root)
            if _is_repository(each, new) or (not at_top and _is_named_git(each)):
                raise _refused(parts)
            if any(_leads_to(at, hooks, below, directory, further) for at, hooks in self._hooks(tree, each)):
                raise InvalidInput(
                    f"{shown_path(parts)} is where this repository takes its hooks from (core.hooksPath). "
                    "File tools do not write there: people's own git would run it. Ask the user to do it."
                )
            new.clear()

    def _hooks(self, tree: Tree, directory: int) -> Iterator[tuple[int, Parts]]:
        """Where a repository with this top takes its hooks from: below which directory, and where."""
        config = read_text(_beneath(directory), (GIT, "config"), CONFIG_BYTES)
        if _identity(directory) == _identity(tree.root):
            config = f"{config}\n{self._config}"
        named = config_value(config, "core", "hookspath")
        if not named or named.startswith("~"):
            return
        at = directory
        if named.startswith("/"):
            named = os.path.normpath(named)
            if not Path(named).is_relative_to(self._top):
                return
            at, named = tree.root, str(Path(named).relative_to(self._top))
        yield at, tuple(part for part in os.path.normpath(named).split("/") if part not in ("", "."))


def is_git_name(name: str) -> bool:
    """Whether some file system treats it as `.git`."""
    plain = "".join(character for character in name if unicodedata.category(character) != "Cf")
    return plain.casefold().split(":")[0].rstrip(". ") in (GIT, "git~1")


def _upwards(tree: Tree, directory: int) -> Iterator[int]:
    """The directory and its parents, up to the root; each is open until the next is requested."""
    root = _identity(tree.root)
    current = os.open(".", _HELD, dir_fd=directory)
    try:
        for _ in range(_DEPTH):
            yield current
            if _identity(current) == root:
                return
            outer = os.open("..", _HELD, dir_fd=current)
            os.close(current)
            current = outer
    finally:
        os.close(current)
    raise InvalidInput("The directory was moved out of the workspace, or lies too deep.")


def _is_repository(directory: int, new: set[str]) -> bool:
    """Whether it is one, or will be with what is new in it."""
    return any(
        all(name.casefold() in new or _found(directory, name) is not None for name in names)
        for names in _REPOSITORIES
    )


def _is_named_git(directory: int) -> bool:
    """Also on file systems that treat `.GIT` as the same."""
    outer = os.open("..", _HELD, dir_fd=directory)
    try:
        found = _found(outer, GIT)
        return found is not None and (found.st_dev, found.st_ino) == _identity(directory)
    finally:
        os.close(outer)


def _leads_to(at: int, hooks: Parts, below: set[_Identity], directory: int, further: Parts) -> bool:
    """Whether what is written below `directory` is written into `hooks`, part of which may not exist yet."""
    if not hooks or hooks[0] == "..":
        return False
    tree = _beneath(at)
    for depth in range(len(hooks), -1, -1):
        try:
            found = tree.open_directory(hooks[:depth])
        except OSError:
            continue
        try:
            missing = tuple(name.casefold() for name in hooks[depth:])
            if not missing:
                return _identity(found) in below
            made = tuple(name.casefold() for name in further[: len(missing)])
            return _identity(found) == _identity(directory) and made == missing
        finally:
            os.close(found)
    return False


def _beneath(directory: int) -> Tree:
    return Tree(directory, kernel_open())


def _found(directory: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return None


def _identity(descriptor: int) -> _Identity:
    info = os.fstat(descriptor)
    return info.st_dev, info.st_ino


def _refused(parts: Parts) -> InvalidInput:
    return InvalidInput(
        f"{shown_path(parts)} belongs to git itself, and file tools do not write there: people's own git "
        "would run what it says (hooks, settings). Reading is allowed; to change history or branches use git "
        "commands."
    )
