"""A few threads that read, each with its own connection. One job reads one snapshot."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

import apsw

from holdfast.core.errors import StoreClosed
from holdfast.store.sqlite.connection import Connection, meaning

T = TypeVar("T")
READERS = 4


class _Job:
    __slots__ = ("future", "loop", "snapshot", "work")

    def __init__(
        self, work: Callable[[Connection], Any], snapshot: bool, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.work = work
        self.snapshot = snapshot
        self.loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()


class Readers:
    def __init__(self, connect: Callable[[], Connection], file: Path, count: int = READERS) -> None:
        self._connect = connect
        self._file = file
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._run, name=f"holdfast-reader-{n}", daemon=True) for n in range(count)
        ]
        for thread in self._threads:
            thread.start()

    async def do(self, work: Callable[[Connection], T], *, snapshot: bool = True) -> T:
        """Without `snapshot` the work must be a single statement, which is a snapshot by itself."""
        if self._closed:
            raise StoreClosed("The store is shutting down.")
        job = _Job(work, snapshot, asyncio.get_running_loop())
        self._jobs.put(job)
        return await job.future

    def close(self) -> None:
        """Finishes what is waiting. Blocks; do not call it on the event loop's thread."""
        self._closed = True
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        connection: Connection | None = None
        while (job := self._jobs.get()) is not None:
            answer: Any = None
            failure: BaseException | None = None
            try:
                if connection is None:
                    connection = self._connect()
                answer = self._read(connection, job)
            except Exception as error:  # noqa: BLE001 - it is the caller's, who gets it
                failure = meaning(error, self._file)
            # If the loop is closed there is nobody left to tell.
            with suppress(RuntimeError):
                job.loop.call_soon_threadsafe(_tell, job.future, answer, failure)
            # Drop a large answer before waiting for the next job.
            del job, answer, failure
        if connection is not None:
            connection.close()

    @staticmethod
    def _read(connection: Connection, job: _Job) -> Any:
        if not job.snapshot:
            return job.work(connection)
        connection.run("BEGIN")
        try:
            return job.work(connection)
        finally:
            with suppress(apsw.Error):
                connection.run("COMMIT")


def _tell(future: asyncio.Future[Any], answer: Any, failure: BaseException | None) -> None:
    if future.done():
        return
    if failure is None:
        future.set_result(answer)
    else:
        future.set_exception(failure)
