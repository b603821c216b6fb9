"""A feed over a WebSocket, on plain ASGI: each event is one text, `{"event", "id", "data"}`. What the client
says is ignored. The code of the close says why; after 4408, 4500 and 4503 a client comes back with the last
id it has."""

from collections.abc import Callable

from holdfast.feed.connection import Receive, Send, converse
from holdfast.feed.frames import Batch
from holdfast.feed.watcher import Ending, Watcher

CLOSES: dict[Ending, tuple[int, str]] = {
    "access": (4403, "You may not watch this any more."),
    "deleted": (4404, "There is nothing left to watch."),
    "slow": (4408, "You did not read. Come back with the last id."),
    "failed": (4500, "The feed failed. Come back with the last id."),
    "closing": (4503, "The server is stopping. Come back with the last id."),
}


async def respond(
    watcher: Watcher, receive: Receive, send: Send, *, abort: Callable[[], None] | None = None
) -> None:
    """The whole conversation, from accepting the connection on. `abort` drops the connection of a client that
    does not read."""
    if (await receive())["type"] != "websocket.connect":
        return
    await send({"type": "websocket.accept"})
    if await converse(watcher, _send_all(watcher, send), _until_disconnect(receive)):
        code, reason = CLOSES[watcher.ending or "closing"]
        await send({"type": "websocket.close", "code": code, "reason": reason})
    elif watcher.ending is not None and abort is not None:
        abort()


async def _send_all(watcher: Watcher, send: Send) -> None:
    while (batch := await anext(watcher, None)) is not None:
        await _send_texts(send, batch)
        # Nothing of it is kept while waiting for the next.
        del batch


async def _send_texts(send: Send, batch: Batch) -> None:
    for text in batch.texts:
        await send({"type": "websocket.send", "text": text})


async def _until_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "websocket.disconnect":
        pass
