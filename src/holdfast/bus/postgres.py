"""The bus of several processes: LISTEN and NOTIFY on a connection of its own, at most 100 notifications a
second, sent at once when it was quiet. After a reconnect every listener is told to read again: anything may
have been missed.

Needs a session: it works through pgbouncer in session mode, not in transaction or statement mode."""

import asyncio
import random
import secrets
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeAlias

import asyncpg
import structlog

from holdfast.bus.interface import Counters
from holdfast.bus.listener import Listener, Listeners
from holdfast.bus.outbox import Outbox, unpack
from holdfast.core.events import BusEvent, Reread
from holdfast.core.ids import ChatId, UserId

CHANNEL = "holdfast"
SEND = "SELECT pg_notify($1, $2)"
SECONDS_BETWEEN = 0.01
# A connection whose other end is gone is noticed by silence: heartbeat + answer + connect stay under 20 s.
HEARTBEAT_SECONDS = 5.0
ANSWER_SECONDS = 4.0
CONNECT_SECONDS = 4.0
BACKOFF_SECONDS = 0.1
LONGEST_BACKOFF_SECONDS = 3.0
CLOSE_SECONDS = 1.0
# As long as a lease: who lives longer is known by its row.
HEARD_SECONDS = 15.0

# Everything a connection that breaks may raise, out of a query or out of an attempt to connect.
BROKEN = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
log = structlog.get_logger(__name__)


class PostgresBus:
    """Use as `async with`, or `start` and `close`. While the database is away it delivers within the process
    and tries again. `peers` says whether another replica is known to live; while none is, nothing is sent.
    One that was heard counts as known for a while, so a new one need not wait until its row is noticed."""

    def __init__(
        self,
        url: str,
        *,
        peers: Callable[[], bool] = lambda: True,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        self.counters = Counters()
        self._url = url
        self._peers = peers
        self._heartbeat_seconds = heartbeat_seconds
        self._answer_seconds = answer_seconds
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._listeners = Listeners()
        origin = secrets.token_hex(6)
        self._own = f"{origin}:"
        self._outbox = Outbox(origin, self.counters)
        self._heard_until = 0.0
        # Packed, and perhaps not sent: the connection broke.
        self._unsent: str | None = None
        self._awake = asyncio.Event()
        self._tried = asyncio.Event()
        self._connected = False
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    @property
    def connected(self) -> bool:
        return self._connected

    async def start(self) -> None:
        """Returns when the first attempt to connect is over, however it ended."""
        self._task = asyncio.create_task(self._run(), name="bus")
        await self._tried.wait()

    async def close(self) -> None:
        self._closing = True
        self._awake.set()
        task, self._task = self._task, None
        if task is not None:
            if self._connected:
                await asyncio.wait([task], timeout=CLOSE_SECONDS)
            task.cancel()
            await asyncio.wait([task])
        self._listeners.close()

    def publish(self, event: BusEvent) -> None:
        if threading.get_ident() == self._thread:
            self._publish(event)
            return
        try:
            self._loop.call_soon_threadsafe(self._publish, event)
        except RuntimeError:
            pass  # the loop is closed, so nobody listens and nothing can be sent

    def listen(
        self, *, chat_id: ChatId | None = None, owner_id: UserId | None = None, live: bool = True
    ) -> Listener:
        return self._listeners.listen(chat_id, owner_id, live)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _publish(self, event: BusEvent) -> None:
        self.counters.published += 1
        self.counters.overflows += self._listeners.deliver(event)
        if self._peers() or self._loop.time() < self._heard_until:
            self._outbox.put(event)
            self._awake.set()

    def _receive(self, _connection: object, _pid: int, _channel: str, payload: object) -> None:
        if not isinstance(payload, str) or payload.startswith(self._own):
            return
        self.counters.notifications_received += 1
        self._heard_until = self._loop.time() + HEARD_SECONDS
        for event in unpack(payload, self.counters):
            self.counters.events_received += 1
            self.counters.overflows += self._listeners.deliver(event)

    # --- the connection ---

    async def _run(self) -> None:
        backoff = BACKOFF_SECONDS
        while not self._closing:
            connection = None
            try:
                connection = await self._connect()
                backoff = BACKOFF_SECONDS
                await self._serve(connection)
                await connection.close(timeout=CLOSE_SECONDS)
            except BROKEN as error:
                # Only its kind: the text of a connection error may quote the address.
                log.warning("bus.disconnected", error=type(error).__name__, retry_seconds=backoff)
                self.counters.failures += 1
            finally:
                self._connected = False
                self._tried.set()
                if connection is not None:
                    connection.terminate()
            if not self._closing:
                await asyncio.sleep(backoff * random.uniform(0.5, 1.0))
                backoff = min(backoff * 2, LONGEST_BACKOFF_SECONDS)

    async def _connect(self) -> Connection:
        connection: Connection = await asyncpg.connect(
            self._url,
            timeout=CONNECT_SECONDS,
            command_timeout=self._answer_seconds,
            # A hint that is lost in a crash of the database is no loss: everybody reconnects and reads again.
            server_settings={"application_name": "holdfast bus", "synchronous_commit": "off"},
        )
        try:
            await connection.add_listener(CHANNEL, self._receive)
        except BaseException:
            connection.terminate()
            raise
        connection.add_termination_listener(self._notice_end)
        self._connected = True
        self.counters.connects += 1
        # Only now, when nothing can slip through any more: who reads from here on misses nothing.
        self._listeners.deliver(Reread(reason="connected"))
        self._tried.set()
        return connection

    def _notice_end(self, _connection: object) -> None:
        self._connected = False
        self._awake.set()

    async def _serve(self, connection: Connection) -> None:
        """Sends what waits and asks for a sign of life when nothing does; until closing, with nothing
        left."""
        while True:
            self._awake.clear()
            if self._unsent is None:
                self._unsent = self._outbox.pack()
            if self._unsent is not None:
                await connection.execute(SEND, CHANNEL, self._unsent)
                self.counters.notifications_sent += 1
                self.counters.bytes_sent += len(self._unsent)
                self._unsent = None
                await asyncio.sleep(SECONDS_BETWEEN)
                continue
            if self._closing:
                return
            try:
                async with asyncio.timeout(self._heartbeat_seconds):
                    await self._awake.wait()
            except TimeoutError:
                await connection.execute("SELECT 1")
            if connection.is_closed():
                raise ConnectionResetError("the server ended the connection")
