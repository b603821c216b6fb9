"""Processes of this machine as /proc shows them. A process is identified by its id together with its start
time: ids are reused, and nobody else's process may be hit."""

import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from holdfast.workspaces.commands.wall import MARK


@dataclass(frozen=True)
class Member:
    pid: int
    # In ticks since the machine was started.
    began: int


@dataclass(frozen=True)
class _Stat:
    member: Member
    parent: int
    dead: bool


def descendants(pid: int) -> list[Member]:
    """Parents before their children."""
    stats = _all()
    children: dict[int, list[_Stat]] = {}
    for found in stats:
        children.setdefault(found.parent, []).append(found)
    family = list(children.get(pid, ()))
    for known in family:
        family += children.get(known.member.pid, ())
    return [known.member for known in family if not known.dead]


def marked() -> dict[str, list[Member]]:
    """Processes by the mark in their initial environment."""
    beginning = f"{MARK}=".encode()
    found: dict[str, list[Member]] = {}
    for stat in _all():
        with suppress(OSError):
            for variable in Path(f"/proc/{stat.member.pid}/environ").read_bytes().split(b"\0"):
                if not stat.dead and variable.startswith(beginning):
                    mark = variable.removeprefix(beginning).decode("utf-8", "replace")
                    found.setdefault(mark, []).append(stat.member)
    return found


def send(member: Member, number: signal.Signals) -> bool:
    """False: it has ended, or we may not signal it."""
    try:
        handle = os.pidfd_open(member.pid)
    except OSError:
        return False
    try:
        # The handle always refers to the same process; whether that is the right one can be checked now.
        found = _stat(member.pid)
        if found is None or found.member != member or found.dead:
            return False
        signal.pidfd_send_signal(handle, number)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _all() -> list[_Stat]:
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    return [found for name in names if name.isdigit() and (found := _stat(int(name))) is not None]


def _stat(pid: int) -> _Stat | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    fields = text.rpartition(b")")[2].split()
    return _Stat(Member(pid, int(fields[19])), int(fields[1]), fields[0] in (b"Z", b"X"))
