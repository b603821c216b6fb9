"""Processes that a killed server left behind. They are recognised by a secret in their environment or by
their control group, both recorded before they started; nothing else is touched."""

import signal
import time
from collections.abc import Callable
from datetime import datetime

import structlog
from msgspec.structs import replace

from holdfast.workspaces.commands.cgroups import Cgroups
from holdfast.workspaces.commands.output_files import printed
from holdfast.workspaces.commands.process_records import ProcessEnd, ProcessEntry, Shelf
from holdfast.workspaces.commands.process_trees import Member, descendants, marked, send

log = structlog.get_logger(__name__)

PATIENCE_SECONDS = 5.0


def end_left_over(
    shelf: Shelf,
    cgroups: Cgroups | None,
    now: datetime,
    tame: Callable[[ProcessEntry], None] = lambda _: None,
) -> list[ProcessEntry]:
    """Once, before anything is started. Blocks until they are dead; returns the processes that were lost.
    `tame` examines what each of them left."""
    lost = shelf.unfinished()
    killed = end_marked({entry.mark for entry in lost}, PATIENCE_SECONDS)
    for group in cgroups.left_over() if cgroups is not None else ():
        if not group.end(PATIENCE_SECONDS):
            log.error("left-over processes cannot be killed", groups=group.directories)
    for entry in lost:
        tame(entry)
    finished = [_finished(shelf, entry, now) for entry in lost]
    if lost:
        log.warning("commands were lost with the server", commands=len(lost), processes_killed=killed)
    return finished


def _finished(shelf: Shelf, entry: ProcessEntry, now: datetime) -> ProcessEntry:
    end = ProcessEnd(how="lost", at=now, printed=printed(shelf.output(entry)))
    entry = replace(entry, repositories=(), end=end)
    shelf.finish(entry)
    return entry


def end_marked(marks: set[str], patience_seconds: float) -> int:
    """Kills processes with one of the marks, and all their descendants; returns how many there were."""
    killed: set[Member] = set()
    deadline = time.monotonic() + patience_seconds
    while marks and time.monotonic() < deadline:
        found = marked()
        family = {member for mark in marks for member in found.get(mark, ())}
        family |= {child for member in family for child in descendants(member.pid)}
        if not family:
            break
        for member in family:
            send(member, signal.SIGKILL)
        killed |= family
        time.sleep(0.01)
    return len(killed)
