"""HTTP as bytes: requests that no well-behaved client sends, and what is answered."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Raw:
    """What came back until the server closed: the first answer in it, and all of it."""

    everything: bytes
    # How much was sent before the server would take no more.
    sent: int

    @property
    def status(self) -> int:
        return int(self.everything[9:12]) if self.everything else 0

    @property
    def head(self) -> bytes:
        return self.everything.partition(b"\r\n\r\n")[0].lower()

    @property
    def problem(self) -> dict[str, Any]:
        assert b"content-type: application/problem+json" in self.head, self.everything
        return msgspec.json.decode(self.everything.partition(b"\r\n\r\n")[2])

    @property
    def answers(self) -> int:
        return self.everything.count(b"HTTP/1.1 ")


class Wire:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._sent = 0

    @classmethod
    async def open(cls, address: str) -> "Wire":
        host, _, port = address.removeprefix("http://").rpartition(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    async def send(self, data: bytes) -> bool:
        """False: the server has closed."""
        try:
            self._writer.write(data)
            await self._writer.drain()
        except ConnectionError:
            return False
        self._sent += len(data)
        return True

    async def read_head(self) -> bytes:
        """Of the next answer."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self._reader.readuntil(b"\r\n\r\n")

    async def read_some(self) -> bytes:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self._reader.read(65536)

    async def rest(self) -> Raw:
        """Whatever comes until the server closes."""
        received = bytearray()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while piece := await self._reader.read(65536):
                    received += piece
        except ConnectionError:
            pass
        self.close()
        return Raw(bytes(received), self._sent)

    def close(self) -> None:
        self._writer.close()


async def exchange(address: str, *pieces: bytes) -> Raw:
    """Sends all of it and reads until the server closes the connection, as it does after refusing."""
    wire = await Wire.open(address)
    for piece in pieces:
        if not await wire.send(piece):
            break
    return await wire.rest()


async def pour(address: str, head: bytes, body: AsyncIterator[bytes]) -> Raw:
    """Sends a body without end while listening; stops when the server has had enough."""
    wire = await Wire.open(address)
    await wire.send(head)
    answer = asyncio.create_task(wire.rest())
    async for piece in body:
        if answer.done() or not await wire.send(piece):
            break
    return await answer


def request(
    method: str, path: str, *, host: str = "127.0.0.1", headers: Iterable[str] = (), body: bytes = b""
) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *headers]
    return "\r\n".join((*lines, "", "")).encode("latin-1") + body
