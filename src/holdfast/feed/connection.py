"""How a feed's connection ends, whatever its protocol: everything was sent, the client is gone, or the
watcher was ended and its client does not read the last event."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from holdfast.feed.watcher import Watcher

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
# Drops the connection with its unsent data; closing it would wait for delivery.
Abort = Callable[[], None]

# What a server may offer besides plain ASGI, under this name in `scope["extensions"]`: `abort`; and for a
# WebSocket, that messages may be passed to it already framed, as events of this type with `frames`.
EXTENSION = "holdfast.connection"

# Time for the last event to reach a slow reader.
FAREWELL_SECONDS = 1.0


async def drop(watcher: Watcher, abort: Abort | None) -> None:
    """Ends a connection whose client does not read."""
    if watcher.ending is not None and abort is not None:
        abort()
        # The server is told before it checks what became of the response.
        await asyncio.sleep(0)


async def converse(
    watcher: Watcher, sending: Coroutine[Any, Any, None], listening: Coroutine[Any, Any, None]
) -> bool:
    """Runs both until the end. True: everything was sent, and the connection can be closed properly."""
    writer, reader = asyncio.create_task(sending), asyncio.create_task(listening)
    ended = asyncio.get_running_loop().create_future()
    watcher.when_ended = lambda: ended.set_result(None)
    if watcher.ending is not None:
        ended.set_result(None)
    try:
        await asyncio.wait({writer, reader, ended}, return_when=asyncio.FIRST_COMPLETED)
        if ended.done() and watcher.ending != "slow":
            await asyncio.wait(
                {writer, reader}, return_when=asyncio.FIRST_COMPLETED, timeout=FAREWELL_SECONDS
            )
        is_gone = reader.done()
    finally:
        watcher.when_ended = None
        ended.cancel()
        writer.cancel()
        reader.cancel()
        await asyncio.wait({writer, reader})
        # Reading from or writing to a closed connection may raise anything: retrieve it, and ignore it.
        problems = [task.exception() for task in (writer, reader) if not task.cancelled()]
    if is_gone or writer.cancelled():
        return False
    for problem in problems:
        if problem is not None:
            raise problem
    return True
