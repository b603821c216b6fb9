"""Which duties are being executed right now, in a small file that outlives the process. The next process can
see what the last one was doing when it died, whether by a fault, by the kernel, or by exiting.

A mark is set while code of a duty has the processor, not while the duty waits. So a server that somebody
kills has no mark on most of what it holds.
"""

import faulthandler
import fcntl
import mmap
import os
import threading
import uuid
from collections.abc import Callable, Coroutine, Generator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, TypeVar

from typing_extensions import override

T = TypeVar("T")

DutyKind = Literal["chat", "run", "flow_run"]
DIRECTORY = "executing"
# The trace of the newest fault, for people.
LAST_CRASH = "last-crash.txt"

_SLOT_BYTES = 64
# The first slot is the event loop's, the others are for threads. A thread that finds none is not marked.
_SLOTS = 64
_EMPTY = bytes(_SLOT_BYTES)


@dataclass(frozen=True, slots=True)
class Duty:
    kind: DutyKind
    id: str


@dataclass(frozen=True, slots=True)
class Death:
    """A process that ended without closing its marks. `trace` is that of the fault that ended it; None: it
    was killed, or exited."""

    duties: tuple[Duty, ...]
    trace: str | None


class CrashMarks:
    """The marks of this process. The file is locked as long as the process lives."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = directory / f"{os.getpid()}-{uuid.uuid4()}"
        self._file = self._path.open("x+b")
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self._file.truncate(_SLOT_BYTES * _SLOTS)
        self._map = mmap.mmap(self._file.fileno(), _SLOT_BYTES * _SLOTS)
        self._free = list(range(1, _SLOTS))
        self._lock = threading.Lock()
        self._faults: IO[bytes] | None = None

    def watch_faults(self) -> None:
        """From now on a fault leaves its trace. This applies to the whole process, so only a server that owns
        its process may do it."""
        self._faults = _faults_of(self._path).open("xb")
        faulthandler.enable(self._faults, all_threads=False)

    def close(self) -> None:
        """The process ends normally."""
        if self._faults is not None:
            faulthandler.disable()
            self._faults.close()
            _faults_of(self._path).unlink(missing_ok=True)
        self._map.close()
        self._file.close()
        self._path.unlink(missing_ok=True)

    @property
    def duties(self) -> tuple[Duty, ...]:
        """What is being executed now."""
        return _duties(self._map[:])

    # --- marking ---

    def executing(self, duty: Duty, work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """The same work, with each of its steps marked. What it starts with `marked` is marked too."""
        return _Stepped(work, _Executing(self, duty), first=True)

    def set_loop(self, slot: bytes) -> None:
        if not self._map.closed:
            self._map[:_SLOT_BYTES] = slot

    def take_slot(self, duty: bytes) -> int | None:
        with self._lock:
            if self._map.closed or not self._free:
                return None
            slot = self._free.pop()
        self._set(slot, duty)
        return slot

    def free_slot(self, slot: int) -> None:
        self._set(slot, _EMPTY)
        with self._lock:
            self._free.append(slot)

    def _set(self, slot: int, content: bytes) -> None:
        if not self._map.closed:
            self._map[slot * _SLOT_BYTES : (slot + 1) * _SLOT_BYTES] = content


class _Executing:
    """A duty with the marks that it is written to."""

    __slots__ = ("marks", "slot")

    def __init__(self, marks: CrashMarks, duty: Duty) -> None:
        self.marks = marks
        self.slot = f"{duty.kind}:{duty.id}".encode().ljust(_SLOT_BYTES, b"\0")


_current: ContextVar[_Executing | None] = ContextVar("executing", default=None)


def marked(work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
    """Work for a separate task, which belongs to the duty that starts it."""
    executing = _current.get()
    return work if executing is None else _Stepped(work, executing)


def marked_thread(function: Callable[..., T]) -> Callable[..., T]:
    """The same for a function that will run in a thread."""
    executing = _current.get()
    if executing is None:
        return function
    marks = executing.marks

    def run(*args: Any) -> T:
        slot = marks.take_slot(executing.slot)
        try:
            return function(*args)
        finally:
            if slot is not None:
                marks.free_slot(slot)

    return run


class _Stepped(Generator[Any, Any, T], Coroutine[Any, Any, T]):
    """Does what the work does, with a mark around each step. It is not a coroutine function, because a task
    that is cancelled before its first step would leave the work unawaited."""

    __slots__ = ("_executing", "_first", "_work")

    def __init__(self, work: Coroutine[Any, Any, T], executing: _Executing, *, first: bool = False) -> None:
        self._work = work
        self._executing = executing
        self._first = first

    @override
    def send(self, value: Any, /) -> Any:
        executing = self._executing
        if self._first:
            self._first = False
            _current.set(executing)
        executing.marks.set_loop(executing.slot)
        try:
            return self._work.send(value)
        finally:
            executing.marks.set_loop(_EMPTY)

    @override
    def throw(self, *error: Any) -> Any:
        executing = self._executing
        executing.marks.set_loop(executing.slot)
        try:
            return self._work.throw(*error)
        finally:
            executing.marks.set_loop(_EMPTY)

    @override
    def close(self) -> None:
        self._work.close()

    @override
    def __await__(self) -> Generator[Any, Any, T]:
        return self


# --- after a death ---


def deaths(directory: Path) -> tuple[Death, ...]:
    """From processes that left marks in this directory. Each is reported once."""
    found: list[Death] = []
    for path in sorted(directory.glob("*")) if directory.is_dir() else ():
        if path.suffix == ".fault" or (content := _abandoned(path)) is None:
            continue
        faults = _faults_of(path)
        trace = faults.read_text(errors="replace") if faults.exists() else ""
        faults.unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        found.append(Death(duties=_duties(content), trace=trace or None))
    return tuple(found)


def _abandoned(path: Path) -> bytes | None:
    """The content of the file, unless its process is alive."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        return file.read()


def _duties(content: bytes) -> tuple[Duty, ...]:
    slots = (content[at : at + _SLOT_BYTES].rstrip(b"\0") for at in range(0, len(content), _SLOT_BYTES))
    found = dict.fromkeys(slot.decode("ascii", "replace").partition(":") for slot in slots if slot)
    return tuple(
        Duty(kind=kind, id=duty_id) for kind, _, duty_id in found if kind in ("chat", "run", "flow_run")
    )


def _faults_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.fault")
