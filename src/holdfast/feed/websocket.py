"""A feed over a WebSocket, on plain ASGI: each event is one text message, `{"event", "id", "data"}`. Messages
from the client are ignored. The close code says why it ended; after 4408, 4500 and 4503 a client reconnects
with its last id. If the server accepts framed messages, they are framed once for all watchers."""

from holdfast.core.feed_events import ClosingReason
from holdfast.feed.connection import EXTENSION, Abort, Receive, Send, converse, drop
from holdfast.feed.frames import Batch
from holdfast.feed.watcher import Watcher

CLOSES: dict[ClosingReason, tuple[int, str]] = {
    "over": (1000, "The run is over."),
    "access": (4403, "You may not watch this any more."),
    "deleted": (4404, "There is nothing left to watch."),
    "slow": (4408, "You did not read. Come back with the last id."),
    "failed": (4500, "The feed failed. Come back with the last id."),
    "closing": (4503, "The server is stopping. Come back with the last id."),
}


# How much is written at once: this much is held for a client that does not read, besides what its socket
# holds.
WRITE_BYTES = 64 * 1024


async def respond(
    watcher: Watcher, receive: Receive, send: Send, *, framed: bool = False, abort: Abort | None = None
) -> None:
    """The whole conversation, starting with accepting the connection."""
    if (await receive())["type"] != "websocket.connect":
        return
    await send({"type": "websocket.accept"})
    if await converse(watcher, _send_all(watcher, send, framed), _until_disconnect(receive)):
        code, reason = CLOSES[watcher.ending or "closing"]
        await send({"type": "websocket.close", "code": code, "reason": reason})
    else:
        await drop(watcher, abort)


async def _send_all(watcher: Watcher, send: Send, framed: bool) -> None:
    write = _send_framed if framed else _send_texts
    while (batch := await anext(watcher, None)) is not None:
        await write(send, batch)
        # Drop the batch before waiting for the next.
        del batch


async def _send_texts(send: Send, batch: Batch) -> None:
    for text in batch.texts:
        await send({"type": "websocket.send", "text": text})


async def _send_framed(send: Send, batch: Batch) -> None:
    frames = batch.framed
    if len(frames) <= 2 * WRITE_BYTES:
        await send({"type": EXTENSION, "frames": frames})
        return
    for start in range(0, len(frames), WRITE_BYTES):
        await send({"type": EXTENSION, "frames": frames[start : start + WRITE_BYTES]})


async def _until_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "websocket.disconnect":
        pass
