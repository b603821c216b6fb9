"""The stopwatch that every contender uses: a step lasts from one model call of a turn to the next, or to the
turn's end. Standard library only."""

import gc
import os
import resource
import sys
import time
from collections.abc import Awaitable
from pathlib import Path

from bench.task import Figures, Task


class Stopwatch:
    def __init__(self, task: Task) -> None:
        self._server_pid = task.server_pid
        self._since: dict[str, float] = {}
        self._lasted: list[float] = []

    def lap(self, name: str) -> None:
        """The chat or writer of this name has begun its next step, and with that ended the one before."""
        now = time.perf_counter()
        before = self._since.get(name)
        if before is not None:
            self._lasted.append(now - before)
        self._since[name] = now

    def end(self, name: str) -> None:
        """Its last step has ended."""
        self._lasted.append(time.perf_counter() - self._since.pop(name))

    async def time(self, work: Awaitable[object], count: int) -> Figures:
        """The work from now on, which is `count` steps; what was timed before is forgotten."""
        self._since.clear()
        self._lasted.clear()
        gc.collect()
        server = self._server_cpu_seconds()
        cpu, start = time.process_time(), time.perf_counter()
        await work
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
        server_now = self._server_cpu_seconds()
        if len(self._lasted) != count:
            raise RuntimeError(f"{count} steps were to be done, {len(self._lasted)} were seen")
        lasted = sorted(self._lasted)
        return Figures(
            count=count,
            seconds=seconds,
            cpu_seconds=cpu_seconds,
            p50_ms=lasted[len(lasted) // 2] * 1000,
            p99_ms=lasted[min(len(lasted) * 99 // 100, len(lasted) - 1)] * 1000,
            peak_mb=_peak_mb(),
            server_cpu_seconds=None if server is None or server_now is None else server_now - server,
        )

    def _server_cpu_seconds(self) -> float | None:
        return None if self._server_pid is None else family_cpu_seconds(self._server_pid)


def _peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


def family_cpu_seconds(parent: int) -> float:
    """Of a process and its children so far, those that are gone included."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # "pid (name) state parent ..."; the name may hold anything, so count from its closing bracket.
            fields = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended while we looked
        if int(path.parent.name) == parent:
            ticks += sum(int(field) for field in fields[11:15])  # its own and that of children it buried
        elif int(fields[1]) == parent:
            ticks += sum(int(field) for field in fields[11:13])
    return ticks / os.sysconf("SC_CLK_TCK")
