"""Accepting connections. If descriptors run short, silent connections are closed, and accepting pauses for a
moment and continues: no shortage ends it."""

import asyncio
import errno
import socket
from collections.abc import Callable, Sequence
from typing import cast

import structlog

from holdfast.api.problems import Problem
from holdfast.core.shapes import encode
from holdfast.server.connections import Connections

log = structlog.get_logger(__name__)

ACCEPTED_AT_ONCE = 64
REST_SECONDS = 0.2
# Closed at once when there is no descriptor left.
CLOSED_AT_ONCE = 32
_SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
# The client left before it was accepted.
_GONE = frozenset({errno.ECONNABORTED, errno.EPROTO, errno.EINTR, errno.ECONNRESET})


class Acceptor:
    """Accepts on one listening socket. To uvicorn it looks like an asyncio server."""

    def __init__(
        self,
        listening: socket.socket,
        make_protocol: Callable[[], asyncio.Protocol],
        connections: Connections,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._listening = listening
        self._make_protocol = make_protocol
        self._connections = connections
        self._beginning: set[asyncio.Task[None]] = set()
        self._rest: asyncio.TimerHandle | None = None
        self._complained = False
        self._open = True
        listening.setblocking(False)
        self._listen()

    @property
    def sockets(self) -> Sequence[socket.socket]:
        return (self._listening,) if self._open else ()

    def close(self) -> None:
        if not self._open:
            return
        self._open = False
        if self._rest is not None:
            self._rest.cancel()
        else:
            self._loop.remove_reader(self._listening.fileno())
        self._listening.close()

    async def wait_closed(self) -> None:
        if self._beginning:
            await asyncio.wait(self._beginning)

    def _listen(self) -> None:
        self._rest = None
        self._loop.add_reader(self._listening.fileno(), self._accept_some)

    def _accept_some(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            if not self._accept():
                return

    def _accept(self) -> bool:
        """Whether there may be more."""
        try:
            connection, address = cast(tuple[socket.socket, object], self._listening.accept())
        except (BlockingIOError, InterruptedError):
            return False
        except OSError as error:
            if error.errno in _GONE:
                return True
            if error.errno in _SHORTAGES:
                self._rest_a_moment(error)
                return False
            raise
        # A Unix socket has no address.
        host = str(cast(tuple[object, ...], address)[0]) if isinstance(address, tuple) else ""
        if self._connections.admit(host):
            task = self._loop.create_task(self._begin(connection, host))
            self._beginning.add(task)
            task.add_done_callback(self._beginning.discard)
        else:
            _turn_away(connection)
        return True

    async def _begin(self, connection: socket.socket, host: str) -> None:
        try:
            connection.setblocking(False)
            if connection.family in (socket.AF_INET, socket.AF_INET6):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._loop.connect_accepted_socket(self._make_protocol, connection)
        except OSError:
            # It has already gone.
            self._connections.never_came(host)
            connection.close()

    def _rest_a_moment(self, error: OSError) -> None:
        closed = self._connections.make_room(CLOSED_AT_ONCE)
        if not self._complained:
            # Once: a flood of connections must not become a flood of log lines.
            self._complained = True
            log.warning("no descriptor for a new connection", reason=error.strerror, closed=closed)
        if self._open:
            self._loop.remove_reader(self._listening.fileno())
            self._rest = self._loop.call_later(REST_SECONDS, self._listen)


def _turn_away(connection: socket.socket) -> None:
    """Says so if that is possible without waiting."""
    with connection:
        try:
            connection.setblocking(False)
            connection.send(FULL)
            connection.shutdown(socket.SHUT_WR)
            # Unread input would make the system drop the answer.
            connection.recv(65536)
        except OSError:
            pass


def _full() -> bytes:
    body = encode(Problem("try_again", "Too many connections are open. Try again later.").body)
    head = (
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\n"
        f"retry-after: 1\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


FULL = _full()
