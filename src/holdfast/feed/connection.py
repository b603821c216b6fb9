"""How a feed's connection comes to its end, whatever it speaks: all is sent, the client is gone, or the
watcher was ended and its client does not take the news."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from holdfast.feed.watcher import Watcher

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
# Drops the connection with what it holds, which closing it would wait to deliver.
Abort = Callable[[], None]

# What a server may offer beside plain ASGI, under this name in `scope["extensions"]`: `abort`; and for a
# WebSocket, that messages may come to it framed, as events of this type with `frames`.
EXTENSION = "holdfast.connection"

# For the last words, to who reads slowly.
FAREWELL_SECONDS = 1.0


async def drop(watcher: Watcher, abort: Abort | None) -> None:
    """The end of a connection whose client does not read."""
    if watcher.ending is not None and abort is not None:
        abort()
        # The server hears of it before it looks at what became of the response.
        await asyncio.sleep(0)


async def converse(
    watcher: Watcher, sending: Coroutine[Any, Any, None], listening: Coroutine[Any, Any, None]
) -> bool:
    """Runs both until the end. True: everything was sent, and the connection can be closed in good order."""
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
        # To or from who is gone anything may be raised: it is looked at, and left.
        problems = [task.exception() for task in (writer, reader) if not task.cancelled()]
    if is_gone or writer.cancelled():
        return False
    for problem in problems:
        if problem is not None:
            raise problem
    return True
