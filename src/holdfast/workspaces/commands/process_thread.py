"""One thread that starts processes, moves their output into files, and waits for their end. It lives as long
as the server: the kernel ends a walled command when the thread that started it is gone."""

import asyncio
import fcntl
import os
import selectors
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import structlog

from holdfast.workspaces.commands.output_files import CHUNK, Recorder

log = structlog.get_logger(__name__)

T = TypeVar("T")

# Where the end of a process cannot be waited for, it is polled this often.
LOOK_SECONDS = 0.05
# More than a pipe holds.
LAST_CHUNKS = 16


@dataclass(frozen=True, kw_only=True)
class Launch:
    argv: list[str]
    environment: Mapping[str, str]
    cwd: Path
    output: Path
    # Both are called in this thread: when the command has started, and when the process has ended, with its
    # return code. Without the first nothing of the command was run.
    begun: Callable[[], None]
    ended: Callable[[int], None]


class ChildProcess:
    """One of our processes and its three events: its output, that the command has started, its end."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._recorder = Recorder(launch.output)
        self.output, print_to = os.pipe()
        self.begin, begin_to = os.pipe()
        try:
            self._popen = subprocess.Popen(
                launch.argv,
                stdin=begin_to,
                stdout=print_to,
                stderr=subprocess.STDOUT,
                env=dict(launch.environment),
                cwd=launch.cwd,
                start_new_session=True,
            )
        except BaseException:
            os.close(self.output)
            os.close(self.begin)
            self._recorder.close()
            raise
        finally:
            os.close(print_to)
            os.close(begin_to)
        with suppress(OSError, AttributeError):  # not everywhere, and no more than a user may have
            fcntl.fcntl(self.output, fcntl.F_SETPIPE_SZ, CHUNK)
        self.end = _handle(self.pid)
        for descriptor in self.open:
            os.set_blocking(descriptor, False)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def open(self) -> list[int]:
        return [descriptor for descriptor in (self.output, self.begin, self.end) if descriptor >= 0]

    def take(self) -> bool:
        """Whether more can come."""
        return self._recorder.take(self.output) != "end"

    def hear_begin(self) -> None:
        with suppress(BlockingIOError):
            if os.read(self.begin, 64):
                self._launch.begun()

    def has_ended(self) -> bool:
        return self._popen.poll() is not None

    def finish(self) -> None:
        """Reads the last of its output; then the pipe is closed, whoever else has inherited it."""
        if self.begin >= 0:
            self.hear_begin()
        for _ in range(LAST_CHUNKS if self.output >= 0 else 0):
            if self._recorder.take(self.output) != "some":
                break
        self._recorder.close()

    def tell_end(self) -> None:
        self._launch.ended(self._popen.returncode)


class ProcessRunner:
    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._jobs: deque[Callable[[], None]] = deque()
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._wake, False)
        self._selector.register(self._woken, selectors.EVENT_READ, self._work)
        self._children: set[ChildProcess] = set()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="holdfast-processes", daemon=True)
        self._thread.start()

    def call(self, job: Callable[[], None]) -> None:
        """Runs it in this thread."""
        self._jobs.append(job)
        with suppress(BlockingIOError):  # it is awake then
            os.write(self._wake, b"\0")

    def ask(self, function: Callable[[], T]) -> "asyncio.Future[T]":
        """A future for what the function returns or raises in this thread. Cancelling it stops nothing."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def job() -> None:
            try:
                tell(loop, future, function())
            except Exception as error:  # noqa: BLE001 - whoever waits for it hears of it
                tell(loop, future, error)

        self.call(job)
        return future

    def launch(self, launch: Launch) -> ChildProcess:
        """Only in this thread. OSError: the program could not be started."""
        child = ChildProcess(launch)
        self._children.add(child)
        hear = {child.output: self._take, child.begin: self._hear_begin, child.end: self._hear_end}
        for descriptor in child.open:
            self._selector.register(descriptor, selectors.EVENT_READ, partial(hear[descriptor], child))
        return child

    def close(self) -> None:
        """The caller must have ended all processes before."""
        self.call(self._leave)
        self._thread.join()
        self._selector.close()
        os.close(self._wake)
        os.close(self._woken)

    def _run(self) -> None:
        while not self._closing:
            unheard = [child for child in self._children if child.end < 0]
            for key, _ in self._selector.select(LOOK_SECONDS if unheard else None):
                if key.fd in self._selector.get_map():  # not closed by one before
                    _survive(key.data)
            for child in unheard:
                _survive(partial(self._hear_end, child))

    def _work(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._woken, 4096)
        while self._jobs:
            _survive(self._jobs.popleft())

    def _leave(self) -> None:
        for child in self._children:
            child.finish()
            self._forget(child, *child.open)
        self._closing = True

    def _take(self, child: ChildProcess) -> None:
        if not child.take():
            self._forget(child, child.output)

    def _hear_begin(self, child: ChildProcess) -> None:
        child.hear_begin()
        self._forget(child, child.begin)

    def _hear_end(self, child: ChildProcess) -> None:
        if child not in self._children or not child.has_ended():
            return
        self._children.remove(child)
        try:
            child.finish()
        finally:
            self._forget(child, *child.open)
            child.tell_end()

    def _forget(self, child: ChildProcess, *descriptors: int) -> None:
        for descriptor in descriptors:
            self._selector.unregister(descriptor)
            os.close(descriptor)
        child.output, child.begin, child.end = (
            -1 if one in descriptors else one for one in (child.output, child.begin, child.end)
        )


def _survive(job: Callable[[], None]) -> None:
    """Whatever goes wrong with one command, the others still need the thread."""
    try:
        job()
    except Exception:
        log.exception("a job of the process thread failed")


def tell(loop: asyncio.AbstractEventLoop, future: "asyncio.Future[T]", result: T | Exception) -> None:
    """From another thread. Only the first result counts."""

    def settle() -> None:
        if future.done():
            return
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)

    with suppress(RuntimeError):  # the loop is closed, so nobody waits
        loop.call_soon_threadsafe(settle)


def _handle(pid: int) -> int:
    """A descriptor that signals its end; -1 where there is no such thing."""
    try:
        return os.pidfd_open(pid)
    except (OSError, AttributeError):
        return -1
