"""The server's side of the evaluator process, which reads definitions and evaluates expressions of flows.
If the process dies, the text in question gets an error and the next request starts a new process.
Definitions are cached by their content."""

import asyncio
import hashlib
import sys
from collections import OrderedDict
from collections.abc import Sequence

import msgspec

from holdfast.core.errors import BadFlow, TryAgain
from holdfast.core.shapes import encode
from holdfast.core.subprocesses import drained, kill_group, start_process, to_the_end, write_to
from holdfast.flows.definition import Flow
from holdfast.flows.evaluator_messages import (
    Evaluate,
    Evaluated,
    EvaluatorBroke,
    FlowRead,
    FlowRefused,
    Question,
    ReadFlow,
    Reply,
    Value,
)
from holdfast.scripts.engines.wall import walled
from holdfast.scripts.reader import package_root

MOST_PROCESSES = 2
REMEMBERED = 256
# Longer than the process waits for one of its children.
ANSWER_SECONDS = 90.0
LINE_BYTES = 64 * 1024 * 1024

_BOOT = (
    "import sys; sys.path[:0] = sys.argv[1].split(':'); "
    "from holdfast.flows.evaluator_process import main; main()"
)
_PACKAGES = (
    "holdfast",
    "msgspec",
    "jsonschema_rs",
    "jinja2",
    "markupsafe",
    "yaml",
    "_yaml",
    "typing_extensions",
)
_decode = msgspec.json.Decoder(Reply).decode
_TOO_MUCH = {
    "time": "it takes more than a second to compute",
    "memory": "it needs more than 64 MiB of memory",
    "crashed": "the process that computed it broke down",
}


class FlowEvaluator:
    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(MOST_PROCESSES)
        self._idle: list[asyncio.subprocess.Process] = []
        self._command: asyncio.Task[Sequence[str]] | None = None
        self._known: OrderedDict[bytes, FlowRead | FlowRefused] = OrderedDict()
        self._closed = False

    async def read(self, text: str) -> Flow:
        """Raises BadFlow with line and column; TryAgain if no process can be started."""
        text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        found = self._known.get(key)
        if found is None:
            found = await self._read(text)
            self._known[key] = found
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        if isinstance(found, FlowRefused):
            raise BadFlow(found.sentence, found.line, found.column)
        return found.flow

    async def evaluate(self, wanted: Evaluate) -> tuple[Value, ...]:
        """One value per request. If the process dies over all of them together, they are evaluated one by
        one, so only the one at fault has no value."""
        match await self._ask(wanted):
            case Evaluated(values=values) if len(values) == len(wanted.asked):
                return values
            case EvaluatorBroke(reason=reason) if len(wanted.asked) == 1:
                text = next(iter(wanted.asked[0].texts), None)
                return (Value(error=_TOO_MUCH[reason], expression=None if text is None else text[:1000]),)
            case EvaluatorBroke():
                alone = [
                    await self.evaluate(msgspec.structs.replace(wanted, asked=(one,))) for one in wanted.asked
                ]
                return tuple(value for values in alone for value in values)
            case _:
                raise TryAgain("The expressions of a flow cannot be evaluated at present.")

    async def close(self) -> None:
        self._closed = True
        while self._idle:
            await _end(self._idle.pop())

    async def _read(self, text: str) -> FlowRead | FlowRefused:
        if any("\ud800" <= character <= "\udfff" or character == "\0" for character in text):
            return FlowRefused(sentence="the text is not UTF-8. Save the flow as UTF-8.", line=1, column=1)
        match await self._ask(ReadFlow(text=text)):
            case (FlowRead() | FlowRefused()) as reply:
                return reply
            case EvaluatorBroke(reason=reason):
                why = "it takes too long" if reason == "time" else "its reader broke down over it"
                return FlowRefused(sentence=f"the flow cannot be read: {why}.", line=1, column=1)
            case _:
                raise TryAgain("Flows cannot be read at present.")

    async def _ask(self, question: Question) -> Reply:
        async with self._slots:
            line = b""
            for fresh in (False, True):
                # An idle process may just have ended.
                process = self._idle.pop() if self._idle and not fresh else await self._start()
                try:
                    line = await _answered(process, encode(question) + b"\n")
                except BaseException:
                    await to_the_end(_end(process))
                    raise
                if line.endswith(b"\n"):
                    break
                await _end(process)
            else:
                raise TryAgain("The process that reads flows gave no answer.")
            if self._closed:
                await _end(process)
            else:
                self._idle.append(process)
            try:
                return _decode(line)
            except msgspec.MsgspecError:
                return EvaluatorBroke(reason="crashed")

    async def _start(self) -> asyncio.subprocess.Process:
        if self._command is None:
            self._command = asyncio.create_task(asyncio.to_thread(_command_line))
        try:
            return await start_process(
                await asyncio.shield(self._command), stderr=asyncio.subprocess.DEVNULL, limit=LINE_BYTES
            )
        except OSError as error:
            raise TryAgain(f"No process can be started to read flows ({error.strerror}).") from error


async def _answered(process: asyncio.subprocess.Process, question: bytes) -> bytes:
    """A line without a line end is not an answer."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            write_to(process, question)
            await process.stdin.drain()
            return await process.stdout.readline()
    except (TimeoutError, ConnectionError, ValueError):
        return b""


async def _end(process: asyncio.subprocess.Process) -> None:
    kill_group(process)
    await to_the_end(drained(process))


def _command_line() -> Sequence[str]:
    """Behind the wall, if this machine has one."""
    roots = list(dict.fromkeys(package_root(package) for package in _PACKAGES))
    return (*walled(roots), sys.executable, "-I", "-S", "-c", _BOOT, ":".join(roots))
