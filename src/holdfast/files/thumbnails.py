"""Small pictures of pictures, made by a process that is given the file and nothing else."""

import asyncio
import sys
from contextlib import suppress
from pathlib import Path

from holdfast.core.errors import InvalidInput, TryAgain
from holdfast.files.picture import REFUSED

SECONDS = 20.0
# Each may take a gigabyte for a moment.
_AT_ONCE = 2


class Thumbnails:
    def __init__(self) -> None:
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def make(self, path: Path) -> bytes:
        """InvalidInput: the picture cannot be read, or is too large."""
        async with self._places:
            with path.open("rb") as content:
                process = await _start(content.fileno())
            try:
                async with asyncio.timeout(SECONDS):
                    small, reason = await process.communicate()
            except TimeoutError:
                raise InvalidInput("The picture takes too long to be read.", field="file") from None
            finally:
                await _stop(process)
        if process.returncode == 0:
            return small
        told = reason.decode("utf-8", "replace") if process.returncode == REFUSED else "it takes too much"
        raise InvalidInput(f"The picture cannot be used: {told[:200]}.", field="file")


async def _start(content: int) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-m",
            "holdfast.files.picture",
            stdin=content,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={},
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise TryAgain(f"The picture could not be looked at ({error.strerror}). Try again.") from error


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
