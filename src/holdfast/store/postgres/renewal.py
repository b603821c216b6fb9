"""Renewing a lease with a separate thread, event loop and connection: whatever blocks the process's event
loop or its pool, the lease is still renewed."""

import asyncio
import threading
from collections.abc import Awaitable, Callable

from holdfast.core.errors import StoreClosed, TryAgain
from holdfast.core.ids import WorkerId
from holdfast.core.shortage import shortages_named
from holdfast.store.postgres.database_clock import AlignedClock
from holdfast.store.postgres.errors import ANY, translated
from holdfast.store.postgres.pool import Connection
from holdfast.store.postgres.presence import ENTER, LEAVE, Present
from holdfast.store.postgres.worker_rows import RENEW

# A renewal that takes longer has failed: the worker must know in time to stop.
RENEW_SECONDS = 4.0
# Delay after a lost connection could not be re-established.
BACK_SECONDS = 0.2


class Renewal:
    """Any thread may call it, and waits for the answer."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[Connection]],
        before_use: Callable[[Connection], Awaitable[None]] | None,
        clock: AlignedClock,
    ) -> None:
        """`clock` is told the database's time."""
        self._clock = clock
        self._connect = connect
        self._before_use = before_use
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        # Only touched on the loop above, by one task at a time.
        self._turn = asyncio.Lock()
        self._connection: Connection | None = None
        self._present = Present()
        self._returning: asyncio.Task[None] | None = None
        self._closed = False

    def renew(self, worker_id: WorkerId, lease_micros: int) -> bool:
        with self._starting:
            if self._closed:
                raise StoreClosed("The store is closed.")
            if self._loop is None:
                self._start()
            loop = self._loop
        assert loop is not None
        renewing = asyncio.run_coroutine_threadsafe(self._renew(worker_id, lease_micros), loop)
        try:
            return renewing.result(RENEW_SECONDS + 1)
        except TimeoutError:
            renewing.cancel()
            raise TryAgain("The lease could not be renewed in time.") from None

    def _start(self) -> None:
        """Shortage: no thread is available now; the next renewal tries again."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, name="holdfast-renewal", daemon=True)
        try:
            with shortages_named():
                thread.start()
        except BaseException:
            loop.close()
            raise
        self._loop, self._thread = loop, thread

    def leave(self, worker_id: WorkerId) -> None:
        """The worker has retired: nothing more is renewed for it."""
        with self._starting:
            if self._loop is not None and not self._closed:
                self._loop.call_soon_threadsafe(self._present.leave, worker_id)

    def close(self) -> None:
        """Blocks for a moment; do not call it on an event loop's thread."""
        with self._starting:
            self._closed = True
            loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._leave_all(), loop).result(RENEW_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    async def _renew(self, worker_id: WorkerId, lease_micros: int) -> bool:
        """A connection that broke since the last renewal is replaced once before that counts as a failure.
        Repeating is safe: it sets a time, and never revives an expired lease."""
        try:
            async with asyncio.timeout(RENEW_SECONDS), self._turn:
                if self._connection is not None and not self._connection.is_closed():
                    try:
                        return await self._ask(self._connection, worker_id, lease_micros)
                    except ANY:
                        await self._disconnect()
                connection = await self._reconnect(worker_id, lease_micros)
                return await self._ask(connection, worker_id, lease_micros)
        except ANY as error:
            async with self._turn:
                await self._disconnect()
            raise translated(error) from error

    async def _reconnect(self, worker_id: WorkerId, lease_micros: int) -> Connection:
        connection = self._connection = await self._connect()
        self._present.forget()

        def broken(_: object) -> None:
            # A worker whose connection was merely cut must not be taken for dead: it reconnects at once.
            if self._connection is connection and not self._closed:
                self._returning = asyncio.ensure_future(self._come_back(worker_id, lease_micros))

        connection.add_termination_listener(broken)
        return connection

    async def _come_back(self, worker_id: WorkerId, lease_micros: int) -> None:
        """Whether the lease was kept is found out by the next renewal."""
        deadline = self._clock.elapsed() + lease_micros / 1_000_000
        while not self._closed and self._clock.elapsed() < deadline:
            try:
                await self._renew(worker_id, lease_micros)
            except TryAgain:
                await asyncio.sleep(BACK_SECONDS)
            else:
                return

    async def _ask(self, connection: Connection, worker_id: WorkerId, lease_micros: int) -> bool:
        if self._before_use is not None:
            await self._before_use(connection)
        for gone in self._present.left():
            await connection.execute(LEAVE, gone, timeout=RENEW_SECONDS / 2)
        # If the lock is not available now, the next renewal tries again.
        if self._present.missing(worker_id) and await connection.fetchval(
            ENTER, worker_id, timeout=RENEW_SECONDS / 2
        ):
            self._present.entered(worker_id)
        asked_at = self._clock.elapsed()
        renewed = await connection.fetch(RENEW, worker_id, lease_micros, timeout=RENEW_SECONDS / 2)
        for row in renewed:
            self._clock.hear(row[0], asked_at)
        return bool(renewed)

    async def _leave_all(self) -> None:
        if self._returning is not None:
            self._returning.cancel()
        await self._disconnect()

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        self._present.forget()
        if connection is not None:
            try:
                await connection.close(timeout=0.5)
            except ANY:
                connection.terminate()
            await asyncio.sleep(0)  # lets the socket be closed before the loop
