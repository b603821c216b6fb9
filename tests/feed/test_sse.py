"""Server-sent events over real HTTP: the bytes, coming back, going away, and clients that do not read."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import cast

import aiohttp
import msgspec
import pytest

from holdfast.feed.limits import FeedLimits
from tests.feed.client import Client, eventually, said_in
from tests.feed.server import listening
from tests.feed.stage import Stage, staged


async def read_events(response: aiohttp.ClientResponse, client: Client) -> None:
    """As a browser reads them: fields until an empty line. What is no event is noted by its name."""
    fields: dict[str, str] = {}
    async for line in response.content:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if line.startswith(b":"):
            fields["comment"] = value
        elif name:
            fields[name] = value
        elif "event" in fields:
            client.apply(fields["event"], fields.get("id"), msgspec.json.decode(fields["data"]))
            fields = {}
        else:
            client.names += fields
            client.changed.set()
            fields = {}


@pytest.fixture
async def browser() -> AsyncIterator[aiohttp.ClientSession]:
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(timeout=timeout, read_bufsize=4 * 1024 * 1024) as session:
        yield session


async def test_a_feed_is_an_event_stream(stage: Stage, browser: aiohttp.ClientSession) -> None:
    chat = await stage.chat()
    await chat.begin()
    async with (
        listening(stage.hub) as port,
        browser.get(f"http://127.0.0.1:{port}/feed?chat={chat.id}") as response,
    ):
        assert response.status == 200
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert response.headers["cache-control"] == "no-store"
        client = Client()
        reading = asyncio.create_task(read_events(response, client))
        reading.add_done_callback(client.note_end)
        await client.until(lambda c: "caught_up" in c.names)
        assert client.names[0] == "retry"
        chat.stream("Hi ", "you")
        await client.until(lambda c: c.preview and c.preview.text == "Hi you")
        await chat.finish()
        stored = await said_in(stage.store, chat.id)
        await client.until(lambda c: c.said == stored and c.preview is None)
        await stage.hub.close()
        await reading
        assert client.names[-1] == "closing"


async def test_a_browser_comes_back_with_the_last_id(stage: Stage, browser: aiohttp.ClientSession) -> None:
    chat = await stage.chat()
    await chat.answer("Hi.")
    client = Client()
    async with listening(stage.hub) as port:
        url = f"http://127.0.0.1:{port}/feed?chat={chat.id}"
        for text in ("one", "two"):
            headers = {"Last-Event-ID": client.cursor} if client.cursor else {}
            async with browser.get(url, headers=headers) as response:
                reading = asyncio.create_task(read_events(response, client))
                reading.add_done_callback(client.note_end)
                stored = await said_in(stage.store, chat.id)
                await client.until(lambda c, stored=stored: c.said == stored)
                reading.cancel()
                with suppress(asyncio.CancelledError):
                    await reading
            await chat.send(text)
            await chat.answer(f"{text}!")
        # Whoever went away is noticed.
        await eventually(lambda: stage.hub.watchers == 0)


async def test_a_quiet_feed_has_a_heartbeat(stage: Stage, browser: aiohttp.ClientSession) -> None:
    chat = await stage.chat()
    async with (
        listening(stage.hub, heartbeat_seconds=0.02) as port,
        browser.get(f"http://127.0.0.1:{port}/feed?chat={chat.id}") as response,
    ):
        client = Client()
        reading = asyncio.create_task(read_events(response, client))
        reading.add_done_callback(client.note_end)
        await client.until(lambda c: c.names.count("comment") >= 2)
        await chat.answer("Hi.")
        await client.until(lambda c: len(c.messages) == 2)
        await stage.hub.close()
        await reading


async def test_a_large_message_comes_whole_in_its_frame(stage: Stage, browser: aiohttp.ClientSession) -> None:
    chat = await stage.chat("y" * 900_000)
    async with (
        listening(stage.hub) as port,
        browser.get(f"http://127.0.0.1:{port}/feed?chat={chat.id}") as response,
    ):
        client = Client()
        reading = asyncio.create_task(read_events(response, client))
        reading.add_done_callback(client.note_end)
        stored = await said_in(stage.store, chat.id)
        await client.until(lambda c: c.said == stored)
        await stage.hub.close()
        await reading


async def test_clients_that_do_not_read_are_cut_and_harm_nobody(
    tmp_path: Path, browser: aiohttp.ClientSession
) -> None:
    limits = FeedLimits(poll_seconds=0.05, backlog_bytes=256 * 1024)
    async with staged("sqlite", tmp_path, limits) as stage:
        chat = await stage.chat()
        await chat.begin()
        async with listening(stage.hub) as port:
            url = f"http://127.0.0.1:{port}/feed?chat={chat.id}"
            deaf = [await connected_and_silent(port, chat.id) for _ in range(20)]
            async with browser.get(url) as response:
                client = Client()
                reading = asyncio.create_task(read_events(response, client))
                reading.add_done_callback(client.note_end)
                await eventually(lambda: stage.hub.watchers == 21)
                said = ""
                while stage.hub.watchers > 1:
                    chat.stream("z" * 100_000)
                    said += "z" * 100_000
                    await client.until(lambda c, said=said: c.preview and len(c.preview.text) == len(said))
                await stage.hub.close()
                await reading
            for _, writer in deaf:
                writer.close()


async def connected_and_silent(port: int, chat_id: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Asks for the feed and reads nothing of it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
    writer.write(f"GET /feed?chat={chat_id} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    await writer.drain()
    cast(asyncio.Transport, writer.transport).pause_reading()
    return reader, writer
