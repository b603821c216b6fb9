"""As much HTTP/1.1 as a provider needs, on bare asyncio streams: so that a test decides over every byte, and
over the moment when a connection breaks."""

import asyncio
import socket
import struct
from collections.abc import Mapping

_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}
_LOOK_SECONDS = 0.01


class ClientGone(Exception):
    """The client closed its side before the answer was over."""


class Incoming:
    def __init__(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> None:
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body


class Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.open = True

    async def request(self) -> Incoming | None:
        """The next request; None when the client has no more."""
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines)
            if name
        }
        try:
            body = await self._reader.readexactly(int(headers.get("content-length", "0")))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        return Incoming(method, path, headers, body)

    async def answer(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        fields = {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})}
        self._write(_head(status, fields) + body)
        await self._flush()

    async def begin_stream(self, content_type: str = "text/event-stream") -> None:
        fields = {"Content-Type": content_type, "Transfer-Encoding": "chunked", "Cache-Control": "no-cache"}
        self._write(_head(200, fields))
        await self._flush()

    async def send(self, data: bytes) -> None:
        self._write(b"%x\r\n%b\r\n" % (len(data), data))
        await self._flush()

    async def end_stream(self) -> None:
        self._write(b"0\r\n\r\n")
        await self._flush()

    async def pause(self, seconds: float) -> None:
        """Waits, and notices when nobody is there any more."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while (left := until - loop.time()) > 0:
            self.look()
            await asyncio.sleep(min(left, _LOOK_SECONDS))

    def look(self) -> None:
        if self._reader.at_eof() or self._writer.is_closing():
            self.open = False
            raise ClientGone

    def close(self) -> None:
        self.open = False
        self._writer.close()

    def abort(self) -> None:
        self.open = False
        self._writer.transport.abort()

    def reset(self) -> None:
        """The connection breaks as if a cable was cut: what is under way is lost."""
        self.open = False
        raw: socket.socket | None = self._writer.get_extra_info("socket")
        if raw is not None:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    def _write(self, data: bytes) -> None:
        self.look()
        self._writer.write(data)

    async def _flush(self) -> None:
        try:
            await self._writer.drain()
        except ConnectionError:
            self.open = False
            raise ClientGone from None


def _head(status: int, fields: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}"]
    lines += [f"{name}: {value}" for name, value in fields.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
