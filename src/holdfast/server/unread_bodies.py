"""Requests that are answered before their body has arrived completely. The rest is read for a moment and
discarded, so that a client that is still sending gets to see its answer; then the connection is closed."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from litestar.types import ASGIApp, Receive, Scope, Send

DISCARD_SECONDS = 2.0
DISCARD_BYTES = 16 * 1024 * 1024


class Unread:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        names = _names(scope["headers"]) if scope["type"] == "http" else frozenset[bytes]()
        if not names & {b"content-length", b"transfer-encoding"}:
            await self._app(scope, receive, send)
            return
        body = _Body(receive)
        # Reading would ask a client that waits for `100 Continue` to send its body.
        waits = b"expect" in names

        async def answer(message: Any) -> None:
            if body.ended:
                await send(message)
            elif message["type"] == "http.response.start":
                if waits or not await body.has_come():
                    message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
                await send(message)
            elif message.get("more_body", False):
                await send(message)
            else:
                message["more_body"] = True
                await send(message)
                await body.discard()
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self._app(scope, body.receive, answer)


class _Body:
    def __init__(self, receive: Receive) -> None:
        self.ended = False
        self._receive = receive

    async def receive(self) -> Any:
        message = await self._receive()
        self.ended = not message.get("more_body", False)
        return message

    async def has_come(self) -> bool:
        """Whether it has arrived completely, without waiting."""
        with suppress(TimeoutError):
            async with asyncio.timeout(0):
                while not self.ended:
                    await self.receive()
        return self.ended

    async def discard(self) -> None:
        size = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(DISCARD_SECONDS):
                while not self.ended and size < DISCARD_BYTES:
                    size += len((await self.receive()).get("body", b""))


def _names(headers: Iterable[tuple[bytes, bytes]]) -> frozenset[bytes]:
    return frozenset(name for name, _ in headers)
