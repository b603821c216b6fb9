"""A feed as server-sent events, on plain ASGI. A quiet feed sends a comment every 15 seconds, so that both
ends notice a dead connection."""

import asyncio

from holdfast.feed.connection import Abort, Receive, Send, converse, drop
from holdfast.feed.watcher import Watcher

HEARTBEAT_SECONDS = 15.0
HEARTBEAT = b": still here\n\n"
RECONNECT_MILLISECONDS = 1000
# How much is written at once: this much is held for a client that does not read, besides what its socket
# holds.
WRITE_BYTES = 32 * 1024
HEADERS = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    # Proxies that buffer responses would hold back live events.
    (b"x-accel-buffering", b"no"),
)


async def respond(
    watcher: Watcher,
    receive: Receive,
    send: Send,
    *,
    abort: Abort | None = None,
    heartbeat_seconds: float = HEARTBEAT_SECONDS,
) -> None:
    """The whole response. For a client that does not read, it is aborted."""
    await send({"type": "http.response.start", "status": 200, "headers": list(HEADERS)})
    if await converse(watcher, _send_all(watcher, send, heartbeat_seconds), _until_disconnect(receive)):
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    else:
        await drop(watcher, abort)


async def _send_all(watcher: Watcher, send: Send, heartbeat_seconds: float) -> None:
    await _send(send, b"retry: %d\n\n" % RECONNECT_MILLISECONDS)
    while True:
        try:
            async with asyncio.timeout(heartbeat_seconds):
                batch = await anext(watcher, None)
        except TimeoutError:
            await _send(send, HEARTBEAT)
            continue
        if batch is None:
            return
        await _send(send, batch.sse)
        # Drop the batch before waiting for the next.
        del batch


async def _send(send: Send, body: bytes) -> None:
    if len(body) <= 2 * WRITE_BYTES:
        await send({"type": "http.response.body", "body": body, "more_body": True})
        return
    for start in range(0, len(body), WRITE_BYTES):
        piece = body[start : start + WRITE_BYTES]
        await send({"type": "http.response.body", "body": piece, "more_body": True})


async def _until_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
