"""A scripted model in the OpenAI chat format, in a process of its own on loopback: asks for the tool until
the turn has had its ten steps, then answers with text. As `stream-2000` it says two thousand words; as `held`
it keeps everybody waiting in the middle of the turn until it is told to go on. As quick as it can be, so that
it is not what is measured."""

import asyncio
import subprocess
import sys
from functools import cache
from typing import IO

import msgspec

from bench.contender import ROOT
from bench.ours.working import INPUT, TOOL

CALLS = 9
STREAM = "stream-"
HELD = "held"
HELD_AFTER = 5
NO_ITEMS: dict[str, list[str]] = {"items": []}
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
STOP_SECONDS = 10


class ModelServer:
    """Use as a context manager. It ends with the bench: its input ends then."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.model_server"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        port = _pipe(self._process.stdout).readline().strip().decode()
        self.url = f"http://127.0.0.1:{port}/v1"

    def __enter__(self) -> "ModelServer":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait(STOP_SECONDS)
        _pipe(self._process.stdin).close()
        _pipe(self._process.stdout).close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


# --- in its process ---


class Said(msgspec.Struct):
    role: str


class Asked(msgspec.Struct):
    messages: list[Said]
    model: str = ""
    stream: bool = False


_asked = msgspec.json.Decoder(Asked)


class Hold:
    """Who waits in the middle of a turn: `/hold` lets them wait from now on, `/go` lets all go on, `/held`
    says how many wait."""

    def __init__(self) -> None:
        self._holding = True
        self._waiting: list[tuple[asyncio.WriteTransport, Asked]] = []

    def command(self, path: bytes) -> bytes:
        if path == b"/go":
            self._holding = False
            for transport, asked in self._waiting:
                transport.write(answer(asked))
            self._waiting.clear()
        elif path == b"/hold":
            self._holding = True
        said = b"%d" % len(self._waiting)
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(said), said)

    def takes(self, transport: asyncio.WriteTransport, asked: "Asked") -> bool:
        if not self._holding or asked.model != HELD or answered(asked) != HELD_AFTER:
            return False
        self._waiting.append((transport, asked))
        return True


class Connection(asyncio.Protocol):
    """As much HTTP/1.1 as clients on loopback use: requests with a length, one after the other."""

    def __init__(self, hold: Hold) -> None:
        self._hold = hold
        self._received = bytearray()
        self._transport: asyncio.WriteTransport | None = None

    # `override` comes with Python 3.12.
    def connection_made(self, transport: asyncio.BaseTransport) -> None:  # pyright: ignore[reportImplicitOverride]
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:  # pyright: ignore[reportImplicitOverride]
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._received[:end]).lower()
            _, _, rest = head.partition(b"\r\ncontent-length:")
            length = int(rest.partition(b"\r\n")[0] or 0)
            if len(self._received) < end + 4 + length:
                return
            body = bytes(self._received[end + 4 : end + 4 + length])
            del self._received[: end + 4 + length]
            self._answer(head.split(b" ", 2)[1], body)

    def _answer(self, path: bytes, body: bytes) -> None:
        assert self._transport is not None
        if not body:
            self._transport.write(self._hold.command(path))
            return
        asked = _asked.decode(body)
        if not self._hold.takes(self._transport, asked):
            self._transport.write(answer(asked))


def answer(asked: Asked) -> bytes:
    if asked.model.startswith(STREAM):
        return _words(int(asked.model.removeprefix(STREAM)))
    number = answered(asked)
    call = None
    if number < CALLS:
        call = _call(number, "todo", NO_ITEMS) if asked.model == HELD else _call(number, TOOL, INPUT)
    return _stream(call) if asked.stream else _whole(call)


def answered(asked: Asked) -> int:
    """Calls of this turn that have a result."""
    count = 0
    for message in reversed(asked.messages):
        if message.role == "user":
            break
        count += message.role == "tool"
    return count


def _call(number: int, name: str, arguments: object) -> dict[str, object]:
    return {
        "index": 0,
        "id": f"call_{number}",
        "type": "function",
        "function": {"name": name, "arguments": msgspec.json.encode(arguments).decode()},
    }


def _message(call: dict[str, object] | None) -> dict[str, object]:
    if call is not None:
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    return {"role": "assistant", "content": "done"}


def _stream(call: dict[str, object] | None) -> bytes:
    end = "stop" if call is None else "tool_calls"
    chunks = [
        _chunk([{"index": 0, "delta": _message(call), "finish_reason": None}]),
        _chunk([{"index": 0, "delta": {}, "finish_reason": end}]),
        _chunk([], usage=USAGE),
    ]
    return _streamed(chunks)


@cache
def _words(count: int) -> bytes:
    """An event for each, in a chunk of its own."""
    words = [
        _chunk([{"index": 0, "delta": {"content": f"word{number} "}, "finish_reason": None}])
        for number in range(count)
    ]
    end = _chunk([{"index": 0, "delta": {}, "finish_reason": "stop"}])
    return _streamed([*words, end, _chunk([], usage=USAGE)])


def _streamed(chunks: list[dict[str, object]]) -> bytes:
    events = [b"data: %b\n\n" % msgspec.json.encode(chunk) for chunk in chunks]
    events.append(b"data: [DONE]\n\n")
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return b"".join([head, *(b"%x\r\n%b\r\n" % (len(event), event) for event in events), b"0\r\n\r\n"])


def _chunk(choices: list[object], **more: object) -> dict[str, object]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "scripted",
        "choices": choices,
        **more,
    }


def _whole(call: dict[str, object] | None) -> bytes:
    body = msgspec.json.encode(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": "scripted",
            "choices": [
                {
                    "index": 0,
                    "message": _message(call),
                    "finish_reason": "stop" if call is None else "tool_calls",
                }
            ],
            "usage": USAGE,
        }
    )
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    return head + body


async def main() -> None:
    loop = asyncio.get_running_loop()
    hold = Hold()
    server = await loop.create_server(lambda: Connection(hold), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(main())
