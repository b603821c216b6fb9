"""The least that live text costs. `python -m bench.floor.stream_server relay URL` reads, for each connection,
what the model at this address streams, and sends an event for each delta: with the HTTP client and through
the HTTP server that Holdfast uses. `fan_out` makes its events up, encodes every one once and writes it to all
connections. What they send looks like an event of a feed."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from typing import Any, cast
from urllib.parse import parse_qs

import aiohttp
import msgspec
import uvicorn

from bench.model_server import STREAM

_ID = "1.5.01a1e3f5-5c48-738f-8e0b-7ac02dfa0691.5..6.1.{n}.deadbeef"
_PART = (
    '{{"history_version":6,"attempt":1,"n":{n},"role":"assistant","part":{{"type":"text","text":{text}}}}}'
)
_MESSAGE = '{"message":{"role":"assistant","parts":[]}}'


def sse(event: str, n: int, data: str) -> str:
    return f"event: {event}\nid: {_ID.format(n=n)}\ndata: {data}\n\n"


def text(event: str, n: int, data: str) -> str:
    return f'{{"event":"{event}","id":"{_ID.format(n=n)}","data":{data}}}'


# --- a stream for each connection ---


class Delta(msgspec.Struct):
    content: str | None = None


class Choice(msgspec.Struct):
    delta: Delta


class Chunk(msgspec.Struct):
    choices: list[Choice]


_chunk = msgspec.json.Decoder(Chunk)


class Relay:
    def __init__(self, model_url: str) -> None:
        self._model_url = model_url
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
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
            n = 0
            async for said in self._deltas():
                n += 1
                await say(written("part", n, _PART.format(n=n, text=msgspec.json.encode(said).decode())))
            await say(written("message", n, _MESSAGE))

    async def _deltas(self) -> AsyncGenerator[str]:
        asked: dict[str, object] = {"model": f"{STREAM}{self._count}", "stream": True, "messages": []}
        async with self._session.post(f"{self._model_url}/chat/completions", json=asked) as response:
            pending = b""
            async for received in response.content.iter_any():
                *events, pending = (pending + received).split(b"\n\n")
                for event in events:
                    data = event.removeprefix(b"data: ")
                    if data == b"[DONE]":
                        continue
                    for choice in _chunk.decode(data).choices:
                        if choice.delta.content:
                            yield choice.delta.content


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
            count = int(path.rpartition("=")[2])
            for n in range(1, count + 1):
                self._write(sse("part", n, _PART.format(n=n, text=f'"word{n} "')))
            self._write(sse("message", count, _MESSAGE))
        else:
            self._watching.add(self._transport)
            greeting = sse("caught_up", 0, "{}")
            self._transport.write(
                f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{greeting}".encode()
            )

    def _write(self, event: str) -> None:
        encoded = event.encode()
        for transport in self._watching:
            transport.write(encoded)


async def fan_out() -> None:
    watching: set[asyncio.WriteTransport] = set()
    server = await asyncio.get_running_loop().create_server(lambda: FanOut(watching), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


async def relay(model_url: str) -> None:
    config = uvicorn.Config(
        cast(Any, Relay(model_url)),
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
    main = relay(sys.argv[2]) if sys.argv[1] == "relay" else fan_out()
    try:
        import uvloop
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)
