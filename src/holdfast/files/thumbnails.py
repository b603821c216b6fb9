"""Thumbnails of pictures, made by a process that is given the file and nothing else."""

import asyncio
import sys
from pathlib import Path
from typing import Protocol

from holdfast.core.errors import InvalidInput, TryAgain
from holdfast.core.subprocesses import drained, kill_group, start_process, to_the_end
from holdfast.files.picture import REFUSED

SECONDS = 20.0
# Each may take a gigabyte for a moment.
_AT_ONCE = 2
_PROGRAM = (sys.executable, "-I", "-m", "holdfast.files.picture")


class Behind(Protocol):
    """Runs a program on one file behind the operating system's wall: its exit status, its output, its errors.
    TryAgain: it did not end in time, or could not be started."""

    async def __call__(
        self, argv: tuple[str, ...], file: Path, seconds: float
    ) -> tuple[int, bytes, bytes]: ...


class Thumbnails:
    """Without a wall (`behind` None) the process is still limited in memory and time."""

    def __init__(self, behind: Behind | None = None) -> None:
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._run = behind or run_on_file

    async def make(self, path: Path) -> bytes:
        """InvalidInput: the picture cannot be read, or is too large."""
        async with self._places:
            code, small, reason = await self._run(_PROGRAM, path, SECONDS)
        if code == 0:
            return small
        told = reason.decode("utf-8", "replace") if code == REFUSED else "it needs too much memory or time"
        raise InvalidInput(f"The picture cannot be used: {told[:200]}.", field="file")


async def run_on_file(argv: tuple[str, ...], file: Path, seconds: float) -> tuple[int, bytes, bytes]:
    """Without a wall: the program gets the file on standard input."""
    with file.open("rb") as content:
        process = await _start(argv, content.fileno())
    try:
        async with asyncio.timeout(seconds):
            small, reason = await process.communicate()
    except TimeoutError:
        raise InvalidInput("The file takes too long to be read.", field="file") from None
    finally:
        if process.returncode is None:
            kill_group(process)
        await to_the_end(drained(process))
    assert process.returncode is not None
    return process.returncode, small, reason


async def _start(argv: tuple[str, ...], content: int) -> asyncio.subprocess.Process:
    try:
        return await start_process(argv, stdin=content)
    except OSError as error:
        raise TryAgain(f"The file could not be looked at ({error.strerror}). Try again.") from error
