"""How a feed's connection comes to its end, whatever it speaks: all is sent, the client is gone, or the
watcher was ended and its client does not take the news."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from holdfast.feed.watcher import Watcher

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

# For the last words, to who reads slowly.
FAREWELL_SECONDS = 1.0


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
    if writer.cancelled() or is_gone:
        # Sending to who is gone may raise whatever the server likes.
        _ = writer.cancelled() or writer.exception()
        return False
    writer.result()
    return True
