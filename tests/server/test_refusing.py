"""WebSockets that are refused or answered while their connection is closed: nobody is at fault, nothing is
logged as if somebody were."""

import asyncio
import logging
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

import pytest
import uvicorn
from uvicorn.protocols.utils import ClientDisconnected

from holdfast.server.connections import Connections, Most
from holdfast.server.websocket import FramedProtocol

UPGRADE = (
    b"GET /feed HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


class Doorman:
    """An application that refuses when it is told to."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.refuse = asyncio.Event()
        self.done = asyncio.Event()
        self.error: BaseException | None = None

    async def __call__(self, _scope: Any, _receive: Any, send: Any) -> None:
        self.asked.set()
        await self.refuse.wait()
        try:
            await send({"type": "websocket.http.response.start", "status": 503, "headers": []})
            await send({"type": "websocket.http.response.body", "body": b"later"})
        except BaseException as error:
            self.error = error
            raise
        finally:
            self.done.set()


@asynccontextmanager
async def serving(app: Doorman) -> AsyncGenerator[tuple[uvicorn.Server, int]]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        sockets = partial(FramedProtocol, connections=Connections(Most.of(100)))
        config = uvicorn.Config(
            cast(Any, app), ws=cast(Any, sockets), lifespan="off", log_config=None, access_log=False
        )
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            yield server, listening.getsockname()[1]
        finally:
            server.should_exit = True
            await asyncio.wait({task})


async def test_a_refusal_arrives() -> None:
    app = Doorman()
    app.refuse.set()
    async with serving(app) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(UPGRADE)
        answer = await reader.read()
        writer.close()
    assert answer.startswith(b"HTTP/1.1 503")
    assert answer.endswith(b"later")


async def test_who_is_refused_while_the_server_stops_is_only_gone(caplog: pytest.LogCaptureFixture) -> None:
    app = Doorman()
    async with serving(app) as (server, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(UPGRADE)
        await app.asked.wait()
        for connection in list(server.server_state.connections):
            connection.shutdown()
        app.refuse.set()
        await app.done.wait()
        assert await reader.read() == b""
        writer.close()
    assert isinstance(app.error, ClientDisconnected)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
