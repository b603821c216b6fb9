"""A script in a separate process, as the server sees it: start it, give it one answer after the other, and
get what it sends until it waits again. The same answers in the same order always give the same turns. However
it ends, the process and everything it started are killed."""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from holdfast.core.runs import Language
from holdfast.core.shapes import encode
from holdfast.core.subprocesses import drained, kill_group, start_process, to_the_end, write_to
from holdfast.scripts.engines.limits import ScriptLimits
from holdfast.scripts.engines.messages import (
    CallAnswer,
    FailureKind,
    Said,
    ScriptDone,
    ScriptFailed,
    ScriptStart,
    ScriptTurn,
    ScriptWaiting,
    decode,
)
from holdfast.scripts.engines.python_image import image

ENGINES: dict[Language, str] = {"javascript": "_quickjs", "python": "wasmtime"}
# Isolated from the environment, and without a look at what else is installed: it starts in half the time.
_BOOT = (
    "import sys; sys.path[:0] = sys.argv[1].split(':'); "
    "from holdfast.scripts.engines.inside import main; main()"
)


def command_line(language: Language, kept_in: Path | None = None) -> list[str]:
    roots = ":".join(_roots(language))
    return [sys.executable, "-I", "-S", "-c", _BOOT, roots, _image(language, kept_in), language]


def interpreter_paths() -> tuple[str, ...]:
    return tuple(sorted({sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.realpath(sys.executable)}))


def needed_paths(language: Language, kept_in: Path | None = None) -> tuple[str, ...]:
    """What a wall must let a sandbox read: the interpreter, its library, this package and the engine."""
    image = _image(language, kept_in)
    return tuple(sorted({*interpreter_paths(), *_roots(language), *([image] if image else [])}))


def _roots(language: Language) -> tuple[str, str]:
    spec = find_spec(ENGINES[language])
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{ENGINES[language]} is not installed")
    directory = os.path.dirname(spec.origin)
    return _package_root(), os.path.dirname(directory) if spec.submodule_search_locations else directory


def _package_root() -> str:
    return os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))


def _image(language: Language, kept_in: Path | None) -> str:
    return str(image(kept_in)) if language == "python" else ""


class Sandbox:
    """Opened ahead of time, it waits for its start with the engine already loaded."""

    def __init__(self, language: Language, process: asyncio.subprocess.Process) -> None:
        self.language: Language = language
        self._process = process
        self._limits = ScriptLimits()
        self._killed = False

    @classmethod
    async def open(cls, language: Language, wall: Sequence[str] = (), kept_in: Path | None = None) -> Self:
        """`wall`: a command that runs the command after it, walled in. `kept_in`: see `python_image`."""
        own = await asyncio.to_thread(command_line, language, kept_in)
        process = await start_process([*wall, *own], limit=ScriptLimits().line_bytes)
        return cls(language, process)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    async def start(self, start: ScriptStart) -> ScriptTurn:
        self._limits = start.limits
        self._send(start)
        return await self._turn()

    async def answer(self, answer: CallAnswer) -> ScriptTurn:
        self._send(answer)
        return await self._turn()

    async def answer_all(self, answers: Sequence[CallAnswer]) -> list[ScriptTurn]:
        """Like one by one, without waiting in between: for answers that are known in advance. Returns fewer
        turns than answers if the script ended."""
        self._send(*answers)
        turns: list[ScriptTurn] = []
        while len(turns) < len(answers) and (not turns or isinstance(turns[-1].stop, ScriptWaiting)):
            turns.append(await self._turn())
        return turns

    async def close(self) -> None:
        self._kill()
        await to_the_end(drained(self._process))

    def _kill(self) -> None:
        """The whole group, even if its leader has died, to end what it left behind. Once, because later the
        id may belong to somebody else."""
        if not self._killed:
            self._killed = True
            kill_group(self._process)

    def _send(self, *messages: ScriptStart | CallAnswer) -> None:
        # A sandbox that died is noticed when its turn is read.
        with suppress(ConnectionError):
            write_to(self._process, b"".join([encode(message) + b"\n" for message in messages]))

    async def _turn(self) -> ScriptTurn:
        said: list[Said] = []
        try:
            async with asyncio.timeout(self._limits.turn_seconds):
                stop = await self._hear(said)
        except TimeoutError:
            stop = _failed("time", f"the script did not answer for {self._limits.turn_seconds:g} seconds")
        if not isinstance(stop, ScriptWaiting):
            self._kill()
        return ScriptTurn(said=tuple(said), stop=stop)

    async def _hear(self, said: list[Said]) -> ScriptWaiting | ScriptDone | ScriptFailed:
        assert self._process.stdout
        left = self._limits.turn_bytes
        while True:
            try:
                line = await self._process.stdout.readline()
            except ValueError:
                return _failed("output", "the script sent a message that is too long")
            left -= len(line)
            if left < 0:
                return _failed(
                    "output", "the script asked for too much at once; let it wait for some of its calls"
                )
            if not line.endswith(b"\n"):
                return await self._died()
            try:
                heard = decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                return _failed("broken", "the sandbox sent a message that cannot be read")
            if isinstance(heard, ScriptWaiting | ScriptDone | ScriptFailed):
                return heard
            said.append(heard)

    async def _died(self) -> ScriptFailed:
        assert self._process.stderr
        self._kill()
        last = (await self._process.stderr.read(1 << 16))[-4096:]
        code = await self._process.wait()
        # A wall tells the signal in its own exit code.
        number = -code if code < 0 else code - 128
        if number == signal.SIGXCPU:
            return _failed("time", f"the script computed for more than {self._limits.cpu_seconds:g} seconds")
        if b"MemoryError" in last or number == signal.SIGKILL:
            return _failed("memory", f"the script used more than {self._limits.memory_mib} MiB of memory")
        return _failed("crashed", "the sandbox broke down while it ran the script")


def _failed(kind: FailureKind, message: str) -> ScriptFailed:
    return ScriptFailed(kind=kind, message=message)
