"""What buses of several processes share: one task that keeps a line to the others, sends what waits at a
bounded rate (at once if it was quiet), and sends heartbeats. After a reconnect every listener is told to read
again, because anything may have been missed."""

import asyncio
import random
import secrets
from collections.abc import Awaitable, Callable
from typing import Protocol, Self

import structlog
from typing_extensions import override

from holdfast.bus.memory import MemoryBus
from holdfast.bus.outbox import Outbox, unpack
from holdfast.core.events import BusEvent, Configured, Reread

# A dead line is noticed by its silence: heartbeat + answer + connect stay under 20 s.
HEARTBEAT_SECONDS = 5.0
ANSWER_SECONDS = 4.0
CONNECT_SECONDS = 4.0
BACKOFF_SECONDS = 0.1
LONGEST_BACKOFF_SECONDS = 3.0
CLOSE_SECONDS = 1.0
# As long as a lease: a process that lives longer is known by its row.
HEARD_SECONDS = 15.0

log = structlog.get_logger(__name__)


class RemoteLine(Protocol):
    """An open line to all other processes."""

    async def send(self, payload: str) -> None: ...

    async def ask(self) -> None:
        """Sends a heartbeat. Returns when it was answered."""
        ...

    def is_closed(self) -> bool: ...

    async def close(self) -> None: ...

    async def terminate(self) -> None:
        """At once, whatever is waiting. Harmless on a closed line; raises nothing."""
        ...


# Receives payloads from any process, including this one.
Receive = Callable[[str], None]
# Opens a line; calls the second argument when it has ended by itself.
Connect = Callable[[Receive, Callable[[], None]], Awaitable[RemoteLine]]


class RemoteBus(MemoryBus):
    """Use as `async with`, or `start` and `close`. While there is no line it delivers within the process and
    keeps trying. `peers` says whether another replica is known to be alive; while none is, nothing is sent
    but one greeting at the start. A replica that was heard counts as known for a while, so a new one need not
    wait until its row is noticed; one without a row (`announces`) sends a greeting with every heartbeat, or
    nobody would send to it."""

    def __init__(
        self,
        connect: Connect,
        *,
        # Everything that a line, or an attempt to open one, may raise when it breaks.
        broken: tuple[type[Exception], ...],
        origin: str,
        payload_bytes: int,
        seconds_between: float,
        peers: Callable[[], bool],
        heartbeat_seconds: float,
        announces: bool,
    ) -> None:
        super().__init__()
        self._connect = connect
        self._broken = broken
        self._seconds_between = seconds_between
        self._peers = peers
        self._heartbeat_seconds = heartbeat_seconds
        self._announces = announces
        self._own = f"{origin}:"
        self._outbox = Outbox(origin, self.counters, payload_bytes=payload_bytes)
        # A payload without events: a greeting.
        self._greeting = f"{origin}:[]"
        self._greets = False
        self._heard_until = 0.0
        # Packed, but perhaps not sent: the line broke.
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
        """Returns when the first attempt to connect is over, whatever its result."""
        self._task = asyncio.create_task(self._run(), name="bus")
        await self._tried.wait()

    @override
    async def close(self) -> None:
        self._closing = True
        self._awake.set()
        task, self._task = self._task, None
        if task is not None:
            if self._connected:
                await asyncio.wait([task], timeout=CLOSE_SECONDS)
            task.cancel()
            await asyncio.wait([task])
        await super().close()

    @override
    async def __aenter__(self) -> Self:
        await self.start()
        return self

    @override
    def _publish(self, event: BusEvent) -> None:
        super()._publish(event)
        # Rare events are sent in any case: a replica may have started a moment ago.
        rare = isinstance(event, Configured)
        if rare or self._peers() or self._loop.time() < self._heard_until:
            self._outbox.put(event)
            self._awake.set()

    def _receive(self, payload: str) -> None:
        if payload.startswith(self._own):
            return
        self.counters.notifications_received += 1
        if self._loop.time() >= self._heard_until:
            # A new replica must hear of us too.
            self._greets = True
            self._awake.set()
        self._heard_until = self._loop.time() + HEARD_SECONDS
        for event in unpack(payload, self.counters):
            self.counters.events_received += 1
            self.counters.overflows += self._listeners.deliver(event)

    # --- the line ---

    async def _run(self) -> None:
        backoff = BACKOFF_SECONDS
        while not self._closing:
            line = None
            try:
                line = await self._connect(self._receive, self._notice_end)
                self._tell_connected()
                backoff = BACKOFF_SECONDS
                await self._serve(line)
                await line.close()
            except self._broken as error:
                # Only the type: the text of a connection error may quote the address.
                log.warning("bus.disconnected", error=type(error).__name__, retry_seconds=backoff)
                self.counters.failures += 1
            finally:
                self._connected = False
                self._tried.set()
                if line is not None:
                    await line.terminate()
            if not self._closing:
                await asyncio.sleep(backoff * random.uniform(0.5, 1.0))
                backoff = min(backoff * 2, LONGEST_BACKOFF_SECONDS)

    def _tell_connected(self) -> None:
        self._connected = True
        self._greets = True
        self.counters.connects += 1
        # Only now, when nothing can be missed any more: a read from here on is complete.
        self._listeners.deliver(Reread(reason="connected"))
        self._tried.set()

    def _notice_end(self) -> None:
        self._connected = False
        self._awake.set()

    async def _serve(self, line: RemoteLine) -> None:
        """Sends what is waiting, and heartbeats when nothing is; until closed with nothing left."""
        while True:
            self._awake.clear()
            if self._greets:
                await line.send(self._greeting)
                self._greets = False
            if self._unsent is None:
                self._unsent = self._outbox.pack()
            if self._unsent is not None:
                await line.send(self._unsent)
                self.counters.notifications_sent += 1
                self.counters.bytes_sent += len(self._unsent)
                self._unsent = None
                await asyncio.sleep(self._seconds_between)
                continue
            if self._closing:
                return
            try:
                async with asyncio.timeout(self._heartbeat_seconds):
                    await self._awake.wait()
            except TimeoutError:
                await line.ask()
                self._greets = self._greets or self._announces
            if line.is_closed():
                raise ConnectionResetError("the other end closed the line")


def new_origin() -> str:
    """Identifies the payloads of one process."""
    return secrets.token_hex(6)
