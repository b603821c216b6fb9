"""What bad input costs the server: memory that stays, and how long the event loop was blocked at once. Both
are measured so that a busy machine makes no difference: blocked means computing, not waiting for a
processor."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

# The limits of reliability.md; time is taken times four in the ordinary suites.
MEMORY_MIB = 32
HELD_SECONDS = 0.1 * 4


@dataclass
class Strain:
    held_seconds: float = 0.0
    memory_mib: float = 0.0


@asynccontextmanager
async def bounded(*, memory_mib: float = MEMORY_MIB) -> AsyncGenerator[Strain]:
    """What happens in the block, in this process, neither holds the loop nor takes memory."""
    strain = Strain()
    watching = asyncio.create_task(_watch(strain))
    await asyncio.sleep(0)
    try:
        yield strain
    finally:
        watching.cancel()
        await asyncio.wait({watching})
    assert strain.memory_mib <= memory_mib, f"took {strain.memory_mib:.0f} MiB"
    assert strain.held_seconds <= HELD_SECONDS, f"held the event loop for {strain.held_seconds:.2f} s"


async def _watch(strain: Strain) -> None:
    base = _resident_mib()
    while True:
        before = time.thread_time()
        await asyncio.sleep(0.002)
        strain.held_seconds = max(strain.held_seconds, time.thread_time() - before)
        strain.memory_mib = max(strain.memory_mib, _resident_mib() - base)


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_bytes().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
