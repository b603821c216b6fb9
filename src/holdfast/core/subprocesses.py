"""Child processes on the event loop: started completely or not at all, and ended together with their process
group."""

import asyncio
import os
import signal
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress

DRAIN_BYTES = 64 * 1024


async def start_process(
    argv: Sequence[str],
    *,
    stdin: int = asyncio.subprocess.PIPE,
    stderr: int = asyncio.subprocess.PIPE,
    env: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
    limit: int = DRAIN_BYTES,
) -> asyncio.subprocess.Process:
    """The process runs in `/`, in its own process group, with an empty environment unless one is given.

    asyncio may wait forever if it is cancelled while it starts a process. So a caller that is cancelled
    meanwhile waits for the start to finish, and leaves no process behind.
    """
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *argv,
            stdin=stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            env=env or {},
            cwd="/",
            pass_fds=pass_fds,
            start_new_session=True,
            limit=limit,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await to_the_end(_end_started(starting))
        raise


async def _end_started(starting: asyncio.Future[asyncio.subprocess.Process]) -> None:
    with suppress(OSError):
        process = await starting
        kill_group(process)
        await drained(process)


async def to_the_end(work: Coroutine[object, object, object]) -> None:
    """Waits for work that must not be left half done, however often the caller is cancelled meanwhile. The
    cancellation is swallowed here; the caller must raise its own."""
    task = asyncio.ensure_future(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)
    await task


async def read_at_most(stream: asyncio.StreamReader, size: int) -> bytes:
    output = bytearray()
    while len(output) < size and (piece := await stream.read(size - len(output))):
        output += piece
    return bytes(output)


def kill_group(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


async def drained(process: asyncio.subprocess.Process) -> None:
    """Waits for a killed process. asyncio never reports its end if it has a full pipe that nobody reads."""
    if process.stdin is not None:
        process.stdin.close()
    for pipe in (process.stdout, process.stderr):
        while pipe is not None and await pipe.read(DRAIN_BYTES):
            pass
    await process.wait()


def write_to(process: asyncio.subprocess.Process, data: bytes) -> None:
    """Writes to the standard input. Raises ConnectionError if the process has closed it or has ended. On
    every event loop: uvloop's own error for a pipe that it found closed is RuntimeError."""
    assert process.stdin is not None
    if process.stdin.is_closing():
        raise BrokenPipeError("the process has ended")
    process.stdin.write(data)
