"""A real server with nothing but feeds: `/feed` (SSE) and `/ws`, of the chat and from the cursor that the
query names."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs

import uvicorn

from holdfast.core.ids import ChatId
from holdfast.feed import sse, websocket
from holdfast.feed.hub import Hub
from tests.feed.client import eventually


class App:
    def __init__(self, hub: Hub, heartbeat_seconds: float = 15.0) -> None:
        self._hub = hub
        self._heartbeat_seconds = heartbeat_seconds

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        query = parse_qs(scope["query_string"].decode())
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        cursor = headers.get("last-event-id") or query.get("cursor", [None])[0]
        async with self._hub.watch(ChatId(query["chat"][0]), cursor=cursor, label="test") as watcher:
            if scope["type"] == "websocket":
                await websocket.respond(watcher, receive, send)
            else:
                await sse.respond(watcher, receive, send, heartbeat_seconds=self._heartbeat_seconds)


@asynccontextmanager
async def listening(hub: Hub, **more: Any) -> AsyncGenerator[int]:
    """Its port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            App(hub, **more), ws="websockets-sansio", lifespan="off", log_level="error", access_log=False
        )
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve([listener]))
        await eventually(lambda: server.started)
        try:
            yield listener.getsockname()[1]
        finally:
            await hub.close()
            server.should_exit = True
            server.force_exit = True
            await task
