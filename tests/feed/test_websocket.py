"""The feed over a real WebSocket."""

import asyncio
from typing import Any

import msgspec
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from holdfast.chats.commands import Delete
from tests.feed.client import Client, eventually, said_in
from tests.feed.server import listening
from tests.feed.stage import Chatting, Stage


async def read_texts(socket: ClientConnection, client: Client) -> int:
    """Until it is closed; with which code."""
    try:
        async for text in socket:
            event: dict[str, Any] = msgspec.json.decode(text)
            assert set(event) == {"event", "id", "data"}
            client.apply(event["event"], event["id"], event["data"])
    except ConnectionClosed:
        pass
    assert socket.close_code is not None
    return socket.close_code


def address(port: int, chat: Chatting, client: Client) -> str:
    resuming = f"&cursor={client.cursor}" if client.cursor else ""
    return f"ws://127.0.0.1:{port}/ws?chat={chat.id}{resuming}"


async def test_the_same_feed_over_a_websocket(stage: Stage) -> None:
    chat = await stage.chat()
    client = Client()
    async with listening(stage.hub) as port:
        for n in range(3):
            async with connect(address(port, chat, client)) as socket:
                reading = asyncio.create_task(read_texts(socket, client))
                await socket.send("whatever")
                await chat.begin()
                chat.stream("Hi ", "you")
                await client.until(lambda c: c.preview and c.preview.text == "Hi you")
                await chat.finish()
                stored = await said_in(stage.store, chat.id)
                await client.until(lambda c, stored=stored: c.said == stored and c.preview is None)
                await socket.close()
                await reading
            await chat.send(f"again {n}")
        assert "preview_reset" not in client.names
        assert "history_reset" not in client.names
        await eventually(lambda: stage.hub.watchers == 0)


@pytest.mark.parametrize("ending, code", [("closing", 4503), ("access", 4403), ("deleted", 4404)])
async def test_the_close_says_why(stage: Stage, ending: str, code: int) -> None:
    chat = await stage.chat()
    client = Client()
    async with listening(stage.hub) as port, connect(address(port, chat, client)) as socket:
        reading = asyncio.create_task(read_texts(socket, client))
        await client.until(lambda c: "caught_up" in c.names)
        match ending:
            case "closing":
                await stage.hub.close()
            case "access":
                stage.hub.cut(lambda watcher: watcher.label == "test")
            case _:
                await stage.store.transition(chat.id, Delete())
        assert await reading == code
        assert client.state["closing"] == {"reason": ending}
