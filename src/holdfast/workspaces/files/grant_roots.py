"""Paths outside the workspace that a person let a chat read. What is granted is the path that the person saw:
no link is followed on the way to it, then or later."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from holdfast.core.errors import InvalidInput
from holdfast.core.grants import Grant, GrantKind
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.files.hidden import Hidden
from holdfast.workspaces.files.paths import shown
from holdfast.workspaces.places.allowed_roots import Roots

# What the kernel shows as files, including the secrets of every process.
_NO_FILES = (Path("/proc"), Path("/sys"), Path("/dev"), Path("/run"))


def grantable(path: str, roots: Roots) -> GrantKind:
    """What is at this path, if reading it may be granted at all; InvalidInput says why not. Blocking."""
    if "\0" in path or not path.startswith("/") or os.path.normpath(path) != path or path.startswith("//"):
        raise InvalidInput(f"{shown(path)} is not an absolute path without . and .., such as /home/me/notes.")
    try:
        real = Path(path).resolve(strict=True)
        mode = real.stat().st_mode
    except (OSError, RuntimeError) as error:
        raise InvalidInput(f"{shown(path)} cannot be found, or the server may not read it.") from error
    if str(real) != path:
        raise InvalidInput(f"{shown(path)} is or lies behind a link. Ask for {shown(str(real))} itself.")
    if real == Path("/") or any(real.is_relative_to(base) for base in _NO_FILES):
        raise InvalidInput(f"{shown(path)} cannot be granted. Ask for the file or directory that you need.")
    if roots.is_private(real):
        raise InvalidInput(f"{shown(path)} holds or lies in what the server keeps for itself. Do without it.")
    if stat.S_ISDIR(mode):
        return "directory"
    if stat.S_ISREG(mode):
        return "file"
    raise InvalidInput(f"{shown(path)} is neither a file nor a directory.")


def granted_root(path: str, grants: Iterable[Grant], hidden: Hidden | None = None) -> Root | None:
    """Where an absolute path is found, if one of the grants covers it. Every name from the top on is opened
    without following a link. What became the server's own after the grant is not found."""
    for grant in grants:
        if hidden is not None and hidden.covers(Path(grant.path)):
            continue
        names = Path(grant.path).parts[1:]
        if grant.kind == "file" and path == grant.path:
            return Root(Path("/"), names[:-1], only=names[-1], hidden=hidden)
        if grant.kind == "directory" and (path == grant.path or path.startswith(f"{grant.path}/")):
            return Root(Path("/"), names, hidden=hidden)
    return None
