"""Running the command of a hook: behind the wall, with its input on standard input, bounded in time, output
and processes. Whatever it does is an end, never an error of the turn."""

import asyncio
import os
from contextlib import suppress

from msgspec.structs import replace

from holdfast.core.errors import CannotRun
from holdfast.core.shapes import Json, encode
from holdfast.core.subprocesses import DRAIN_BYTES
from holdfast.tools.hooks.decisions import HookEnd
from holdfast.tools.hooks.definitions import Hook
from holdfast.workspaces.commands.mounts import CommandPlace
from holdfast.workspaces.commands.piped_programs import PipedOrder, PipedProgram, PipedPrograms

MOST_OUTPUT = 1024 * 1024
AT_ONCE = 8
SHELL = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"
# Its input comes through a pipe: what is given to it directly is a socket, which many programs cannot open.
_THROUGH_A_PIPE = 'cat | "$0" -c "$1"'


class HookPrograms:
    def __init__(self, programs: PipedPrograms) -> None:
        self._programs = programs
        self._slots = asyncio.Semaphore(AT_ONCE)

    @property
    def stands(self) -> bool:
        """Whether there is a wall. Without one no command of a hook runs."""
        return self._programs.stands

    def close(self) -> None:
        self._programs.close()

    async def run(
        self,
        hook: Hook,
        given: dict[str, Json],
        place: CommandPlace | None,
        *,
        home: str,
        read_only: bool = False,
    ) -> HookEnd:
        """`home` names the directories that its programs keep."""
        root = "" if place is None else str(place.root)
        order = PipedOrder(
            home=home,
            command=("/bin/sh", "-c", _THROUGH_A_PIPE, SHELL, hook.command),
            environment={"CLAUDE_PROJECT_DIR": root} if root else {},
            network="none" if read_only else self._programs.network,
            place=place if place is None or not read_only else replace(place, read_only=True),
        )
        async with self._slots:
            try:
                program = await self._programs.start(order)
            except CannotRun as error:
                return HookEnd(trouble=f"It could not be run: {error.text}")
            try:
                async with asyncio.timeout(hook.timeout_seconds):
                    return await _talked(program, encode(given))
            except TimeoutError:
                return HookEnd(
                    trouble=f"It did not end within {hook.timeout_seconds:g} s.",
                    errors=program.errors,
                    timed_out=True,
                )
            finally:
                await program.close()


async def _talked(program: PipedProgram, given: bytes) -> HookEnd:
    telling = asyncio.create_task(_tell(program, given))
    try:
        output = bytearray()
        while piece := await program.output.read(DRAIN_BYTES):
            output += piece
            if len(output) > MOST_OUTPUT:
                return HookEnd(
                    trouble=f"It printed more than {MOST_OUTPUT // 2**20} MiB.", errors=program.errors
                )
        code = await program.ended()
    finally:
        telling.cancel()
        with suppress(asyncio.CancelledError):
            await telling
    return HookEnd(exit_code=code, output=output.decode("utf-8", "replace"), errors=program.errors)


async def _tell(program: PipedProgram, given: bytes) -> None:
    # It need not read what it is told.
    with suppress(OSError):
        program.input.write(given)
        await program.input.drain()
        program.input.write_eof()
