"""No duty may crash the server again and again. What was being executed when a process died is counted at the
next start; a duty that was involved too often is set aside with an error that says so."""

import asyncio
from collections.abc import Coroutine
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import structlog

from holdfast.core.clock import Clock
from holdfast.core.ids import is_uuid7
from holdfast.store import crashes
from holdfast.store.interface import Store
from holdfast.telemetry.crash_marks import DIRECTORY, LAST_CRASH, CrashMarks, Death, Duty, deaths

T = TypeVar("T")

log = structlog.get_logger(__name__)

SET_ASIDE = (
    "Set aside: the server died repeatedly while it worked on this {0}. It is not retried "
    "automatically. The server's log and last-crash.txt in its data directory say more."
)


class Crashes:
    def __init__(self, store: Store, marks: CrashMarks) -> None:
        self._store = store
        self._marks = marks
        self._condemned: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    async def open(cls, store: Store, data: Path, clock: Clock) -> "Crashes":
        """Counts the deaths that are found, and marks what this process executes from now on."""
        directory = data / DIRECTORY
        for death in await asyncio.to_thread(deaths, directory):
            await _count(store, death, clock.now())
            if death.trace is not None:
                await asyncio.to_thread(_keep, data / LAST_CRASH, death.trace)
        opened = cls(store, await asyncio.to_thread(CrashMarks, directory))
        await opened.look()
        return opened

    def watch_faults(self) -> None:
        self._marks.watch_faults()

    async def close(self) -> None:
        self._marks.close()

    async def look(self) -> None:
        """Other processes may have found more."""
        self._condemned = frozenset(await self._store.read(crashes.condemned()))

    def executing(self, duty: Duty, work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        return self._marks.executing(duty, work)

    def verdict(self, duty: Duty) -> str | None:
        """Why it is not worked on; None: it may be."""
        return SET_ASIDE.format(duty.kind) if (duty.kind, duty.id) in self._condemned else None

    async def forget(self, duty: Duty) -> None:
        """It was set aside; restarting it is then a person's decision."""
        log.error("set aside", duty=duty.kind, id=duty.id, reason="the server died repeatedly of it")
        self._condemned -= {(duty.kind, duty.id)}
        await self._store.write(crashes.forget(duty.kind, duty.id))


async def _count(store: Store, death: Death, found_at: datetime) -> None:
    how = "a fault" if death.trace is not None else "a kill"
    for duty in death.duties:
        if not is_uuid7(duty.id):
            continue
        log.warning("the server died while it worked", duty=duty.kind, id=duty.id, of=how)
        await store.write(crashes.count(duty.kind, duty.id, found_at, fault=death.trace is not None))


def _keep(path: Path, trace: str) -> None:
    path.write_text(trace)
    path.chmod(0o600)
