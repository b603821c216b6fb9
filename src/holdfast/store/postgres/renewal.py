"""Renewing a lease: with a thread, an event loop and a connection of its own, so that whatever holds up the
process's event loop or its pool, the lease goes on."""

import asyncio
import threading
from collections.abc import Awaitable, Callable

from holdfast.core.errors import StoreClosed, TryAgain
from holdfast.core.ids import WorkerId
from holdfast.store.postgres.acquiring import RENEW
from holdfast.store.postgres.errors import ANY, translated
from holdfast.store.postgres.pool import Connection

# A renewal that takes longer has failed: the worker must know in time to stop.
RENEW_SECONDS = 4.0


class Renewal:
    """Any thread may call it, and waits for the answer."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[Connection]],
        before_use: Callable[[Connection], Awaitable[None]] | None,
    ) -> None:
        self._connect = connect
        self._before_use = before_use
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        # Touched only on the loop above, by one at a time.
        self._turn = asyncio.Lock()
        self._connection: Connection | None = None
        self._closed = False

    def renew(self, worker_id: WorkerId, lease_micros: int) -> bool:
        with self._starting:
            if self._closed:
                raise StoreClosed("The store is closed.")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="holdfast-renewal", daemon=True
                )
                self._thread.start()
        renewing = asyncio.run_coroutine_threadsafe(self._renew(worker_id, lease_micros), self._loop)
        try:
            return renewing.result(RENEW_SECONDS + 1)
        except TimeoutError:
            renewing.cancel()
            raise TryAgain("The lease could not be renewed in time.") from None

    def close(self) -> None:
        """Blocks for a moment; call it from another thread than an event loop's."""
        with self._starting:
            self._closed = True
            loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._disconnect(), loop).result(RENEW_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    async def _renew(self, worker_id: WorkerId, lease_micros: int) -> bool:
        """A connection that broke since the last time is replaced once before it is a failure. Repeating is
        safe: it sets a time, and never revives a lease that has run out."""
        try:
            async with asyncio.timeout(RENEW_SECONDS), self._turn:
                if self._connection is not None and not self._connection.is_closed():
                    try:
                        return await self._ask(self._connection, worker_id, lease_micros)
                    except ANY:
                        await self._disconnect()
                self._connection = await self._connect()
                return await self._ask(self._connection, worker_id, lease_micros)
        except ANY as error:
            async with self._turn:
                await self._disconnect()
            raise translated(error) from error

    async def _ask(self, connection: Connection, worker_id: WorkerId, lease_micros: int) -> bool:
        if self._before_use is not None:
            await self._before_use(connection)
        return bool(await connection.fetch(RENEW, worker_id, lease_micros, timeout=RENEW_SECONDS / 2))

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                await connection.close(timeout=0.5)
            except ANY:
                connection.terminate()
            await asyncio.sleep(0)  # lets the socket be closed before the loop is
