"""What a process says, as far as there is room for it."""

import asyncio
import os
import signal
from contextlib import suppress

DRAIN_BYTES = 64 * 1024


async def read_at_most(stream: asyncio.StreamReader, size: int) -> bytes:
    output = bytearray()
    while len(output) < size and (piece := await stream.read(size - len(output))):
        output += piece
    return bytes(output)


def kill_group(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


async def drained(process: asyncio.subprocess.Process) -> None:
    """Waits for a process that was killed. asyncio sees no end of one with a full pipe that nobody reads."""
    for pipe in (process.stdout, process.stderr):
        while pipe is not None and await pipe.read(DRAIN_BYTES):
            pass
    await process.wait()
