"""Control groups for commands, version 2 or 1, wherever this process may create them. All groups of a server
are below one directory named after its data directory, so that the next server finds what was left over."""

import errno
import hashlib
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from holdfast.workspaces.commands.limits import MIB, CommandLimits, memory_mib

# The limits of a process tree. The CPU is only weighted: a busy command yields to the server.
NEEDED = frozenset({"pids", "memory"})
WEIGHED = "cpu"


@dataclass(frozen=True, kw_only=True)
class Hierarchy:
    """A mounted hierarchy and this process's group in it. Version 2 has all controllers in one."""

    version: int
    controllers: frozenset[str]
    mount: Path
    own: Path


def hierarchies(cgroup: str, mountinfo: str) -> list[Hierarchy]:
    """From the contents of /proc/self/cgroup and /proc/self/mountinfo."""
    mine = {names: path for _, names, path in (line.split(":", 2) for line in cgroup.splitlines())}
    found: list[Hierarchy] = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        root, mount = before.split()[3:5]
        kind, _, options = after.split(" ", 2)
        if kind == "cgroup2" and (path := mine.get("")) is not None:
            found.append(_hierarchy(2, frozenset(), mount, root, path))
        elif kind == "cgroup":
            for names, path in mine.items():
                controllers = frozenset(names.split(","))
                if names and controllers <= set(options.split(",")):
                    found.append(_hierarchy(1, controllers, mount, root, path))
    return found


def _hierarchy(version: int, controllers: frozenset[str], mount: str, root: str, path: str) -> Hierarchy:
    # In a container the mount shows a part of the tree; its root is the path of that part.
    inside = path.removeprefix(root) if root != "/" else path
    return Hierarchy(
        version=version,
        controllers=controllers,
        mount=Path(mount),
        own=Path(mount) / inside.lstrip("/"),
    )


class Cgroups:
    """Where groups are created: one directory for version 2, or one per controller for version 1."""

    def __init__(self, tops: dict[str, Path], version: int) -> None:
        self._tops = tops
        self.version = version

    @classmethod
    def find(cls, data: Path) -> "Cgroups | None":
        """None: groups with limits cannot be created here."""
        try:
            texts = [Path(f"/proc/self/{name}").read_text() for name in ("cgroup", "mountinfo")]
        except OSError:
            return None
        name = f"holdfast-{hashlib.sha256(os.fsencode(data.resolve())).hexdigest()[:12]}"
        found = hierarchies(*texts)
        for hierarchy in found:
            if hierarchy.version == 2 and (top := _top_of_two(hierarchy, name)) is not None:
                return cls({"": top}, 2)
        tops: dict[str, Path] = {}
        for hierarchy in found:
            wanted = hierarchy.controllers & (NEEDED | {WEIGHED})
            if hierarchy.version == 1 and wanted and _make(hierarchy.own / name):
                tops |= dict.fromkeys(wanted, hierarchy.own / name)
        if tops.keys() >= NEEDED:
            groups = cls(tops, 1)
            groups.hold_all()
            return groups
        for top in set(tops.values()):
            _remove(top)
        return None

    def make(self, name: str, limits: CommandLimits) -> "Group":
        """A group with limits in force; OSError if it cannot be created."""
        group = self._group(name)
        for directory in group.directories:
            Path(directory).mkdir(exist_ok=True)
        self._limit(name, limits.processes, limits.memory_mib * MIB)
        return group

    def left_over(self) -> list["Group"]:
        """All existing groups: at the start, those of a server that was killed."""
        names = {path.name for top in self._tops.values() for path in top.iterdir() if path.is_dir()}
        return [self._group(name) for name in sorted(names)]

    def close(self) -> None:
        for top in set(self._tops.values()):
            _remove(top)

    def _group(self, name: str) -> "Group":
        return Group(tuple(str(top / name) for top in dict.fromkeys(self._tops.values())))

    def hold_all(self) -> None:
        """All commands together: three quarters of the memory, and half of the usual share of a contended
        CPU."""
        memory = memory_mib() * MIB // 4 * 3
        if self.version == 2:
            _write(self._tops[""] / "memory.max", memory)
            with suppress(OSError):
                _write(self._tops[""] / "cpu.weight", 50)
        else:
            _write(self._tops["memory"] / "memory.limit_in_bytes", memory)
            if WEIGHED in self._tops:
                _write(self._tops[WEIGHED] / "cpu.shares", 512)

    def _limit(self, name: str, processes: int, memory: int) -> None:
        if self.version == 2:
            directory = self._tops[""] / name
            _write(directory / "pids.max", processes)
            _write(directory / "memory.max", memory)
            with suppress(OSError):  # only where swap is counted
                _write(directory / "memory.swap.max", 0)
        else:
            _write(self._tops["pids"] / name / "pids.max", processes)
            _write(self._tops["memory"] / name / "memory.limit_in_bytes", memory)
            with suppress(OSError):
                _write(self._tops["memory"] / name / "memory.memsw.limit_in_bytes", memory)


@dataclass(frozen=True)
class Group:
    directories: tuple[str, ...]

    def pids(self) -> set[int]:
        found: set[int] = set()
        for directory in self.directories:
            with suppress(OSError):
                found.update(map(int, Path(directory, "cgroup.procs").read_text().split()))
        return found

    def out_of_memory(self) -> bool:
        """Whether the kernel killed something in it because memory ran out."""
        for directory in self.directories:
            for name in ("memory.events", "memory.oom_control"):
                with suppress(OSError):
                    counts = dict(line.split() for line in Path(directory, name).read_text().splitlines())
                    if counts.get("oom_kill", "0") != "0":
                        return True
        return False

    def kill(self) -> None:
        """Once; processes forked meanwhile are found by the next call."""
        for directory in self.directories:
            with suppress(OSError):
                _write(Path(directory) / "cgroup.kill", 1)
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def end(self, patience_seconds: float) -> bool:
        """Kills until nothing is left, and removes the group. False: something cannot be killed."""
        deadline = time.monotonic() + patience_seconds
        while True:
            self.kill()
            if not [directory for directory in self.directories if not _remove(Path(directory))]:
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)


def _top_of_two(hierarchy: Hierarchy, name: str) -> Path | None:
    """A group with processes cannot have limited children, so the place is an ancestor of our own group: the
    nearest one that we may change."""
    for parent in _upwards(hierarchy):
        top = parent / name
        if not _offers(parent) or not _make(top):
            continue
        groups = Cgroups({"": top}, 2)
        if _offers(top):
            with suppress(OSError):
                groups.hold_all()
                return top
        _remove(top)
    return None


def _upwards(hierarchy: Hierarchy) -> Iterator[Path]:
    yield hierarchy.own
    for parent in hierarchy.own.parents:
        if not parent.is_relative_to(hierarchy.mount):
            return
        yield parent


def _offers(directory: Path) -> bool:
    """Whether children of this group can be limited, after asking for it."""
    control = directory / "cgroup.subtree_control"
    for controller in (*sorted(NEEDED), WEIGHED):
        with suppress(OSError):
            _write(control, f"+{controller}")
    try:
        return set(control.read_text().split()) >= NEEDED
    except OSError:
        return False


def _make(directory: Path) -> bool:
    try:
        directory.mkdir(exist_ok=True)
    except OSError:
        return False
    return os.access(directory / "cgroup.procs", os.W_OK)


def _remove(directory: Path) -> bool:
    try:
        directory.rmdir()
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno not in (errno.EBUSY, errno.ENOTEMPTY):
            raise
        return False
    return True


def _write(path: Path, value: int | str) -> None:
    path.write_text(str(value))
