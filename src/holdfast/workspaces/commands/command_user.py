"""Which user a command runs as. Commands of a root server run as a separate user where the file system can
show a workspace's owner as that user (idmapped mounts). Elsewhere they stay root with few capabilities, and
what other users could not read is covered."""

import os
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from holdfast.workspaces.commands.inside import kernel
from holdfast.workspaces.commands.inside.root import BuildRefused, open_source
from holdfast.workspaces.commands.mounts import CommandPlace, Private

if TYPE_CHECKING:
    from holdfast.workspaces.commands.wall import Wall

# `own`: the server's own user, which is not root.
Identity = Literal["mapped", "root", "own"]

_LOCK = threading.Lock()
_MAPPABLE: dict[int, bool] = {}


def identity_of(wall: "Wall", place: CommandPlace, private: Private) -> Identity:
    """Blocks for some milliseconds the first time that a file system is seen."""
    if not wall.superuser:
        return "own"
    paths = (place.root, *place.writable, *place.readable, private.home, private.temporary)
    return "mapped" if all(_can_map(path) for path in paths) else "root"


def _can_map(path: Path) -> bool:
    """Whether users can be mapped on its file system. The test mount is visible to nobody."""
    try:
        opened = open_source(str(path))
    except BuildRefused:
        return True  # starting the command reports that it does not exist
    try:
        device = os.fstat(opened).st_dev
        with _LOCK:
            if device not in _MAPPABLE:
                _MAPPABLE[device] = _try(opened)
            return _MAPPABLE[device]
    finally:
        os.close(opened)


def _try(opened: int) -> bool:
    """With a namespace of some other process: this one has threads, and must not fork."""
    script = ["unshare", "--user", "--map-root-user", "/bin/sh", "-c", "echo made && exec cat"]
    try:
        with subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdin is not None
            assert holder.stdout is not None
            if holder.stdout.readline() != b"made\n":
                return False
            users = os.open(f"/proc/{holder.pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
            holder.stdin.close()
        try:
            tree = kernel.clone_tree(opened)
            try:
                kernel.set_attributes(tree, kernel.NO_SETUID, users)
            finally:
                os.close(tree)
        finally:
            os.close(users)
    except OSError:
        return False
    return True
