"""WebSockets for many watchers, which can be given many messages at once, already framed, because they are
the same for all. What clients send is limited: frames per second, and answers to pings that they do not
read."""

from typing import Any

from typing_extensions import override
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode, Frame
from websockets.http11 import Request
from websockets.protocol import State

from holdfast.feed.connection import EXTENSION
from holdfast.server.connections import Connections
from holdfast.server.protocol import CONNECTION_LIMITS, ConnectionLimits, offer

# This much is parsed before the frames in it are counted: at most 85 of the smallest.
_PIECE = 512
# The largest message.
_MOST_FRAGMENTS = 128
# Pings are not answered while this much waits for the client to read.
_BACKLOG_BYTES = 64 * 1024
# Time for a client that is closed because of what it sent to read why. What it sends meanwhile is discarded:
# closing a connection with unread input would lose the code too.
_FAREWELL_SECONDS = 1.0


class FramedProtocol(WebSocketsSansIOProtocol):
    def __init__(
        self,
        *args: Any,
        connections: Connections,
        limits: ConnectionLimits = CONNECTION_LIMITS,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._open = connections
        self._limits = limits
        # How many frames may still come, as of that time.
        self._frames_left = float(limits.frames_at_once)
        self._counted_at = self.loop.time()
        self._failed = False

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._open.closed(self.transport)
        super().connection_lost(exc)

    # --- input from the client ---

    @override
    def data_received(self, data: bytes) -> None:
        now = self.loop.time()
        regained = (now - self._counted_at) * self._limits.frames_per_second
        self._frames_left = min(self._frames_left + regained, self._limits.frames_at_once)
        self._counted_at = now
        for start in range(0, len(data), _PIECE):
            if self._failed or self.transport.is_closing():
                return
            super().data_received(data[start : start + _PIECE])
            if self._frames_left < 0:
                self._fail(CloseCode.POLICY_VIOLATION, "Too many frames in a short time.")

    @override
    def handle_events(self) -> None:
        self._frames_left -= len(self.conn.events)
        super().handle_events()

    @override
    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if not self.close_sent:
            offer(self.scope, self.transport)

    @override
    def handle_ping(self) -> None:
        answer = b"".join(self.conn.data_to_send())
        if self.transport.get_write_buffer_size() < _BACKLOG_BYTES:
            self.transport.write(answer)

    @override
    def handle_cont(self, event: Frame) -> None:
        if len(self.frames) >= _MOST_FRAGMENTS:
            self._fail(CloseCode.MESSAGE_TOO_BIG, "A message in too many pieces.")
        else:
            super().handle_cont(event)

    @override
    def send_receive_event_to_app(self) -> None:
        if self.curr_msg_data_type == "text" and not _is_utf8(b"".join(self.frames)):
            # The error is theirs and does not belong in our log.
            self._fail(CloseCode.INVALID_DATA, "Text that is not UTF-8.")
        else:
            super().send_receive_event_to_app()

    def _fail(self, code: CloseCode, reason: str) -> None:
        """Ends the connection with a code."""
        if self._failed:
            return
        self._failed = True
        self.frames = []
        self.queue.put_nowait({"type": "websocket.disconnect", "code": int(code), "reason": reason})
        if self.conn.state is not State.OPEN:
            self.transport.abort()
            return
        self.conn.fail(code, reason)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.stop_keepalive()
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        self.close_timer = self.loop.call_later(_FAREWELL_SECONDS, self.transport.abort)

    # --- the server's side ---

    @override
    def shutdown(self) -> None:
        """A client that is still connecting gets a closed connection, which says "try again" better than a
        500."""
        if self.handshake_complete or self.close_sent:
            super().shutdown()
        else:
            self.stop_keepalive()
            self.transport.close()

    @override
    async def send(self, message: Any) -> None:
        if self._failed:
            raise ClientDisconnected
        if message["type"] != EXTENSION:
            # A connection that was closed while it was being answered is not the handler's error.
            if self.transport.is_closing() and message["type"] != "websocket.close":
                raise ClientDisconnected
            await super().send(message)
            return
        await self.writable.wait()
        if self.disconnected or self.conn.state is not State.OPEN:
            raise ClientDisconnected
        self.transport.write(message["frames"])


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
