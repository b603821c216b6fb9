"""HTTP connections with limits: on the number, size and time of headers, on bodies that hardly move, on
clients that send more while an answer is pending, and on those that do not read it. What a proxy and this
server might read differently is refused."""

import asyncio
import socket
import struct
from dataclasses import dataclass
from typing import Any, cast

from typing_extensions import override
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from holdfast.api.problems import Problem
from holdfast.core.shapes import encode
from holdfast.feed.connection import EXTENSION
from holdfast.server.connections import Connections


@dataclass(frozen=True, kw_only=True)
class ConnectionLimits:
    headers: int = 100
    head_bytes: int = 32 * 1024
    head_seconds: float = 10.0
    # A body may be as slow as its sender's line, but not so slow that it merely holds a connection.
    body_grace_seconds: float = 20.0
    body_bytes_per_second: int = 1024
    look_seconds: float = 5.0
    # An answer, or a part of a feed, of which the client has read nothing for this long.
    unread_seconds: float = 60.0
    # Frames that a client may send over a WebSocket: per second, and at once.
    frames_per_second: float = 50.0
    frames_at_once: int = 500
    # How many connections there may be; None: what the descriptors of the process allow.
    connections: int | None = None


CONNECTION_LIMITS = ConnectionLimits()
# For a body of unknown length, this much is parsed at once: it limits how many requests can follow it
# unnoticed.
_PIECE = 4096
_END_OF_HEAD = b"\r\n\r\n"
# The form the system expects: linger for no time.
_AT_ONCE = struct.pack("ii", 1, 0)


class HeldFlow(FlowControl):
    """While held nothing is read, whoever wants to resume reading."""

    held = False

    def hold(self) -> None:
        self.held = True
        self.pause_reading()

    def release(self) -> None:
        self.held = False
        self.resume_reading()

    @override
    def resume_reading(self) -> None:
        if not self.held:
            super().resume_reading()


class LimitedProtocol(HttpToolsProtocol):
    """The parser is given one request at a time. What arrives while an answer is pending is held unparsed,
    and no more of it is read."""

    _flow: HeldFlow

    def __init__(
        self,
        *args: Any,
        connections: Connections,
        limits: ConnectionLimits = CONNECTION_LIMITS,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._limits = limits
        self._open = connections
        self._in_head = True
        self._head_bytes = 0
        self._body_bytes = 0
        # For a body: what is left of it, None if unknown; and bytes since the last that belonged to it.
        self._body_left: int | None = None
        self._around_body = 0
        self._held = b""
        self._timer: asyncio.TimerHandle | None = None
        self._unread_timer: asyncio.TimerHandle | None = None
        self._complaint = "This is not a valid HTTP request."

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._flow = HeldFlow(transport)
        self.flow = self._flow
        self._open.opened(transport, self.client[0] if self.client else "")
        self._await_head()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._stop_unread_timer()
        self._held = b""
        self._open.closed(self.transport)
        super().connection_lost(exc)

    @override
    def data_received(self, data: bytes) -> None:
        if self._held or self._answers:
            self._held += data
            self._flow.hold()
        else:
            self._take(data)

    @property
    def _answers(self) -> bool:
        """Whether a request has arrived completely and its answer has not been sent."""
        # None before the first request, whatever its annotation says.
        cycle = cast(RequestResponseCycle | None, self.cycle)
        return cycle is not None and not cycle.more_body and not cycle.response_complete

    def _take(self, data: bytes) -> None:
        while data and not self.transport.is_closing():
            if self._timer is None and self._in_head:
                self._await_head()
            size = self._next_piece(data)
            piece, data = data[:size], data[size:]
            if self._is_too_much(piece):
                self._refuse(
                    Problem("bad_request", f"The headers are larger than {self._limits.head_bytes} bytes.")
                )
                return
            super().data_received(piece)
            if self.transport.get_protocol() is not self:
                # A WebSocket from now on. Its client waits for an answer before it continues.
                return
            if data and self._answers:
                self._held = data
                self._flow.hold()
                return

    def _next_piece(self, data: bytes) -> int:
        """Little enough that at most one request ends in it."""
        if not self._in_head:
            return self._body_left or _PIECE
        end = data.find(_END_OF_HEAD)
        return len(data) if end < 0 else end + len(_END_OF_HEAD)

    def _is_too_much(self, piece: bytes) -> bool:
        """For a head, and for what surrounds the chunks of a body."""
        if self._in_head:
            self._head_bytes += len(piece)
            return self._head_bytes > self._limits.head_bytes
        self._around_body += len(piece)
        return self._body_left is None and self._around_body > self._limits.head_bytes

    @override
    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing() or self._answers:
            return
        if self._in_head:
            self._open.waits(self.transport, "idle")
        if self._held:
            data, self._held = self._held, b""
            self._take(data)
        if not self._held:
            self._flow.release()

    @override
    def handle_websocket_upgrade(self) -> None:
        self._stop_timer()
        self._open.works(self.transport)
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
        self._head_bytes = self._body_bytes = self._around_body = 0
        self._body_left = next(
            (int(value) for name, value in self.headers if name == b"content-length"), None
        )
        self._stop_timer()
        self._open.waits(self.transport, "idle")
        super().on_headers_complete()
        offer(self.scope, self.transport)
        self._look_later(self._limits.body_grace_seconds, since=self.loop.time())

    def _complain(self, text: str) -> None:
        self._complaint = text
        raise ValueError(text)

    @override
    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        self._around_body = 0
        if self._body_left is not None:
            self._body_left -= len(body)
        super().on_body(body)

    @override
    def on_message_complete(self) -> None:
        self._stop_timer()
        self._in_head = True
        super().on_message_complete()
        if self._answers:
            self._open.works(self.transport)

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

    # --- clients that do not read ---

    @override
    def pause_writing(self) -> None:
        super().pause_writing()
        self._open.waits(self.transport, "idle")
        self._stop_unread_timer()
        self._look_at_unread(None)

    @override
    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_unread_timer()
        if self._answers:
            self._open.works(self.transport)

    def _look_at_unread(self, before: int | None) -> None:
        unread = self.transport.get_write_buffer_size()
        if before is not None and unread >= before:
            # Not counting what the system still holds for it.
            self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
            self.transport.abort()
            return
        self._unread_timer = self.loop.call_later(self._limits.unread_seconds, self._look_at_unread, unread)

    def _stop_unread_timer(self) -> None:
        if self._unread_timer is not None:
            self._unread_timer.cancel()
            self._unread_timer = None

    def _refuse(self, problem: Problem) -> None:
        """Answers, unless an answer has started, and closes."""
        self._stop_timer()
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


def offer(scope: Any, transport: asyncio.Transport) -> None:
    scope.setdefault("extensions", {})[EXTENSION] = {"abort": transport.abort}
