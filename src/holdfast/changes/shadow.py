"""What a workspace contained at its last scan, and what is different now. Only files whose time, size,
inode or mode changed are read. Nested repositories count as ordinary files; `.git`, ignored files and
contents over 5 MiB are not kept."""

import os
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import msgspec

from holdfast.changes.objects import Objects
from holdfast.core.changes import FileState
from holdfast.core.errors import WrongState
from holdfast.core.shapes import Record
from holdfast.workspaces.files.file_root import DIRECTORY, Root
from holdfast.workspaces.files.hidden import Identities, identity_of
from holdfast.workspaces.search.gitignore import Ignoring
from holdfast.workspaces.search.walk import rules_of

LARGEST_BYTES = 5 * 1024 * 1024
# Entries of one workspace, and new contents of one scan: an agent can make any number.
MOST_ENTRIES = 100_000
SCAN_BYTES = 512 * 1024 * 1024
_DEPTH = 200
_NAMED = 1000
# File systems count time in ticks: a file that changed within the last tick may change again unnoticed.
_TICK_NS = 20_000_000
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class SeenEntry(msgspec.Struct, frozen=True, array_like=True):
    """An entry as it was at the last scan."""

    mtime_ns: int
    ctime_ns: int
    size: int
    inode: int
    kind: str
    mode: int
    blob: str

    @property
    def state(self) -> FileState:
        return FileState(kind=self.kind, mode=self.mode, blob=self.blob)  # pyright: ignore[reportArgumentType]


class PathDifference(Record, frozen=True, kw_only=True):
    path: str
    before: FileState | None
    after: FileState | None


class WorkspaceLook(Record, frozen=True, kw_only=True):
    """What differs from the previous scan, by path, and what exists but is not kept."""

    differences: tuple[PathDifference, ...]
    skipped: tuple[str, ...]
    # Whether there was a previous scan; otherwise everything is only recorded.
    first: bool


@dataclass(slots=True)
class _Walk:
    """What a walk goes by, and what it has found."""

    before: dict[str, SeenEntry]
    found: dict[str, SeenEntry]
    skipped: list[str]
    hidden: Identities
    started: int
    # How much more may be kept.
    room: int

    def skip(self, path: str) -> None:
        if len(self.skipped) < _NAMED:
            self.skipped.append(path)

    def unreadable(self, prefix: str) -> None:
        """What cannot be looked at is not gone: it is taken to be as it was."""
        self.found.update({path: seen for path, seen in self.before.items() if path.startswith(prefix)})
        self.skip(prefix)


class Shadow:
    """The shadow of one workspace. Blocking, one caller at a time. What a scan found counts as seen only
    after `keep`; until then the next scan finds it again."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.objects = Objects(directory)
        self._manifest = directory / "manifest"
        self._seen: dict[str, SeenEntry] | None = self._load()
        self._found: dict[str, SeenEntry] | None = None

    def look(self, root: Root) -> WorkspaceLook:
        """WrongState: there is too much in it."""
        before = self._seen or {}
        self._found = None
        skipped: list[str] = []
        with root.open() as tree:
            walk = _Walk(before, {}, skipped, tree.hidden, time.time_ns(), SCAN_BYTES)
            self._walk(tree.root, "", Ignoring(), 0, walk)
        found = walk.found
        self._found = found
        if self._seen is None:
            return WorkspaceLook(differences=(), skipped=tuple(skipped), first=True)
        moved = [
            PathDifference(path=path, before=None if old is None else old.state, after=new.state)
            for path, new in found.items()
            if (old := before.get(path)) is not new and (old is None or old.state != new.state)
        ]
        gone = before.keys() - found.keys()
        moved += [PathDifference(path=path, before=before[path].state, after=None) for path in gone]
        moved.sort(key=lambda each: each.path)
        return WorkspaceLook(differences=tuple(moved), skipped=tuple(skipped), first=False)

    def keep(self) -> None:
        if self._found is None or self._found == self._seen:
            return
        self._seen = self._found
        temporary = self._manifest.with_suffix(".new")
        temporary.write_bytes(msgspec.msgpack.encode(self._seen))
        temporary.replace(self._manifest)

    def needed(self) -> set[str]:
        return {seen.blob for seen in (self._seen or {}).values() if seen.blob}

    def _load(self) -> dict[str, SeenEntry] | None:
        try:
            return msgspec.msgpack.decode(self._manifest.read_bytes(), type=dict[str, SeenEntry])
        except (OSError, msgspec.DecodeError):
            return None

    def _walk(self, directory: int, prefix: str, ignoring: Ignoring, depth: int, walk: "_Walk") -> None:
        """Takes most of the time of a step, so its usual case is short."""
        ignoring = ignoring.below(prefix.rstrip("/"), rules_of(directory))
        try:
            with os.scandir(directory) as entries:
                inside = list(islice(entries, MOST_ENTRIES + 1))
        except OSError:
            walk.unreadable(prefix)
            return
        before, found = walk.before, walk.found
        if len(inside) > MOST_ENTRIES or len(found) > MOST_ENTRIES:
            raise WrongState(
                f"The workspace has more than {MOST_ENTRIES} files that git would not ignore, so changes in "
                "it are not kept."
            )
        for entry in inside:
            path = prefix + entry.name
            try:
                info = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # deleted meanwhile
            old = before.get(path)
            if (
                old is not None
                and old.ctime_ns == info.st_ctime_ns
                and old.mtime_ns == info.st_mtime_ns
                and old.size == info.st_size
                and old.inode == info.st_ino
            ):
                # The usual case. A later .gitignore does not matter: the file was kept before.
                found[path] = old
                continue
            name, mode = entry.name, info.st_mode
            is_directory = stat.S_ISDIR(mode)
            if ignoring.ignores(path, name, directory=is_directory):
                if name != ".git":
                    walk.skip(path)
                continue
            if identity_of(info) in walk.hidden or not _is_kept(name):
                continue
            if is_directory:
                # As it was: the same object, which is compared and kept for nothing.
                if old is None or old.kind != "directory" or old.mode != stat.S_IMODE(mode):
                    old = SeenEntry(0, 0, 0, 0, "directory", stat.S_IMODE(mode), "")
                found[path] = old
                inner = _opened(name, directory) if depth < _DEPTH else None
                if inner is None:
                    walk.unreadable(f"{path}/")
                    continue
                try:
                    self._walk(inner, f"{path}/", ignoring, depth + 1, walk)
                finally:
                    os.close(inner)
                continue
            seen = self._read(name, directory, info, walk)
            if seen is not None:
                if seen.kind == "file" and not seen.blob:
                    walk.skip(path)
                found[path] = seen

    def _read(self, name: str, directory: int, info: os.stat_result, walk: _Walk) -> SeenEntry | None:
        """The entry; None if it is gone, unreadable, or neither file nor link."""
        try:
            if stat.S_ISLNK(info.st_mode):
                kind, blob = "link", self.objects.put(os.fsencode(os.readlink(name, dir_fd=directory)))
            elif stat.S_ISREG(info.st_mode):
                kind, blob = "file", self._content(name, directory, info, walk)
            else:
                return None
        except OSError:
            return None
        # A file that may still change within this tick is read again next time.
        fresh = max(info.st_mtime_ns, info.st_ctime_ns) > walk.started - _TICK_NS
        mtime = 0 if fresh else info.st_mtime_ns
        mode = 0 if kind == "link" else stat.S_IMODE(info.st_mode)
        return SeenEntry(mtime, info.st_ctime_ns, info.st_size, info.st_ino, kind, mode, blob)

    def _content(self, name: str, directory: int, info: os.stat_result, walk: _Walk) -> str:
        if info.st_size > min(LARGEST_BYTES, walk.room):
            return ""
        descriptor = os.open(name, _FILE, dir_fd=directory)
        try:
            # By its name it may be something else by now.
            if identity_of(os.fstat(descriptor)) != identity_of(info):
                return ""
            pieces: list[bytes] = []
            left = LARGEST_BYTES + 1
            while left > 0 and (piece := os.read(descriptor, min(left, 1 << 20))):
                pieces.append(piece)
                left -= len(piece)
        finally:
            os.close(descriptor)
        walk.room -= LARGEST_BYTES + 1 - left
        return self.objects.put(b"".join(pieces)) if left > 0 else ""


def _opened(name: str, directory: int) -> int | None:
    with suppress(OSError):
        return os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
    return None


def _is_kept(name: str) -> bool:
    """Whether the path is kept: not our own temporary files, and no names that are not UTF-8."""
    if name.startswith(".holdfast-") and name.endswith(".tmp"):
        return False
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
