"""The sandbox's process: reads one start and then answers from its standard input, runs the script until it
waits for an answer, and writes what it asked for. It drops its access to the machine before it runs a script.
Uses the standard library and one engine, so that it starts quickly; it is not part of the server."""

import json
import math
import os
import resource
import sys
import time
from collections import deque
from contextlib import suppress
from typing import NamedTuple, Protocol, cast

from holdfast.scripts.engines.script_calls import Json, Message, ScriptCalls, line_of

MIB = 1024 * 1024
# The interpreter and the engine themselves.
OWN_MIB = 192
BUFFER_BYTES = 256 * 1024
CHUNK_BYTES = 64 * 1024
LATE_SECONDS = 0.05
# The server has priority, however much a script computes.
NICE = 5
TIME_SPENT = "the script computed for {:g} seconds without waiting for a call"
MEMORY_SPENT = "the script used more than {} MiB of memory"

Limits = dict[str, int | float]


class EngineWaiting(NamedTuple):
    pass


class EngineDone(NamedTuple):
    value: Json


class EngineFailed(NamedTuple):
    kind: str
    message: str
    line: int | None = None


State = EngineWaiting | EngineDone | EngineFailed


class Engine(Protocol):
    """One script. It runs until it waits, is done or has failed; then the next answer continues it."""

    def prepare(self, limits: Limits) -> None: ...

    def begin(self, start: Message, calls: ScriptCalls) -> State: ...

    def settle(self, number: int, value: Json, error: Message | None) -> State: ...

    def processes(self) -> list[int]:
        """The processes that CPU limits apply to."""
        ...


class LineReader:
    """Lines as they come."""

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque()
        self._begun: list[bytes] = []

    def next(self) -> bytes | None:
        """Waits for a line; None: there will be no more."""
        while not self._lines:
            chunk = os.read(0, CHUNK_BYTES)
            if not chunk:
                return None
            first, *others = chunk.split(b"\n")
            self._begun.append(first)
            for piece in others:
                self._lines.append(b"".join(self._begun))
                self._begun = [piece]
        return self._lines.popleft()

    @property
    def has_next(self) -> bool:
        return bool(self._lines)


class LineWriter:
    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._flushed_at = time.monotonic()

    def write(self, line: bytes) -> None:
        self._parts.append(line)
        self._size += len(line)
        if self._size > BUFFER_BYTES:
            self.flush()

    def flush(self) -> None:
        rest = memoryview(b"".join(self._parts))
        self._parts, self._size = [], 0
        while rest:
            rest = rest[os.write(1, rest) :]
        self._flushed_at = time.monotonic()

    @property
    def is_late(self) -> bool:
        """Whether somebody may have waited for long."""
        return time.monotonic() - self._flushed_at > LATE_SECONDS


def main() -> None:
    language = sys.argv[-1]
    os.environ["TZ"] = "UTC"
    time.tzset()
    os.nice(NICE)
    engine = _engine(language)
    lines = LineReader()
    first = lines.next()
    if first is None:
        return
    start: Message = json.loads(first)
    limits = cast(Limits, start["limits"])
    engine.prepare(limits)
    _give_up(limits, engine)
    output = LineWriter()
    calls = ScriptCalls(start, output.write)
    _allow(limits, engine)
    state = engine.begin(start, calls)
    while _report(state, calls, output):
        # Output in response to answers that came together is sent together.
        if not lines.has_next or output.is_late:
            output.flush()
        answer = lines.next()
        if answer is None:
            return
        state = _settle(json.loads(answer), calls, engine, limits)
    output.flush()
    # The server has received the end and kills us, with everything we started; without us it would not find
    # those.
    while lines.next() is not None:
        pass


def _engine(language: str) -> Engine:
    if language == "javascript":
        from holdfast.scripts.engines.javascript import JavaScript

        return JavaScript()
    from holdfast.scripts.engines.python import Python

    return Python(sys.argv[-2])


def _settle(answer: Message, calls: ScriptCalls, engine: Engine, limits: Limits) -> State:
    number, spent = cast(int, answer["call"]), cast(int, answer["spent"])
    error = cast(Message | None, answer.get("error"))
    try:
        calls.answered(number, spent, error)
    except ValueError as wrong:
        return EngineFailed("contradiction", f"the script did not make the call that is answered: {wrong}")
    _allow(limits, engine)
    return engine.settle(number, answer.get("value"), error)


def _report(state: State, calls: ScriptCalls, output: LineWriter) -> bool:
    calls.flush()
    if isinstance(state, EngineWaiting) and not calls.waits:
        state = EngineFailed("stuck", "the script waits for something that nothing will ever bring")
    match state:
        case EngineWaiting():
            output.write(line_of({"type": "waiting"}))
        case EngineDone(value):
            output.write(line_of({"type": "done", "value": value}))
        case EngineFailed(kind, message, line):
            output.write(line_of({"type": "failed", "kind": kind, "message": message[:4000], "line": line}))
    return isinstance(state, EngineWaiting)


def _give_up(limits: Limits, engine: Engine) -> None:
    """From here on no file can be opened or written and no socket created; memory has a limit that holds even
    where an engine's own accounting misses something."""
    memory = (int(limits["memory_mib"]) + OWN_MIB) * MIB
    bounds = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_DATA: memory,
        resource.RLIMIT_NOFILE: 0,
    }
    for pid in engine.processes():
        for what, most in bounds.items():
            _limit(pid, what, most, for_ever=True)


def _allow(limits: Limits, engine: Engine) -> None:
    """CPU time until the next answer, enforced by the kernel: for what an engine does not interrupt
    itself."""
    for pid in engine.processes():
        most = math.ceil(used_seconds(pid) + limits["cpu_seconds"]) + 1
        _limit(pid, resource.RLIMIT_CPU, most, for_ever=False)


def _limit(pid: int, what: int, most: int, *, for_ever: bool) -> None:
    own = pid == os.getpid()
    if not own and sys.platform != "linux":
        return
    with suppress(ProcessLookupError):  # it died: whoever asks it next hears of it
        _, had = resource.getrlimit(what) if own else resource.prlimit(pid, what)
        if had != resource.RLIM_INFINITY:
            most = min(most, had)
        bounds = (most, most if for_ever else had)
        if own:
            resource.setrlimit(what, bounds)
        else:
            resource.prlimit(pid, what, bounds)


def used_seconds(pid: int) -> float:
    """The CPU time; nothing for a process that is gone."""
    if pid == os.getpid():
        return time.process_time()
    if sys.platform != "linux":
        return 0.0
    try:
        # The kernel's clock id for another process. No file can be opened any more to find out otherwise.
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0


if __name__ == "__main__":
    main()
