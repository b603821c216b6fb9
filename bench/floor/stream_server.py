"""The least that live text costs: a server that only sends. `python -m bench.floor.stream_server asgi` gives
each connection a stream of its own, through the HTTP server that Holdfast uses; `fan_out` encodes every event
once and writes it to all connections. What it sends looks like an event of a feed."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from typing import Any, cast
from urllib.parse import parse_qs

import uvicorn

_ID = "1.5.01a1e3f5-5c48-738f-8e0b-7ac02dfa0691.5..6.1.{n}.deadbeef"
_PART = (
    '{{"history_version":6,"attempt":1,"n":{n},"role":"assistant",'
    '"part":{{"type":"text","text":"word{n} "}}}}'
)
_MESSAGE = '{"message":{"role":"assistant","parts":[]}}'


def sse(event: str, n: int, data: str) -> str:
    return f"event: {event}\nid: {_ID.format(n=n)}\ndata: {data}\n\n"


def text(event: str, n: int, data: str) -> str:
    return f'{{"event":"{event}","id":"{_ID.format(n=n)}","data":{data}}}'


def events(count: int, written: Callable[[str, int, str], str]) -> Iterator[str]:
    for n in range(1, count + 1):
        yield written("part", n, _PART.format(n=n))
    yield written("message", count, _MESSAGE)


# --- a stream for each connection ---


class Streams:
    def __init__(self) -> None:
        self._go = asyncio.Event()
        self._count = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        match scope["type"], scope["path"]:
            case "http", "/go":
                self._count = int(parse_qs(scope["query_string"].decode())["count"][0])
                self._go.set()
                self._go = asyncio.Event()
                await self._answer(send, b"")
            case "http", _:
                await self._sse(send)
            case _:
                await self._websocket(receive, send)

    async def _answer(self, send: Any, body: bytes) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": body})

    async def _sse(self, send: Any) -> None:
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})

        async def say(said: str) -> None:
            await send({"type": "http.response.body", "body": said.encode(), "more_body": True})

        await self._serve(say, sse)

    async def _websocket(self, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})

        async def say(said: str) -> None:
            await send({"type": "websocket.send", "text": said})

        await self._serve(say, text)

    async def _serve(self, say: Any, written: Callable[[str, int, str], str]) -> None:
        await say(written("caught_up", 0, "{}"))
        while True:
            await self._go.wait()
            for event in events(self._count, written):
                await say(event)


# --- one stream for all ---


class FanOut(asyncio.Protocol):
    """As much HTTP as a watcher needs."""

    def __init__(self, watching: set[asyncio.WriteTransport]) -> None:
        self._watching = watching
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:  # pyright: ignore[reportImplicitOverride]
        self._transport = cast(asyncio.WriteTransport, transport)

    def connection_lost(self, exc: Exception | None) -> None:  # pyright: ignore[reportImplicitOverride]
        if self._transport is not None:
            self._watching.discard(self._transport)

    def data_received(self, data: bytes) -> None:  # pyright: ignore[reportImplicitOverride]
        assert self._transport is not None
        path = data.split(b" ", 2)[1].decode()
        if path.startswith("/go"):
            self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
            for event in events(int(path.rpartition("=")[2]), sse):
                encoded = event.encode()
                for transport in self._watching:
                    transport.write(encoded)
        else:
            self._watching.add(self._transport)
            greeting = sse("caught_up", 0, "{}")
            self._transport.write(
                f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{greeting}".encode()
            )


async def fan_out() -> None:
    watching: set[asyncio.WriteTransport] = set()
    server = await asyncio.get_running_loop().create_server(lambda: FanOut(watching), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


async def asgi() -> None:
    config = uvicorn.Config(
        Streams(),
        port=0,
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        lifespan="off",
        log_level="error",
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn tells nobody
        await asyncio.sleep(0.01)
    print(server.servers[0].sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    serving.cancel()


if __name__ == "__main__":
    main = asgi if sys.argv[1] == "asgi" else fan_out
    try:
        import uvloop
    except ImportError:
        asyncio.run(main())
    else:
        uvloop.run(main())
