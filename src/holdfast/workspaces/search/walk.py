"""Walks the files of a workspace, by descriptor and in the order of their paths, without those that
.gitignore leaves out. Links are not followed."""

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from holdfast.workspaces.files.file_root import DIRECTORY
from holdfast.workspaces.files.hidden import NOTHING, Identities, identity_of
from holdfast.workspaces.search.gitignore import MAX_BYTES, Ignoring

_DEPTH = 200
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class WalkedFile(NamedTuple):
    """`path` is relative to where the walk started; `directory` is held only until the next one is
    requested."""

    path: str
    name: str
    directory: int

    def open(self) -> int:
        return os.open(self.name, _FILE, dir_fd=self.directory)


def walk(start: int, ignoring: Ignoring, above: str, hidden: Identities = NOTHING) -> Iterator[WalkedFile]:
    """`above` is the path of the start from the workspace's root: rules are relative to that."""
    yield from _walk(start, "", f"{above}/" if above else "", ignoring, 0, hidden)


def rules_of(directory: int) -> str | None:
    try:
        descriptor = os.open(".gitignore", _FILE, dir_fd=directory)
    except OSError:
        return None
    try:
        return os.read(descriptor, MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _walk(
    directory: int, prefix: str, above: str, ignoring: Ignoring, depth: int, hidden: Identities
) -> Iterator[WalkedFile]:
    ignoring = ignoring.below((above + prefix).rstrip("/"), rules_of(directory))
    for name, is_directory in _entries(directory, hidden):
        path = prefix + name
        if ignoring.ignores(above + path, name, directory=is_directory):
            continue
        if not is_directory:
            yield WalkedFile(path, name, directory)
        elif depth < _DEPTH:
            with _opened(name, directory) as inner:
                if inner is not None and identity_of(os.fstat(inner)) not in hidden:
                    yield from _walk(inner, f"{path}/", above, ignoring, depth + 1, hidden)


def _entries(directory: int, hidden: Identities) -> list[tuple[str, bool]]:
    """Files and directories, by name; links and special files are neither."""
    inodes = {inode for _, inode in hidden}
    try:
        with os.scandir(directory) as entries:
            return sorted(
                (entry.name, entry.is_dir(follow_symlinks=False))
                for entry in entries
                if (entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False))
                and not (entry.inode() in inodes and identity_of(entry.stat(follow_symlinks=False)) in hidden)
            )
    except OSError:
        return []  # gone, or not for us to read


@contextmanager
def _opened(name: str, directory: int) -> Generator[int | None]:
    try:
        descriptor = os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)
