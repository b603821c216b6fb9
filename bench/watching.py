"""Watchers of a feed, ours or a floor's, that do as little as a client can: they count the events that arrive
and look for the one that ends the stream."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp

from bench.processes import cpu_seconds, peak_mb
from bench.task import Figures, Speaks, Task

# As they stand in an SSE event and in a WebSocket message.
PART = ("event: part", '{"event":"part"')
CAUGHT_UP = ("event: caught_up", '{"event":"caught_up"')
MESSAGE = ("event: message", '{"event":"message"')
# One alone is over before it can be measured.
SHORT_STREAMS = 8
_ASSISTANT = '"role":"assistant"'


class Watcher:
    """`greeted`: it has been told what was before. `ended`: the message of the stream has come."""

    def __init__(self) -> None:
        self.parts = 0
        self.first_at = 0.0
        self.last_at = 0.0
        self.greeted = asyncio.Event()
        self.ended = asyncio.Event()

    def again(self) -> None:
        self.parts = 0
        self.first_at = self.last_at = 0.0
        self.ended.clear()

    def see(self, event: str) -> None:
        if event.startswith(PART):
            now = time.perf_counter()
            self.parts += 1
            self.first_at = self.first_at or now
            self.last_at = now
        elif event.startswith(MESSAGE) and _ASSISTANT in event:
            self.ended.set()
        elif event.startswith(CAUGHT_UP):
            self.greeted.set()

    async def listen(self, response: aiohttp.ClientResponse | aiohttp.ClientWebSocketResponse) -> None:
        if isinstance(response, aiohttp.ClientResponse):
            await self._listen_sse(response)
            return
        async for message in response:
            self.see(message.data)

    async def _listen_sse(self, response: aiohttp.ClientResponse) -> None:
        pending = ""
        async for chunk in response.content.iter_any():
            *events, pending = (pending + chunk.decode()).split("\n\n")
            for event in events:
                self.see(event)


@asynccontextmanager
async def watchers(
    session: aiohttp.ClientSession, speaks: Speaks, urls: list[str], headers: dict[str, str]
) -> AsyncGenerator[list[Watcher]]:
    """One for each address, all greeted."""
    listening: list[asyncio.Task[None]] = []
    found = [Watcher() for _ in urls]
    async with AsyncExitStack() as stack:
        for watcher, url in zip(found, urls, strict=True):
            opening: Any = (
                session.get(url, headers=headers, timeout=aiohttp.ClientTimeout(total=None))
                if speaks == "sse"
                else session.ws_connect(url.replace("/feed", "/feed/ws"), headers=headers, max_msg_size=0)
            )
            response = await stack.enter_async_context(opening)
            listening.append(asyncio.create_task(watcher.listen(response)))
        try:
            await everybody(found, lambda watcher: watcher.greeted)
            yield found
        finally:
            for task in listening:
                task.cancel()
            await asyncio.wait(listening)


async def everybody(found: list[Watcher], event: Callable[[Watcher], asyncio.Event]) -> None:
    for watcher in found:
        await event(watcher).wait()


async def measure(
    task: Task, pid: int, found: list[Watcher], stream: Callable[[], Awaitable[None]]
) -> Figures:
    """Streams that all the watchers get, one after the other; counted are the events that arrive. The delays
    are those of the first."""
    events, seconds, cpu = 0, 0.0, cpu_seconds(pid)
    delays: list[float] = []
    times = max(SHORT_STREAMS // len(found), 1)
    for _ in range(times):
        start = time.perf_counter()
        await stream()
        seconds += max(watcher.last_at for watcher in found) - start
        events += sum(watcher.parts for watcher in found)
        delays += [watcher.first_at - start for watcher in found]
    if not events:
        raise RuntimeError("nothing was seen live")
    delays.sort()
    return Figures(
        count=events,
        seconds=seconds,
        cpu_seconds=cpu_seconds(pid) - cpu,
        p50_ms=delays[len(delays) // 2] * 1000,
        p99_ms=delays[-1] * 1000,
        peak_mb=peak_mb(pid),
        also={"deltas an event": times * task.each * len(found) / events},
    )
