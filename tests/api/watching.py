"""Watchers of feeds over HTTP, who speak SSE or WebSocket and complain as `tests.feed.client` does."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal
from urllib.parse import quote

import aiohttp
import msgspec

from tests.api.serving import Client
from tests.feed.client import Client as FeedClient

Speaks = Literal["sse", "websocket"]
Event = tuple[str, str | None, dict[str, Any]]


class FeedRefused(AssertionError):
    """No feed was begun."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status} {text[:500]}")
        self.status = status


class Watcher(FeedClient):
    """Follows one feed. `path` as in the API: `chats/{id}/feed` or `feed`."""

    def __init__(
        self,
        who: Client,
        path: str,
        speaks: Speaks = "sse",
        *,
        cursor: str | None = None,
        by_query: bool | None = None,
    ) -> None:
        super().__init__(cursor)
        self._who = who
        self.about = path
        self._speaks: Speaks = speaks
        self._by_query = speaks == "websocket" if by_query is None else by_query
        # Everything that came, in order.
        self.events: list[Event] = []
        # Of a WebSocket that was closed by the server.
        self.close_code: int | None = None
        self.ended = False

    async def connect_once(self) -> None:
        """One connection until it ends."""
        self.connections += 1
        source = self._sse() if self._speaks == "sse" else self._websocket()
        async for name, event_id, data in source:
            self.events.append((name, event_id, data))
            self.apply(name, event_id, data)
        self.ended = True
        self.changed.set()

    @property
    def closing_reason(self) -> str | None:
        name, _, data = self.events[-1]
        return data["reason"] if name == "closing" else None

    def _url(self, rest: str = "") -> str:
        separator = "&" if "?" in self.about else "?"
        path = self.about.replace("/feed", f"/feed{rest}") if rest else self.about
        cursor = f"{separator}cursor={quote(self.cursor)}" if self.cursor and self._by_query else ""
        return f"{self._who.address}/api/v1/{path}{cursor}"

    @property
    def _headers(self) -> dict[str, str]:
        resume = {"Last-Event-ID": self.cursor} if self.cursor and not self._by_query else {}
        return {"Authorization": f"Bearer {self._who.token}", **resume}

    async def _sse(self) -> AsyncIterator[Event]:
        async with self._who.session.get(
            self._url(), headers=self._headers, timeout=aiohttp.ClientTimeout(total=None)
        ) as response:
            if response.status != 200:
                raise FeedRefused(response.status, await response.text())
            assert response.headers["Content-Type"].startswith("text/event-stream")
            async for event in sse_events(response.content):
                yield event

    async def _websocket(self) -> AsyncIterator[Event]:
        async with self._who.session.ws_connect(
            self._url("/ws"), headers=self._headers, max_msg_size=0
        ) as socket:
            async for message in socket:
                said = msgspec.json.decode(message.data)
                yield said["event"], said["id"], said["data"]
            self.close_code = socket.close_code


async def sse_events(content: aiohttp.StreamReader) -> AsyncIterator[Event]:
    fields: dict[str, str] = {}
    pending = b""
    async for chunk in content.iter_any():
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            if line:
                name, _, value = line.decode().partition(":")
                fields[name] = value.removeprefix(" ")
            elif "data" in fields:
                yield fields["event"], fields.get("id"), msgspec.json.decode(fields["data"])
                fields = {}
            else:
                fields = {}


@asynccontextmanager
async def watching(
    who: Client, chat_id: str | None = None, speaks: Speaks = "sse", *, query: str = "", **more: Any
) -> AsyncGenerator[Watcher]:
    """A watcher at work during the block; without a chat, of the list."""
    path = f"chats/{chat_id}/feed" if chat_id is not None else "feed"
    watcher = Watcher(who, f"{path}?{query}" if query else path, speaks, **more)
    task = asyncio.create_task(watcher.connect_once())
    task.add_done_callback(watcher.note_end)
    try:
        yield watcher
    finally:
        task.cancel()
        await asyncio.wait({task})
