"""Messages of a server over standard input and output, one per line. The program's output is untrusted:
line size and message rate are limited, and lines that are no messages are counted. It imports the
library, so import it only in the MCP thread."""

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

import anyio
import mcp_types as types
from mcp.client._transport import TransportStreams
from mcp.shared._context_streams import ContextReceiveStream, ContextSendStream, create_context_streams
from mcp.shared.message import SessionMessage

from holdfast.core.text import clean_deep
from holdfast.workspaces.commands.piped_programs import PipedProgram

LINE_BYTES = 16 * 1024 * 1024
CHUNK_BYTES = 64 * 1024
# Above these rates a server is slowed down; above the last it is stopped.
MESSAGES_A_SECOND = 500
WINDOW_SECONDS = 10.0
MOST_IN_WINDOW = 4000
MOST_GARBAGE = 200


def _message(line: bytes) -> types.JSONRPCMessage | None:
    """The message, or None if the line is none."""
    text = line.decode("utf-8", "replace")
    try:
        return types.jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValueError:
        pass
    try:
        # The library rejects lone surrogates; the rest of the text is kept.
        return types.jsonrpc_message_adapter.validate_python(clean_deep(json.loads(text)), by_name=False)
    except (ValueError, RecursionError):
        return None


class Misbehaved(Exception):
    """Why a misbehaving server was stopped."""


class StdioServer:
    """A program that speaks the protocol, with its input and output."""

    def __init__(self, program: PipedProgram, on_end: Callable[[str], None]) -> None:
        self._program = program
        self._on_end = on_end
        self._garbage = 0
        self._window = time.monotonic()
        self._in_window = 0
        self._came: deque[float] = deque(maxlen=MESSAGES_A_SECOND)

    @asynccontextmanager
    async def streams(self) -> AsyncGenerator[TransportStreams]:
        to_session, read_stream = create_context_streams[SessionMessage | Exception](0)
        write_stream, from_session = create_context_streams[SessionMessage](0)
        reading = asyncio.create_task(self._read(to_session))
        writing = asyncio.create_task(self._write(from_session))
        try:
            yield read_stream, write_stream
        finally:
            for task in (reading, writing):
                task.cancel()
            await asyncio.gather(reading, writing, return_exceptions=True)
            for stream in (to_session, read_stream, write_stream, from_session):
                await stream.aclose()

    async def _read(self, to_session: ContextSendStream[SessionMessage | Exception]) -> None:
        reason = "its program ended"
        try:
            await self._read_lines(to_session)
        except Misbehaved as error:
            reason = str(error)
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass
        # Pending requests fail with the reason.
        self._on_end(reason)
        await to_session.aclose()

    async def _read_lines(self, to_session: ContextSendStream[SessionMessage | Exception]) -> None:
        rest = bytearray()
        while piece := await self._program.output.read(CHUNK_BYTES):
            rest += piece
            if b"\n" not in piece:
                if len(rest) > LINE_BYTES:
                    raise Misbehaved(f"it sent a message of more than {LINE_BYTES // 2**20} MiB")
                continue
            *lines, last = bytes(rest).split(b"\n")
            rest = bytearray(last)
            for line in lines:
                if line.strip():
                    await self._take(line, to_session)

    async def _take(self, line: bytes, to_session: ContextSendStream[SessionMessage | Exception]) -> None:
        message = _message(line)
        if message is None:
            self._garbage += 1
            if self._garbage > MOST_GARBAGE:
                raise Misbehaved("what it says is not the protocol")
            return
        self._garbage = 0
        await self._slow_down()
        await to_session.send(SessionMessage(message))

    async def _slow_down(self) -> None:
        now = time.monotonic()
        if now - self._window > WINDOW_SECONDS:
            self._window, self._in_window = now, 0
        self._in_window += 1
        if self._in_window > MOST_IN_WINDOW:
            raise Misbehaved("it sends messages without end")
        if len(self._came) == MESSAGES_A_SECOND and now - self._came[0] < 1.0:
            await asyncio.sleep(1.0 - (now - self._came[0]))
        self._came.append(time.monotonic())

    async def _write(self, from_session: ContextReceiveStream[SessionMessage]) -> None:
        with suppress(OSError, anyio.ClosedResourceError):
            async for sent in from_session:
                text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                self._program.input.write(text.encode() + b"\n")
                await self._program.input.drain()
