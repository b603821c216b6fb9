"""HTTP connections with limits: on the number, size and time of headers, and on bodies that hardly move. What
a proxy and this server might read differently is refused."""

import asyncio
from typing import Any, cast

from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

MAX_HEADERS = 100
MAX_HEAD_BYTES = 32 * 1024
HEAD_SECONDS = 10.0
# A body may be as slow as its sender's line, but not so slow that it only holds a connection.
BODY_GRACE_SECONDS = 20.0
BODY_BYTES_PER_SECOND = 1024
_LOOK_SECONDS = 5.0


class LimitedProtocol(HttpToolsProtocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_bytes = 0
        self._body_bytes = 0
        self._timer: asyncio.TimerHandle | None = None

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
            if self._head_bytes > MAX_HEAD_BYTES and b"\r\n\r\n" not in data[:MAX_HEAD_BYTES]:
                self._refuse(431, "The headers are larger than the limit of 32 KiB.")
                return
        super().data_received(data)

    @override
    def handle_websocket_upgrade(self) -> None:
        self._stop_timer()
        super().handle_websocket_upgrade()

    # --- the parser's callbacks: an exception is a malformed request, answered with 400 ---

    @override
    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True

    @override
    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self.headers) >= MAX_HEADERS:
            raise ValueError("too many headers")
        super().on_header(name, value)

    @override
    def on_headers_complete(self) -> None:
        names = [name for name, _ in self.headers]
        if names.count(b"host") != 1:
            raise ValueError("not exactly one Host header")
        if b"transfer-encoding" in names and b"content-length" in names:
            raise ValueError("two lengths of one body")
        if names.count(b"content-length") > 1 or not self.url.startswith(b"/"):
            raise ValueError("a request that can be read in two ways")
        self._in_head = False
        self._head_bytes = self._body_bytes = 0
        self._stop_timer()
        super().on_headers_complete()
        self._timer = self.loop.call_later(BODY_GRACE_SECONDS, self._look_at_body, self.loop.time())

    @override
    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    @override
    def on_message_complete(self) -> None:
        self._stop_timer()
        super().on_message_complete()

    # --- time ---

    _in_head = True

    def _await_head(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self._head_is_late)

    def _head_is_late(self) -> None:
        self._timer = None
        if self._head_bytes:
            self._refuse(408, "The request took too long to arrive.")
        else:
            self.transport.close()

    def _look_at_body(self, since: float) -> None:
        if self._body_bytes >= BODY_BYTES_PER_SECOND * (self.loop.time() - since) or self.flow.read_paused:
            self._timer = self.loop.call_later(_LOOK_SECONDS, self._look_at_body, since)
            return
        self._timer = None
        self._refuse(408, "The body took too long to arrive.")

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, status: int, text: str) -> None:
        """Answers, unless an answer has begun, and closes."""
        self._stop_timer()
        # None before the first request, whatever its annotation says.
        cycle = cast(RequestResponseCycle | None, self.cycle)
        if cycle is None or not cycle.response_started or cycle.response_complete:
            body = text.encode()
            self.transport.write(
                STATUS_LINE[status]
                + b"content-type: text/plain; charset=utf-8\r\nconnection: close\r\ncontent-length: "
                + str(len(body)).encode()
                + b"\r\n\r\n"
                + body
            )
        self.transport.close()
