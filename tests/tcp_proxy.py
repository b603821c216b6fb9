"""A TCP proxy between a client and a server that can be told to lose things: all of it, or only the
answers."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Literal, Self
from urllib.parse import urlsplit

# pass: as it comes.  black_hole: nothing arrives, nothing is closed.  mute: the server hears, its answers are
# lost.
Mode = Literal["pass", "black_hole", "mute"]


class TcpProxy:
    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self._target = (parts.hostname, parts.port)
        self._parts = parts
        self._server: asyncio.Server | None = None
        self._pairs: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._lost: set[asyncio.StreamWriter] = set()
        self.mode: Mode = "pass"
        # Sees what the client sends before it goes on; may change the mode.
        self.watch: Callable[[bytes], None] = lambda data: None
        # For each new connection, what becomes of the server's answers on their way.
        self.answers: Callable[[], Callable[[bytes], bytes]] = lambda: bytes

    @property
    def url(self) -> str:
        assert self._server is not None
        port = self._server.sockets[0].getsockname()[1]
        credentials, at, _ = self._parts.netloc.rpartition("@")
        return self._parts._replace(netloc=f"{credentials}{at}127.0.0.1:{port}").geturl()

    def lead_to(self, url: str) -> None:
        """New connections go there from now on."""
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self._target = (parts.hostname, parts.port)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def cut(self) -> None:
        """Resets every connection."""
        for pair in self._pairs:
            for writer in pair:
                writer.transport.abort()

    def swallow_existing(self) -> None:
        """From now on nothing of the present connections arrives, and nobody is told; new ones work."""
        self._lost |= {writer for pair in self._pairs for writer in pair}

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._serve(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream, downstream = await asyncio.open_connection(*self._target)
        pair = (writer, downstream)
        self._pairs.add(pair)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._pump(reader, downstream, bytes, from_client=True))
                tasks.create_task(self._pump(upstream, writer, self.answers(), from_client=False))
        except* OSError:
            pass
        finally:
            self._pairs.discard(pair)
            downstream.transport.abort()

    async def _pump(
        self,
        source: asyncio.StreamReader,
        target: asyncio.StreamWriter,
        change: Callable[[bytes], bytes],
        *,
        from_client: bool,
    ) -> None:
        while data := await source.read(65536):
            if from_client:
                self.watch(data)
            if target in self._lost or self.mode == "black_hole" or (self.mode == "mute" and not from_client):
                continue
            target.write(change(data))
            await target.drain()
        raise ConnectionResetError  # one side has ended: end the other too
