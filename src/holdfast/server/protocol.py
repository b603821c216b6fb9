"""Connections. HTTP with limits: on the number, size and time of headers, and on bodies that hardly move.
What a proxy and this server might read differently is refused. And WebSockets for many watchers."""

import asyncio
from dataclasses import dataclass
from typing import Any, cast

from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request
from websockets.protocol import State

from holdfast.api.problems import Problem
from holdfast.core.shapes import encode
from holdfast.feed.connection import EXTENSION


@dataclass(frozen=True, kw_only=True)
class ConnectionLimits:
    headers: int = 100
    head_bytes: int = 32 * 1024
    head_seconds: float = 10.0
    # A body may be as slow as its sender's line, but not so slow that it only holds a connection.
    body_grace_seconds: float = 20.0
    body_bytes_per_second: int = 1024
    look_seconds: float = 5.0


CONNECTION_LIMITS = ConnectionLimits()


class LimitedProtocol(HttpToolsProtocol):
    def __init__(self, *args: Any, limits: ConnectionLimits = CONNECTION_LIMITS, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits = limits
        self._in_head = True
        self._head_bytes = 0
        self._body_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._complaint = "This is not a request in HTTP/1.1."

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._await_head()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    @override
    def data_received(self, data: bytes) -> None:
        if self._timer is None:
            self._await_head()
        if self._in_head:
            self._head_bytes += len(data)
            # A body may have come along with the head: only what cannot be a head is too much.
            longest = self._limits.head_bytes
            if self._head_bytes > longest and b"\r\n\r\n" not in data[:longest]:
                self._refuse(Problem("bad_request", f"The headers are larger than {longest} bytes."))
                return
        super().data_received(data)

    @override
    def handle_websocket_upgrade(self) -> None:
        self._stop_timer()
        super().handle_websocket_upgrade()

    @override
    def send_400_response(self, msg: str) -> None:
        self._refuse(Problem("bad_request", self._complaint))

    # --- the parser's callbacks: an exception is a malformed request, answered with 400 ---

    @override
    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True

    @override
    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self.headers) >= self._limits.headers:
            self._complain(f"A request has at most {self._limits.headers} headers.")
        super().on_header(name, value)

    @override
    def on_headers_complete(self) -> None:
        names = [name for name, _ in self.headers]
        if names.count(b"host") != 1:
            self._complain("A request has exactly one Host header.")
        if b"transfer-encoding" in names and b"content-length" in names:
            self._complain("A body has Content-Length or Transfer-Encoding, not both.")
        if names.count(b"content-length") > 1:
            self._complain("A body has one Content-Length.")
        if not self.url.startswith(b"/"):
            self._complain("Requests name a path: this is not a proxy.")
        self._in_head = False
        self._head_bytes = self._body_bytes = 0
        self._stop_timer()
        super().on_headers_complete()
        offer(self.scope, self.transport)
        self._look_later(self._limits.body_grace_seconds, since=self.loop.time())

    def _complain(self, text: str) -> None:
        self._complaint = text
        raise ValueError(text)

    @override
    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    @override
    def on_message_complete(self) -> None:
        self._stop_timer()
        super().on_message_complete()

    # --- time ---

    def _await_head(self) -> None:
        self._timer = self.loop.call_later(self._limits.head_seconds, self._head_is_late)

    def _head_is_late(self) -> None:
        self._timer = None
        if self._head_bytes:
            self._refuse(Problem("timeout", "The request took too long to arrive."))
        else:
            self.transport.close()

    def _look_later(self, seconds: float, *, since: float) -> None:
        self._timer = self.loop.call_later(seconds, self._look_at_body, since)

    def _look_at_body(self, since: float) -> None:
        wanted = self._limits.body_bytes_per_second * (self.loop.time() - since)
        if self._body_bytes >= wanted or self.flow.read_paused:
            self._look_later(self._limits.look_seconds, since=since)
            return
        self._timer = None
        self._refuse(Problem("timeout", "The body took too long to arrive."))

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, problem: Problem) -> None:
        """Answers, unless an answer has begun, and closes."""
        self._stop_timer()
        # None before the first request, whatever its annotation says.
        cycle = cast(RequestResponseCycle | None, self.cycle)
        if cycle is None or not cycle.response_started or cycle.response_complete:
            body = encode(problem.body)
            self.transport.write(
                STATUS_LINE[problem.status]
                + b"content-type: application/problem+json\r\nconnection: close\r\ncontent-length: "
                + str(len(body)).encode()
                + b"\r\n\r\n"
                + body
            )
        self.transport.close()


class FramedProtocol(WebSocketsSansIOProtocol):
    """A WebSocket to which many messages may be given at once, framed already, as they are for all who get
    the same."""

    @override
    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if not self.close_sent:
            offer(self.scope, self.transport)

    @override
    def shutdown(self) -> None:
        """Who is still knocking finds the door closed, which says "come again" better than a 500."""
        if self.handshake_complete or self.close_sent:
            super().shutdown()
        else:
            self.stop_keepalive()
            self.transport.close()

    @override
    async def send(self, message: Any) -> None:
        if message["type"] != EXTENSION:
            # A connection that was closed while it was being answered is no fault of who answers.
            if self.transport.is_closing() and message["type"] != "websocket.close":
                raise ClientDisconnected
            await super().send(message)
            return
        await self.writable.wait()
        if self.disconnected or self.conn.state is not State.OPEN:
            raise ClientDisconnected
        self.transport.write(message["frames"])


def offer(scope: Any, transport: asyncio.Transport) -> None:
    scope.setdefault("extensions", {})[EXTENSION] = {"abort": transport.abort}
