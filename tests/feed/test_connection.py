"""How connections end when their client does not read, breaks, or goes: with the server's side played by the
test."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.feed import sse, websocket
from holdfast.feed.limits import FeedLimits
from tests.feed.client import eventually
from tests.feed.stage import QUICK, Stage, staged

IMPATIENT = FeedLimits(poll_seconds=0.02, send_seconds=0.1)


class Server:
    """Takes so many messages and then blocks, or raises; the client says nothing until it goes."""

    def __init__(self, takes: int = 10**9, error: Exception | None = None) -> None:
        self.sent: list[dict[str, Any]] = []
        self.aborted = 0
        self.gone = asyncio.Event()
        self._takes = takes
        self._error = error
        self._connected = False

    async def receive(self) -> dict[str, Any]:
        if not self._connected:
            self._connected = True
            return {"type": "websocket.connect"}
        await self.gone.wait()
        return {
            "type": "websocket.disconnect" if self.sent[0]["type"].startswith("web") else "http.disconnect"
        }

    async def send(self, message: dict[str, Any]) -> None:
        if len(self.sent) >= self._takes:
            if self._error is not None:
                raise self._error
            await asyncio.Event().wait()
        self.sent.append(message)

    def abort(self) -> None:
        self.aborted += 1


Respond = Callable[..., Any]
both = pytest.mark.parametrize("respond", [sse.respond, websocket.respond], ids=["sse", "websocket"])


async def respond_to(stage: Stage, server: Server, respond: Respond) -> None:
    chat = await stage.chat()
    async with stage.hub.watch(chat.id) as watcher:
        await respond(watcher, server.receive, server.send, abort=server.abort)


@both
async def test_a_client_that_takes_nothing_is_dropped(tmp_path: Path, respond: Respond) -> None:
    async with staged("sqlite", tmp_path, IMPATIENT) as stage:
        server = Server(takes=2)
        await respond_to(stage, server, respond)
        assert server.aborted == 1
        assert stage.hub.watchers == 0


@both
async def test_a_client_that_goes_is_left_alone(tmp_path: Path, respond: Respond) -> None:
    async with staged("sqlite", tmp_path, QUICK) as stage:
        server = Server()
        task = asyncio.create_task(respond_to(stage, server, respond))
        await eventually(lambda: len(server.sent) > 2)
        server.gone.set()
        await task
        assert server.aborted == 0
        assert not any(message.get("more_body") is False for message in server.sent)
        assert server.sent[-1]["type"] != "websocket.close"


@both
async def test_a_fault_of_ours_is_not_hidden(tmp_path: Path, respond: Respond) -> None:
    async with staged("sqlite", tmp_path, QUICK) as stage:
        with pytest.raises(RuntimeError, match="a fault"):
            await respond_to(stage, Server(takes=2, error=RuntimeError("a fault")), respond)
        assert stage.hub.watchers == 0


@both
async def test_the_end_is_in_good_order(tmp_path: Path, respond: Respond) -> None:
    async with staged("sqlite", tmp_path, QUICK) as stage:
        server = Server()
        task = asyncio.create_task(respond_to(stage, server, respond))
        await eventually(lambda: len(server.sent) > 2)
        await stage.hub.close()
        await task
        last = server.sent[-1]
        assert last.get("code") == 4503 or last.get("more_body") is False
        assert server.aborted == 0
