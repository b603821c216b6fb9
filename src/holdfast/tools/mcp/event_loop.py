"""A thread with its own event loop in which all of MCP runs: the library takes a second or more to load and
reads untrusted input, and chats must not wait for either."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class McpLoop:
    """Started when first needed, and kept until closed: the kernel ends programs behind the wall together
    with the thread that started them."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    @property
    def started(self) -> bool:
        return self._loop is not None

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Runs a coroutine in that thread. Cancelling the caller cancels it there."""
        if self._closed:
            raise RuntimeError("the server is stopping")
        if self._loop is None:
            self._start()
        assert self._loop is not None
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(), self._loop))

    async def close(self) -> None:
        self._closed = True
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            await asyncio.to_thread(self._thread.join)
            self._loop = None

    def _start(self) -> None:
        loop = asyncio.new_event_loop()
        self._loop = loop
        self._thread = threading.Thread(target=_live, args=(loop,), name="holdfast-mcp", daemon=True)
        self._thread.start()


def _live(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()
