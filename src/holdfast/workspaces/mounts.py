"""What a command sees of the machine, as data: system directories to read, its workspace to write, private
directories for itself, and nothing else. What of the server lies inside of these is covered."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from holdfast.core.shapes import Record

# Where commands find a home and a temporary directory of their own. The first is no directory of a person.
HOME = "/home/holdfast"
TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - inside the wall

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix")
# These are often links to where no command may look.
LINKED = ("/etc/resolv.conf", "/etc/hosts", "/etc/localtime")


class Bind(Record, frozen=True, kw_only=True, tag=True):
    source: str
    target: str
    writable: bool = False


class Link(Record, frozen=True, kw_only=True, tag=True):
    target: str
    to: str


class CoverDirectory(Record, frozen=True, kw_only=True, tag=True):
    target: str


class CoverFile(Record, frozen=True, kw_only=True, tag=True):
    target: str


Mount = Bind | Link | CoverDirectory | CoverFile


class Place(Record, frozen=True, kw_only=True):
    """Where a command runs: the workspace, and what else it may write or read (a worktree's repository, paths
    that a person opened)."""

    root: Path
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()


class Private(Record, frozen=True, kw_only=True):
    """Directories that a chat's commands have for themselves and keep from one to the next."""

    home: Path
    temporary: Path


def system_mounts(superuser: bool) -> tuple[Mount, ...]:
    """What this machine has of the system directories. For root everything is readable, so what other users
    could not read is covered."""
    found: list[Mount] = []
    for name in SYSTEM:
        if os.path.islink(name):
            found.append(Link(target=name, to=os.readlink(name)))
        elif os.path.isdir(name):
            found.append(Bind(source=name, target=name))
    for name in LINKED:
        real = os.path.realpath(name)
        if os.path.isfile(real) and not _inside(real, SYSTEM):
            found.append(Bind(source=real, target=real))
    if superuser:
        found += _unreadable("/etc")
    return tuple(found)


def _unreadable(directory: str) -> Iterator[Mount]:
    for entry in os.scandir(directory):
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            if mode & 0o005 == 0o005:
                yield from _unreadable(entry.path)
            else:
                yield CoverDirectory(target=entry.path)
        elif not stat.S_ISLNK(mode) and not mode & 0o004:
            yield CoverFile(target=entry.path)


def plan(
    system: tuple[Mount, ...], place: Place, private: Private, hidden: tuple[Path, ...]
) -> tuple[Mount, ...]:
    """All mounts in the order in which they are made: outer before inner, so that the workspace stays visible
    inside of something covered, and something covered inside of the workspace stays covered."""
    binds = [
        *(Bind(source=str(private.temporary), target=name, writable=True) for name in TEMPORARY),
        Bind(source=str(private.home), target=HOME, writable=True),
        *(Bind(source=str(path), target=str(path)) for path in place.readable),
        *(Bind(source=str(path), target=str(path), writable=True) for path in (*place.writable, place.root)),
    ]
    shown = (*SYSTEM, *(bind.target for bind in binds if bind.source == bind.target))
    covers = [_cover(path) for path in hidden if _inside(str(path), shown)]
    return tuple(sorted((*system, *binds, *covers), key=lambda mount: len(Path(mount.target).parts)))


def _cover(path: Path) -> Mount:
    return CoverFile(target=str(path)) if path.is_file() else CoverDirectory(target=str(path))


def _inside(path: str, directories: tuple[str, ...]) -> bool:
    return any(path == directory or path.startswith(f"{directory.rstrip('/')}/") for directory in directories)
