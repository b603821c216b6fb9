"""The one thread that writes. Everything that waits when it starts goes into one transaction; nobody is
answered, and no hint is published, before the COMMIT has returned.

A job is never half done: if it raises, its work is rolled back and only it fails; if the COMMIT fails, all
jobs do. A caller that stopped waiting makes no difference. If one job of a batch raises, the others are
executed a second time.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

import apsw

from holdfast.core.errors import StoreClosed, TryAgain
from holdfast.core.events import BusEvent
from holdfast.store.sqlite.connection import Connection, meaning
from holdfast.store.sqlite.pending_changes import Unwritten

T = TypeVar("T")

# How long a transaction waits for another program's lock before its callers are told to try again.
LOCK_SECONDS = 30.0
# The most jobs that share a commit, so that the first of them does not wait for all.
BATCH = 256


@dataclass(slots=True)
class JobResult(Generic[T]):
    """The result of a job: the answer, and the hints to publish once it is committed."""

    answer: T
    hints: tuple[BusEvent, ...] = ()


Work = Callable[[Connection], JobResult[Any]]


class _Job:
    """A piece of work and its result. `loop` belongs to the task that waits; None: a thread waits."""

    __slots__ = ("done", "error", "future", "looks_at_rows", "loop", "work")

    def __init__(
        self,
        work: Work,
        looks_at_rows: bool,
        future: asyncio.Future[Any] | Future[Any],
        loop: asyncio.AbstractEventLoop | None,
    ) -> None:
        self.work = work
        self.looks_at_rows = looks_at_rows
        self.future = future
        self.loop = loop
        self.done: JobResult[Any] | None = None
        self.error: BaseException | None = None

    def tell(self) -> None:
        """Called on the waiting event loop's thread, if there is one."""
        if self.future.done():  # the caller may have stopped waiting
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        elif self.done is not None:
            self.future.set_result(self.done.answer)


class Writer:
    def __init__(
        self,
        connection: Connection,
        file: Path,
        unwritten: Unwritten,
        committed: Callable[[Sequence[BusEvent]], None],
    ) -> None:
        """`committed` is given the hints of everything in a commit, in order, on the waiting task's loop."""
        self._connection = connection
        self._file = file
        self._committed = committed
        self._unwritten = unwritten
        self._inbox: SimpleQueue[list[_Job]] = SimpleQueue()
        # Jobs of the event loop's current iteration: they are passed on together, so that tasks woken by one
        # commit share the next one.
        self._gathered: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
        self._closed = False
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="holdfast-writer", daemon=True)
        self._thread.start()

    async def do(self, work: Callable[[Connection], JobResult[T]], *, looks_at_rows: bool = True) -> T:
        """Work that does not read the rows of chats itself, and so may find some of them unwritten."""
        if self._closed:
            raise StoreClosed("The store is shutting down.")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        job = _Job(work, looks_at_rows, future, loop)
        gathered = self._gathered.get(loop)
        if gathered is None:
            self._gathered[loop] = [job]
            loop.call_soon(self._hand_over, loop)
        else:
            gathered.append(job)
        return await future

    def do_from_thread(self, work: Callable[[Connection], JobResult[T]], timeout_seconds: float) -> T:
        """For threads without an event loop. Publishes nothing."""
        if self._closed:
            raise StoreClosed("The store is shutting down.")
        future: Future[T] = Future()
        self._put([_Job(work, True, future, None)])
        try:
            return future.result(timeout_seconds)
        except TimeoutError:
            raise TryAgain(f"{self._file} could not be written in time.") from None

    def close(self) -> None:
        """Finishes what is waiting. Blocks; do not call it on the event loop's thread."""
        self._closed = True
        self._inbox.put([])
        self._thread.join()

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        self._put(self._gathered.pop(loop))

    def _put(self, jobs: list[_Job]) -> None:
        self._inbox.put(jobs)
        if self._ended:
            self._refuse_rest()

    def _refuse_rest(self) -> None:
        """Jobs that came after the last one: whoever sees them first fails them."""
        with suppress(Empty):
            while True:
                jobs = self._inbox.get_nowait()
                for job in jobs:
                    job.error = StoreClosed("The store is shutting down.")
                self._answer(jobs)

    # --- on the writer's thread ---

    def _run(self) -> None:
        jobs: list[_Job] = []
        open_for_more = True
        while open_for_more or jobs:
            if not jobs:
                jobs = self._inbox.get()
                if not jobs:
                    break
            begun = self._begin()
            with suppress(Empty):
                while len(jobs) < BATCH and open_for_more:
                    more = self._inbox.get_nowait()
                    open_for_more = bool(more)
                    jobs += more
            batch, jobs = jobs[:BATCH], jobs[BATCH:]
            if begun is None:
                self._commit(batch)
            else:
                for job in batch:
                    job.error = begun
            self._answer(batch)
        self._ended = True
        self._refuse_rest()
        self._connection.close()

    def _begin(self) -> BaseException | None:
        """Waits for the lock in pieces. Another program that holds it for seconds only delays us."""
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                self._connection.run("BEGIN IMMEDIATE")
            except apsw.BusyError as error:
                if time.monotonic() >= deadline:
                    return meaning(error, self._file)
            except apsw.Error as error:
                return meaning(error, self._file)
            else:
                return None

    def _commit(self, batch: Sequence[_Job]) -> None:
        """First all of them without savepoints, which copy every page touched. If one raises, the transaction
        is rolled back and executed again with savepoints, so that only that one fails."""
        self._unwritten.forget()
        try:
            try:
                for job in batch:
                    self._attempt(job)
                self._unwritten.write(self._connection)
            except Exception:  # noqa: BLE001 - it is met again below, where it belongs to its job
                self._roll_back()
                self._connection.run("BEGIN IMMEDIATE")
                for job in batch:
                    self._attempt_alone(job)
            self._connection.run("COMMIT")
        except BaseException as error:  # noqa: BLE001 - whatever it is, everybody who waits must be told
            self._roll_back()
            failure = meaning(error, self._file)
            for job in batch:
                job.error = failure

    def _attempt(self, job: _Job) -> None:
        if job.looks_at_rows:
            self._unwritten.write(self._connection)
        job.done = job.work(self._connection)

    def _attempt_alone(self, job: _Job) -> None:
        connection = self._connection
        connection.run("SAVEPOINT job")
        try:
            self._attempt(job)
            self._unwritten.write(connection)
        except Exception as error:
            # A full disk may already have ended the whole transaction: then nothing of it is left.
            if not connection.raw.in_transaction:
                raise
            connection.run("ROLLBACK TO job")
            self._unwritten.forget()
            job.error = meaning(error, self._file)
        connection.run("RELEASE job")

    def _roll_back(self) -> None:
        self._unwritten.forget()
        with suppress(apsw.Error):
            if self._connection.raw.in_transaction:
                self._connection.run("ROLLBACK")

    def _answer(self, batch: Iterable[_Job]) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
        for job in batch:
            if job.loop is None:
                job.tell()
            else:
                by_loop.setdefault(job.loop, []).append(job)
        for loop, jobs in by_loop.items():
            # If the loop is closed there is nobody left to tell.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._tell, jobs)

    # --- back on the event loop ---

    def _tell(self, jobs: list[_Job]) -> None:
        done = [job.done for job in jobs if job.error is None and job.done is not None]
        try:
            self._committed([hint for one in done for hint in one.hints])
        finally:
            # Whatever happens to the hints, nobody waits for ever.
            for job in jobs:
                job.tell()
