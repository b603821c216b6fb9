"""What a command sees of the machine, as data: system directories to read, its workspace to write, private
directories for itself, and nothing else. Parts of the server inside these are covered."""

import os
import stat
import time
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import TypeVar

from holdfast.core.shapes import Record

# Where commands find their own home and temporary directories. The home belongs to no person.
HOME = "/home/holdfast"
TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - inside the wall

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix")
# Where people put their own files among those of the system.
FOR_PEOPLE = ("/etc", "/opt", "/usr/local")
# These are often links to places that no command may see.
LINKED = ("/etc/resolv.conf", "/etc/hosts", "/etc/localtime")


T = TypeVar("T")


def cached_for(seconds: float) -> Callable[[Callable[[], T]], Callable[[], T]]:
    def decorate(function: Callable[[], T]) -> Callable[[], T]:
        kept: list[tuple[float, T]] = []

        @wraps(function)
        def remembered() -> T:
            now = time.monotonic()
            if not kept or now - kept[0][0] > seconds:
                kept[:] = [(now, function())]
            return kept[0][1]

        return remembered

    return decorate


class Bind(Record, frozen=True, kw_only=True, tag=True):
    source: str
    target: str
    writable: bool = False
    # Belongs to the chat, not to the machine: whoever owns it outside, inside it is the command's user.
    own: bool = False


class Link(Record, frozen=True, kw_only=True, tag=True):
    target: str
    to: str


class CoverDirectory(Record, frozen=True, kw_only=True, tag=True):
    target: str


class CoverFile(Record, frozen=True, kw_only=True, tag=True):
    target: str


Mount = Bind | Link | CoverDirectory | CoverFile


class CommandPlace(Record, frozen=True, kw_only=True):
    """Where a command runs: the workspace, and what else it may write or read (a worktree's repository, paths
    that a person granted)."""

    root: Path
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    # Everything is read-only, the workspace too.
    read_only: bool = False


class Private(Record, frozen=True, kw_only=True):
    """Directories that a chat's commands have for themselves and keep from one command to the next."""

    home: Path
    temporary: Path


def system_mounts(superuser: bool) -> tuple[Mount, ...]:
    """The system directories of this machine. Files in them that only the server's own user could read are
    covered; commands of a root server run as another user and cannot read them anyway."""
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
    if not superuser:
        for name in FOR_PEOPLE:
            found += unreadable(name, os.geteuid())
    return tuple(found)


def unreadable_to_others() -> tuple[Mount, ...]:
    """For a command that is root itself, which could read everything."""
    fresh = tuple(cover for name in FOR_PEOPLE for cover in unreadable(name, None))
    return (*fresh, *(cover for cover in _of_the_system() if not _inside(cover.target, FOR_PEOPLE)))


@cached_for(600.0)
def _of_the_system() -> tuple[Mount, ...]:
    """Kept for ten minutes: it hardly ever changes, and finding it takes a second or more."""
    return tuple(cover for name in SYSTEM if not os.path.islink(name) for cover in unreadable(name, None))


def unreadable(directory: str, owner: int | None) -> Iterator[Mount]:
    """`owner`: only files of this owner; None: whoever owns them."""
    try:
        entries = list(os.scandir(directory))
    except OSError:
        return  # nobody here can read it
    for entry in entries:
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        mode, theirs = found.st_mode, owner is None or found.st_uid == owner
        if stat.S_ISDIR(mode):
            if mode & 0o005 == 0o005 or not theirs:
                yield from unreadable(entry.path, owner)
            else:
                yield CoverDirectory(target=entry.path)
        elif not stat.S_ISLNK(mode) and not mode & 0o004 and theirs:
            yield CoverFile(target=entry.path)


def plan(
    system: tuple[Mount, ...], place: CommandPlace, private: Private, hidden: tuple[Path, ...]
) -> tuple[Mount, ...]:
    """All mounts in the order in which they are made: outer before inner, so that a workspace inside a
    covered directory stays visible, and something covered inside the workspace stays covered."""
    binds = [
        *(Bind(source=str(private.temporary), target=name, writable=True, own=True) for name in TEMPORARY),
        Bind(source=str(private.home), target=HOME, writable=True, own=True),
        *(Bind(source=str(path), target=str(path), own=True) for path in place.readable),
        *(
            Bind(source=str(path), target=str(path), writable=not place.read_only, own=True)
            for path in (*place.writable, place.root)
        ),
    ]
    shown = (*SYSTEM, *(bind.target for bind in binds if bind.source == bind.target))
    covers = [_cover(path) for path in hidden if _inside(str(path), shown)]
    return tuple(sorted((*system, *binds, *covers), key=lambda mount: len(Path(mount.target).parts)))


def _cover(path: Path) -> Mount:
    return CoverFile(target=str(path)) if path.is_file() else CoverDirectory(target=str(path))


def _inside(path: str, directories: tuple[str, ...]) -> bool:
    return any(path == directory or path.startswith(f"{directory.rstrip('/')}/") for directory in directories)
