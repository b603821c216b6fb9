"""Reads scripts in a separate process, with limits, because a parser is a program that a text can break.
Whatever a text does there is an error of that text: the process is replaced, and the server gets a BadScript.
Results are cached by content. Blocks: call it in a thread."""

import hashlib
import math
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec

import msgspec

from holdfast.core.errors import BadScript, TryAgain
from holdfast.core.runs import Language
from holdfast.core.shapes import encode
from holdfast.scripts.engines.wall import walled
from holdfast.scripts.reader_process import MEMORY_MIB, ReadRequest, Reply, ScriptRead, ScriptRefused
from holdfast.scripts.source import MAX_BYTES, Script, plain_text

READ_SECONDS = 60.0
# Processes at once: further readers wait.
MOST_PROCESSES = 2
REMEMBERED_BYTES = 16 * 1024 * 1024
# What broke the process may have been the machine: it is tried again after this long.
BROKEN_SECONDS = 30.0
# A program with all its characters escaped, and what is around it.
MAX_REPLY_BYTES = 16 * MAX_BYTES
CHUNK_BYTES = 1 << 16

_BOOT = (
    "import sys; sys.path[:0] = sys.argv[1].split(':'); "
    "from holdfast.scripts.reader_process import main; main()"
)
_PACKAGES = ("holdfast", "msgspec", "jsonschema_rs", "tree_sitter", "tree_sitter_javascript", "_quickjs")
_decode = msgspec.json.Decoder(Reply).decode


class Broken(Exception):
    """The process gave no answer."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class ScriptReader:
    """`command` stands in for the process in a test."""

    def __init__(self, command: Callable[[], Sequence[str]] | None = None) -> None:
        self._command = command or _command
        self._known_command: Sequence[str] | None = None
        self._free: list[_Process] = []
        self._slots = threading.BoundedSemaphore(MOST_PROCESSES)
        self._lock = threading.Lock()
        self._closed = False
        self._memory = _Memory()

    def read(self, source: str | bytes, language: Language) -> Script:
        """Raises BadScript; TryAgain if no process can be started."""
        text = plain_text(source)
        key = hashlib.sha256(f"{language}\n{text}".encode()).digest()
        with self._lock:
            known = self._memory.get(key)
        if known is None:
            known = self._ask(ReadRequest(language=language, text=text))
            with self._lock:
                self._memory.put(key, known, 2 * len(text) + 1000)
        if isinstance(known, ScriptRead):
            return Script(
                language=language,
                text=text,
                meta=known.meta,
                program=known.program,
                warnings=known.warnings,
            )
        raise BadScript(known.text, known.line)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._free = self._free, []
        for process in idle:
            process.close()

    def _ask(self, question: ReadRequest) -> Reply:
        with self._slots:
            for process in (self._taken(), None):
                # A waiting process may have just ended, or be damaged by what it read before: a fresh
                # process, which has read nothing else, tells whether the text is at fault.
                fresh = process is None
                process = process or self._start()
                try:
                    reply = process.ask(question)
                except Broken as broken:
                    process.close()
                    if fresh:
                        return ScriptRefused(text=broken.sentence, line=None, passing=True)
                    continue
                except BaseException:
                    process.close()
                    raise
                self._give_back(process)
                return reply
        raise AssertionError("unreachable: a fresh process answers or breaks")

    @property
    def idle(self) -> "list[_Process]":
        with self._lock:
            return list(self._free)

    def _taken(self) -> "_Process | None":
        with self._lock:
            return self._free.pop() if self._free else None

    def _give_back(self, process: "_Process") -> None:
        with self._lock:
            if not self._closed:
                self._free.append(process)
                return
        process.close()

    def _start(self) -> "_Process":
        try:
            if self._known_command is None:
                self._known_command = tuple(self._command())
            return _Process(self._known_command)
        except OSError as error:
            why = error.strerror or "unknown"
            raise TryAgain(f"No process can be started to read the script ({why}).") from error


class _Process:
    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
            bufsize=0,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        # A process that reads nothing must not hold us.
        os.set_blocking(self._input.fileno(), False)

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, question: ReadRequest) -> Reply:
        until = time.monotonic() + READ_SECONDS
        try:
            self._send(encode(question) + b"\n", until)
            line = self._line(until)
        except (BrokenPipeError, ConnectionError):
            line = b""
        if not line:
            raise Broken(self._why())
        try:
            return _decode(line)
        except msgspec.MsgspecError:
            raise Broken("The script cannot be read: its reader gave no sensible answer.") from None

    def _send(self, line: bytes, until: float) -> None:
        rest = memoryview(line)
        while rest:
            _wait(until, writes=self._input.fileno())
            with suppress(BlockingIOError):
                rest = rest[os.write(self._input.fileno(), rest) :]

    def _line(self, until: float) -> bytes:
        """Nothing: it ended."""
        pieces: list[bytes] = []
        size = 0
        while True:
            _wait(until, reads=self._output.fileno())
            piece = os.read(self._output.fileno(), CHUNK_BYTES)
            if not piece:
                return b""
            pieces.append(piece)
            size += len(piece)
            if size > MAX_REPLY_BYTES:
                raise Broken("The script cannot be read: what its reader says of it is too long.")
            if piece.endswith(b"\n"):
                return b"".join(pieces)

    def _why(self) -> str:
        self._kill()
        code = self._process.wait()
        # A wall tells the signal in its own exit code.
        number = -code if code < 0 else code - 128
        if number == signal.SIGXCPU:
            return "The script takes too long to be read."
        if number == signal.SIGKILL:
            return f"The script needs more than {MEMORY_MIB} MiB of memory to be read."
        name = signal.Signals(number).name if number in signal.valid_signals() else f"exit {code}"
        return f"The script breaks the parser ({name}): it cannot be read. The server is not affected."

    def _kill(self) -> None:
        if self._process.returncode is None and self._process.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        self._kill()
        self._process.wait()
        self._input.close()
        self._output.close()


class _Memory:
    """What was read last, up to a number of bytes."""

    def __init__(self) -> None:
        self._replies: OrderedDict[bytes, tuple[Reply, int, float]] = OrderedDict()
        self._size = 0

    def get(self, key: bytes) -> Reply | None:
        if (found := self._replies.get(key)) is None:
            return None
        reply, size, until = found
        if until < time.monotonic():
            del self._replies[key]
            self._size -= size
            return None
        self._replies.move_to_end(key)
        return reply

    def put(self, key: bytes, reply: Reply, size: int) -> None:
        passing = isinstance(reply, ScriptRefused) and reply.passing
        if key not in self._replies:
            self._replies[key] = reply, size, time.monotonic() + BROKEN_SECONDS if passing else math.inf
            self._size += size
        while self._size > REMEMBERED_BYTES:
            _, (_, gone, _) = self._replies.popitem(last=False)
            self._size -= gone


def _wait(until: float, *, reads: int | None = None, writes: int | None = None) -> None:
    poll = select.poll()
    if reads is not None:
        poll.register(reads, select.POLLIN)
    if writes is not None:
        poll.register(writes, select.POLLOUT)
    if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
        raise Broken(f"The script cannot be read within {READ_SECONDS:g} seconds.")


def _command() -> list[str]:
    """Behind the wall, where there is one."""
    roots = list(dict.fromkeys(package_root(package) for package in _PACKAGES))
    own = [sys.executable, "-I", "-S", "-c", _BOOT, ":".join(roots)]
    return [*walled(roots), *own]


def package_root(package: str) -> str:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{package} is not installed")
    directory = os.path.dirname(os.path.abspath(spec.origin))
    return os.path.dirname(directory) if spec.submodule_search_locations else directory
