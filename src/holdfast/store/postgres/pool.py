"""A pool of connections. Taking one waits a few seconds at most. A connection that may be broken, or in the
middle of something, is never handed out again. After a restart of the server, new ones are made
automatically."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, cast

import asyncpg

from holdfast.core.errors import StoreClosed, TryAgain
from holdfast.store.postgres.errors import ANY, is_undone, translated
from holdfast.store.query import Rows

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

# A connection that has been unused for this long may have been dropped by something in between: it is checked
# first.
QUIET_SECONDS = 30.0
SIGN_OF_LIFE_SECONDS = 2.0
# A burst opens many connections. Those unused for this long are closed: other programs need connections to
# the server too.
SPARE_SECONDS = 60.0
# The client's own timeout: the server gives up earlier (see `connect`), unless it is gone.
ANSWER_SECONDS = 15.0
SECONDS_BETWEEN_ATTEMPTS = 0.1
# Errors that waiting longer cannot change.
_HOPELESS = (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidCatalogNameError)


class Pool:
    def __init__(
        self,
        connect: Callable[[], Awaitable[Connection]],
        *,
        size: int,
        wait_seconds: float,
        before_use: Callable[[Connection], Awaitable[None]] | None = None,
        spare_seconds: float = SPARE_SECONDS,
    ) -> None:
        self._connect = connect
        self._spare_seconds = spare_seconds
        self._size = size
        self._wait_seconds = wait_seconds
        self._before_use = before_use
        self._places = asyncio.Semaphore(size)
        # The most recently used one is at the end and is used next; those at the beginning are spare.
        self._idle: list[tuple[Connection, float]] = []
        self._used: set[Connection] = set()
        self._closed = False

    @asynccontextmanager
    async def take(self) -> AsyncGenerator[Connection]:
        """Errors of the database become TryAgain only while a connection is being taken; what the block
        raises is for its owner to judge."""
        if self._closed:
            raise StoreClosed("The store is closed.")
        deadline = time.monotonic() + self._wait_seconds
        try:
            async with asyncio.timeout(deadline - time.monotonic()):
                await self._places.acquire()
        except TimeoutError:
            raise TryAgain("All connections to the database are in use.") from None
        try:
            connection = await self._working(deadline)
            self._used.add(connection)
            try:
                yield connection
            except BaseException as error:
                await self._recover(connection, error)
                raise
            finally:
                self._used.discard(connection)
                self._put_back(connection)
        finally:
            self._places.release()

    async def close(self, seconds: float) -> None:
        """No more connections are handed out. Those in use get the given time, then they are cut."""
        self._closed = True
        try:
            async with asyncio.timeout(seconds):
                for _ in range(self._size):
                    await self._places.acquire()
        except TimeoutError:
            pass
        for connection in [*self._used]:
            connection.terminate()
        idle, self._idle = self._idle, []
        for connection, _ in idle:
            try:
                await connection.close(timeout=1.0)
            except ANY:
                connection.terminate()

    async def _working(self, deadline: float) -> Connection:
        while self._idle:
            connection, since = self._idle.pop()
            if connection.is_closed():
                continue
            if time.monotonic() - since > QUIET_SECONDS and not await _answers(connection):
                connection.terminate()
                continue
            return await self._prepared(connection)
        while True:
            if self._closed:
                raise StoreClosed("The store is closed.")
            try:
                return await self._prepared(await self._connect())
            except ANY as error:
                if isinstance(error, _HOPELESS) or time.monotonic() + SECONDS_BETWEEN_ATTEMPTS > deadline:
                    raise translated(error) from error
            await asyncio.sleep(SECONDS_BETWEEN_ATTEMPTS)

    async def _prepared(self, connection: Connection) -> Connection:
        if self._before_use is not None:
            try:
                await self._before_use(connection)
            except BaseException:
                connection.terminate()
                raise
        return connection

    async def _recover(self, connection: Connection, error: BaseException) -> None:
        """After a failure the connection is reused only if the server answered and the rest can be rolled
        back."""
        if isinstance(error, TimeoutError):
            self._drop_idle()
        broken = isinstance(error, ANY) and not is_undone(error)
        if broken or isinstance(error, asyncio.CancelledError) or connection.is_closed():
            connection.terminate()
        elif connection.is_in_transaction():
            try:
                await connection.execute("ROLLBACK", timeout=SIGN_OF_LIFE_SECONDS)
            except ANY:
                connection.terminate()

    def _drop_idle(self) -> None:
        """The server is silent. Everybody who got one of these connections would wait as long, one after the
        other."""
        idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.terminate()

    def _put_back(self, connection: Connection) -> None:
        if connection.is_closed():
            return
        if self._closed or connection.is_in_transaction():
            connection.terminate()
        else:
            now = time.monotonic()
            while self._idle and now - self._idle[0][1] > self._spare_seconds:
                self._idle.pop(0)[0].terminate()
            self._idle.append((connection, now))


async def fetch(connection: Connection, sql: str, *args: Any) -> Rows:
    """Rows in the form the shared modules expect: a Record is indexed, sliced and unpacked like a tuple."""
    return cast(Rows, await connection.fetch(sql, *args, timeout=ANSWER_SECONDS))


async def _answers(connection: Connection) -> bool:
    try:
        await connection.execute("SELECT 1", timeout=SIGN_OF_LIFE_SECONDS)
    except ANY:
        return False
    return True
