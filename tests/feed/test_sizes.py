"""How much memory feeds take: a long absence, watchers that are idle, watchers that do not read."""

import asyncio
import gc
import socket
import tracemalloc
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.chats.commands import CommitStep, NewMessage, NewStep
from holdfast.feed.frames import FRAME_BYTES
from holdfast.feed.limits import LIMITS
from tests.feed.client import Client, eventually, said_in
from tests.feed.server import listening
from tests.feed.stage import Chatting, Stage, staged
from tests.store.world import text

MIB = 1024 * 1024
pytestmark = pytest.mark.heavy


class Measured:
    peak = 0
    kept = 0


@contextmanager
def measured() -> Generator[Measured]:
    """What the block took more than there was, at most and at its end."""
    gc.collect()
    tracemalloc.start()
    measured = Measured()
    try:
        yield measured
        _, measured.peak = tracemalloc.get_traced_memory()
        gc.collect()
        measured.kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()


async def commit_much(stage: Stage, chat: Chatting, messages: int, size: int) -> None:
    """History of so many messages; a step of one message each."""
    await chat.begin()
    started_at = (await chat.view()).chat.updated_at
    for n in range(messages):
        content = f"{n} " + "x" * size
        step = NewStep(started_at=started_at)
        said = NewMessage(role="assistant", parts=text(content))
        await chat.do(CommitStep(step=step, messages=(said,)))


@pytest.mark.timeout(600)
async def test_sixty_megabytes_missed_never_sit_in_memory(tmp_path: Path) -> None:
    async with staged("sqlite", tmp_path, LIMITS) as stage:
        chat = await stage.chat()
        client = Client()
        await client.connect(stage.hub, chat.id, 1)
        await commit_much(stage, chat, messages=200, size=300_000)
        largest = received = 0
        with measured() as memory:
            async with stage.hub.watch(chat.id, cursor=client.cursor) as watcher:
                async for batch in watcher:
                    largest = max(largest, *(len(frame.sse) for frame in batch.frames))
                    received += sum(len(frame.data) for frame in batch.frames)
                    if any(frame.event == "caught_up" for frame in batch.frames):
                        break
        assert received > 60_000_000
        assert largest <= FRAME_BYTES
        assert memory.peak < 12 * MIB


async def test_an_idle_watcher_takes_little(tmp_path: Path) -> None:
    """The whole of it: the connection, its tasks, the room of its chat. The clients are plain sockets."""
    count = 200
    async with staged("sqlite", tmp_path, LIMITS) as stage, listening(stage.hub) as port:
        chats = [await stage.chat() for _ in range(count)]
        await (await stage.chat()).own()
        loop = asyncio.get_running_loop()
        with measured() as memory:
            clients: list[socket.socket] = []
            for chat in chats:
                client = socket.create_connection(("127.0.0.1", port))
                client.setblocking(False)
                await loop.sock_sendall(
                    client, f"GET /feed?chat={chat.id} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
                )
                received = b""
                while b"caught_up" not in received:
                    received += await loop.sock_recv(client, 65536)
                clients.append(client)
                received = b""
        assert memory.kept / count < 40_000
        for client in clients:
            client.close()
        await eventually(lambda: stage.hub.watchers == 0)


async def test_two_hundred_watchers_that_do_not_read(tmp_path: Path) -> None:
    async with staged("sqlite", tmp_path, LIMITS) as stage, listening(stage.hub) as port:
        chat = await stage.chat()
        await chat.begin()
        reading = Client()
        watching = asyncio.create_task(reading.connect(stage.hub, chat.id))
        watching.add_done_callback(reading.note_end)
        loop = asyncio.get_running_loop()
        deaf: list[socket.socket] = []
        with measured() as memory:
            for _ in range(200):
                client = socket.socket()
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.setblocking(False)
                await loop.sock_connect(client, ("127.0.0.1", port))
                await loop.sock_sendall(
                    client, f"GET /feed?chat={chat.id} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
                )
                deaf.append(client)
            await eventually(lambda: stage.hub.watchers == 201)
            sent = 0
            while stage.hub.watchers > 1:
                chat.stream("y" * 50_000)
                sent += 50_000
                await reading.until(lambda c, sent=sent: c.preview and len(c.preview.text) == sent)
        assert memory.peak < 64 * MIB
        await chat.finish()
        stored = await said_in(stage.store, chat.id)
        await reading.until(lambda c: c.preview is None and len(c.said) == len(stored))
        watching.cancel()
        await asyncio.wait([watching])
        for client in deaf:
            client.close()
