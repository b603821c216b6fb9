"""The state of a workspace, as one short text that changes when a file in it does: by git if it is a
repository, else by the sizes and times of its files."""

import hashlib
import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from holdfast.core.errors import HoldfastError
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.commands.walled_programs import Walled
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.git.changes import diff_workspace
from holdfast.workspaces.git.repositories import find_repository
from holdfast.workspaces.search.gitignore import Ignoring
from holdfast.workspaces.search.walk import WalkedFile, walk

MAX_FILES = 200_000
# What a diff names without showing it: two such diffs may be equal although the files differ.
_NOT_SHOWN = ("Binary files ", "Only in b: ")


async def state_of(walled: Walled | None, root: Root, trusted: Sequence[Path]) -> str | None:
    """None: unknown. `walled` None: git is not asked."""
    by_git = None if walled is None else await _by_git(walled, root, trusted)
    return by_git or await blocking(lambda: _by_times(root))


async def _by_git(walled: Walled, root: Root, trusted: Sequence[Path]) -> str | None:
    try:
        repository = await blocking(lambda: find_repository(root, trusted))
        difference = await diff_workspace(walled, root, repository)
    except HoldfastError:
        return None  # no repository, no wall, or one that git does not answer for
    if difference.truncated or any(line.startswith(_NOT_SHOWN) for line in difference.text.splitlines()):
        return None
    return _hashed("git", [repository.head or "", difference.text])


def _by_times(root: Root) -> str | None:
    try:
        with root.open() as tree, tree.directory(()) as directory:
            files = [_stamp(file) for file in islice(walk(directory, Ignoring(), ""), MAX_FILES + 1)]
    except HoldfastError:
        return None
    return None if len(files) > MAX_FILES else _hashed("files", files)


def _stamp(file: WalkedFile) -> str:
    try:
        found = os.stat(file.name, dir_fd=file.directory, follow_symlinks=False)
    except OSError:
        return f"{file.path}\0gone"
    return f"{file.path}\0{found.st_size} {found.st_mtime_ns} {found.st_ino}"


def _hashed(kind: str, texts: Sequence[str]) -> str:
    found = hashlib.sha256()
    for text in texts:
        found.update(text.encode("utf-8", "surrogateescape") + b"\n")
    return f"{kind}:{found.hexdigest()}"
