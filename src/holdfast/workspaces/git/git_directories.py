"""Where in a workspace a person's git would find a repository, and what in it names programs: found before a
command and again after it, by descriptors and without following a link."""

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import structlog
from msgspec.structs import replace

from holdfast.core.shapes import Record
from holdfast.workspaces.commands.inside import git_parts
from holdfast.workspaces.commands.inside.root import BuildRefused, open_source
from holdfast.workspaces.commands.mounts import CommandPlace
from holdfast.workspaces.commands.wall import Protected
from holdfast.workspaces.files.hidden import Identity, identity_of

log = structlog.get_logger(__name__)

GIT = ".git"
TOO_MANY = "too many"
MOST_HOOKS = 200
# Of a workspace, the outermost first. To look at so many again takes a fraction of a second.
MOST_DIRECTORIES = 50_000
# Repositories inside of a workspace that are read-only in parts; of others, changes are undone afterwards.
_MOST_NESTED = 64
_DEPTH = 200
# A directory that was changed a moment ago may change again without its time telling.
_SETTLED_NS = 1_000_000_000
_SIGNS = frozenset((GIT, "HEAD", "commondir", "objects", "refs"))
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

# repository: .git of the workspace or of a directory in it, or one without that name.
# module, worktree: in another one.
# pointer: a file or link that stands for a directory elsewhere.
Kind = Literal["repository", "module", "worktree", "pointer"]


class Seen(Record, frozen=True, kw_only=True):
    """One of them, as it was at that moment."""

    path: str
    kind: Kind
    # Device and inode.
    identity: str
    # Tells whether what names programs was changed since.
    state: str
    # Whether commands that begin now cannot change it.
    protected: bool = False

    @property
    def is_bare(self) -> bool:
        """It is not called .git, and lies in the workspace."""
        return self.kind == "repository" and not self.protected and os.path.basename(self.path) != GIT


@dataclass(frozen=True)
class _Listing:
    changed_ns: int
    directories: tuple[str, ...]
    has_git: bool
    # A repository without a .git, as `git init --bare` makes: git finds it from inside.
    is_git: bool


class GitDirectories:
    """Remembers what directories hold, by a time that nobody but the kernel sets. `hidden` are directories
    that no command sees. May be used by several threads."""

    def __init__(self, hidden: tuple[Path, ...] = ()) -> None:
        self._hidden = hidden
        self._known: dict[Identity, _Listing] = {}
        # Repositories that commands made: these may go on changing and removing them.
        self._made: set[str] = set()

    def look(self, place: CommandPlace) -> tuple[Seen, ...]:
        """Blocking."""
        found: list[Seen] = []
        for path in place.writable:
            found += _inside(str(path), protected=True)
        nested = 0
        own = os.path.join(place.root, GIT)
        for entry in self._repositories(place.root):
            seen = _inside(entry, protected=entry == own)
            if seen and seen[0].kind == "pointer" and os.path.basename(entry) != GIT:
                continue  # it was one a moment ago
            is_nested = os.path.basename(entry) == GIT and entry != own
            if is_nested and seen and seen[0].kind == "repository":
                nested += 1
                if nested <= _MOST_NESTED and seen[0].identity not in self._made:
                    seen = [_protected(one) for one in seen]
            found += seen
        return tuple(found)

    def note_made(self, seen: Seen) -> None:
        self._made.add(seen.identity)

    def _repositories(self, root: Path) -> Iterator[str]:
        """Every entry named .git, and directories that are one without the name; the outer before the
        inner."""
        if len(self._known) > 4 * MOST_DIRECTORIES:
            self._known.clear()
        try:
            top = open_source(str(root))
        except BuildRefused:
            return  # it is gone, or no longer what it was
        try:
            skipped = {identity_of(os.stat(path)) for path in self._hidden if os.path.isdir(path)}
            yield from self._walk(top, str(root), skipped, [MOST_DIRECTORIES], 0)
        finally:
            os.close(top)

    def _walk(
        self, outer: int, path: str, skipped: set[Identity], left: list[int], depth: int, name: str = "."
    ) -> Iterator[str]:
        left[0] -= 1
        try:
            directory = open_directory(outer, name)
        except OSError:
            return  # it is gone, or not for us to read, nor for git
        try:
            listing = self._listing(directory, skipped)
            if listing.has_git:
                yield os.path.join(path, GIT)
            if listing.is_git:
                yield path
            for inner in listing.directories if depth < _DEPTH else ():
                if left[0] <= 0:
                    if left[0] == 0:
                        left[0] = -1
                        log.warning("a workspace has more directories than are searched for repositories")
                    return
                yield from self._walk(directory, f"{path}/{inner}", skipped, left, depth + 1, inner)
        finally:
            os.close(directory)

    def _listing(self, directory: int, skipped: set[Identity]) -> "_Listing":
        info = os.fstat(directory)
        key = identity_of(info)
        if key in skipped:
            return _Listing(0, (), has_git=False, is_git=False)
        known = self._known.get(key)
        if known is None or known.changed_ns != info.st_ctime_ns:
            known = _listed(directory, info.st_ctime_ns)
            if info.st_ctime_ns < time.time_ns() - _SETTLED_NS:
                self._known[key] = known
        return known


def open_directory(outer: int, name: str) -> int:
    """One that may be entered and not listed would hide what git finds in it by name: its owner may list it,
    from then on."""
    try:
        return os.open(name, _DIRECTORY, dir_fd=outer)
    except PermissionError:
        held = os.open(name, git_parts.PATH | os.O_DIRECTORY, dir_fd=outer)
        try:
            if not os.fstat(held).st_mode & stat.S_IXUSR:
                raise
            allow(held)
            return os.open(".", _DIRECTORY, dir_fd=held)
        finally:
            os.close(held)


def allow(held: int) -> None:
    """Whoever owns it may do everything in it. OSError: it is not ours."""
    os.chmod(f"/proc/self/fd/{held}", stat.S_IMODE(os.fstat(held).st_mode) | stat.S_IRWXU)


def to_protect(place: CommandPlace, seen: tuple[Seen, ...]) -> tuple[Protected, ...]:
    """What a wall is told of what was seen."""
    own = str(place.root)
    groups: dict[str, list[str]] = {own: []}
    for path in place.writable:
        groups[str(path)] = []
    outer = ""
    for one in seen:
        if one.kind in ("repository", "pointer"):
            outer = one.path if one.path in groups else os.path.dirname(one.path)
        if one.protected and one.kind != "pointer":
            groups.setdefault(outer, []).append(one.identity)
    kinds: dict[str, Literal["workspace", "nested", "repository"]] = {own: "workspace"}
    kinds |= {str(path): "repository" for path in place.writable}
    return tuple(
        Protected(path=path, kind=kinds.get(path, "nested"), expected=",".join(identities))
        for path, identities in groups.items()
    )


def _listed(directory: int, changed_ns: int) -> _Listing:
    names: list[str] = []
    signs: set[str] = set()
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name in _SIGNS:
                signs.add(entry.name)
            if entry.name != GIT and entry.is_dir(follow_symlinks=False):
                names.append(entry.name)
    is_git = "HEAD" in signs and ("commondir" in signs or {"objects", "refs"} <= signs)
    return _Listing(changed_ns, tuple(sorted(names)), has_git=GIT in signs, is_git=is_git)


def _inside(path: str, *, protected: bool) -> list[Seen]:
    """What an entry named .git is, with all that is in it."""
    try:
        git = open_source(path)
    except BuildRefused:
        return _pointer(path)
    try:
        if not stat.S_ISDIR(os.fstat(git).st_mode):
            return _pointer(path)
        found = git_parts.all_inside(git)
    except git_parts.TooMany:
        # Commands cannot run there until somebody has looked at it.
        return [Seen(path=path, kind="repository", identity=git_parts.identity(git), state=TOO_MANY)]
    finally:
        os.close(git)
    try:
        return [
            Seen(
                path=f"{path}/{one.path}".rstrip("/"),
                kind="worktree" if one.is_worktree else "module" if one.path else "repository",
                identity=one.identity,
                state=_state(one.descriptor),
                protected=protected,
            )
            for one in found
        ]
    finally:
        git_parts.close_all(found)


def _pointer(path: str) -> list[Seen]:
    try:
        info = os.lstat(path)
    except OSError:
        return []  # it is gone
    identity = f"{info.st_dev}:{info.st_ino}"
    return [Seen(path=path, kind="pointer", identity=identity, state=_times(info))]


def _state(git: int) -> str:
    """Whoever changes one of these, or puts another one in its place, changes this."""
    told = [_part(git, name) for name in (*git_parts.DIRECTORIES, *git_parts.FILES)]
    try:
        hooks = open_directory(git, "hooks")
    except OSError:
        pass  # there are none, or they lie elsewhere
    else:
        try:
            names = os.listdir(hooks)
            told += [_part(hooks, name) for name in sorted(names)[:MOST_HOOKS]]
            # More than anybody has: what is there is not believed to be as it was.
            told += [str(time.time_ns())] if len(names) > MOST_HOOKS else []
        finally:
            os.close(hooks)
    return hashlib.sha256("\n".join(told).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _part(directory: int, name: str) -> str:
    try:
        return f"{name} {_times(os.stat(name, dir_fd=directory, follow_symlinks=False))}"
    except OSError:
        return name


def _times(info: os.stat_result) -> str:
    return f"{info.st_dev}:{info.st_ino}:{info.st_mode}:{info.st_size}:{info.st_ctime_ns}"


def _protected(one: Seen) -> Seen:
    return replace(one, protected=True)
