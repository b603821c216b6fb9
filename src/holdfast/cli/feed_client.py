"""Watching a feed over connections that break: the feed is opened again with the id of the last event that
was seen, so nothing is missed and nothing comes twice. Only what another try cannot mend ends it."""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from holdfast.cli.client import Client, Params
from holdfast.cli.events import Event, FeedEventReader, Lost, Received, Reconnected
from holdfast.core.errors import Refused, Unreachable
from holdfast.core.ids import ChatId

_CHUNK = 64 * 1024
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.2, 10.0


@dataclass(frozen=True, slots=True)
class SeenEvent:
    """One event: as it came (None for what this client says itself) and as it is understood."""

    received: Received | None
    event: Event | None


async def watch(client: Client, chat_id: ChatId, *, tail: int | None = None) -> AsyncGenerator[SeenEvent]:
    """Never ends by itself. Raises Refused when the chat is gone or the token is worth nothing, and
    Unreachable when the server cannot be reached in the first place. Close it (`aclosing`)."""
    async with aclosing(lasting(client, f"/chats/{chat_id}/feed", {"tail": tail})) as feed:
        async for one in feed:
            yield SeenEvent(one, one.decoded()) if isinstance(one, Received) else SeenEvent(None, one)


async def lasting(
    client: Client, path: str, params: Params | None = None
) -> AsyncGenerator[Received | Lost | Reconnected]:
    """Any feed, as `watch` has a chat's."""
    last: str | None = None
    lost = False
    pause = FIRST_PAUSE_SECONDS
    while True:
        why = "the server closed the connection"
        try:
            async with aclosing(_connection(client, path, params, last)) as connection:
                async for received in connection:
                    if lost:
                        lost = False
                        yield Reconnected()
                    pause = FIRST_PAUSE_SECONDS
                    last = received.id or last
                    yield received
        except Unreachable as error:
            if last is None and not lost:
                raise
            why = error.text
        except Refused as error:
            if error.problem not in ("try_again", "rate_limited"):
                raise
            why = error.text
        if not lost:
            lost = True
            yield Lost(why)
        await asyncio.sleep(pause * random.uniform(0.75, 1.25))
        pause = min(pause * 2, LONGEST_PAUSE_SECONDS)


async def _connection(
    client: Client, path: str, params: Params | None, last: str | None
) -> AsyncGenerator[Received]:
    headers = {"Accept": "text/event-stream"}
    if last is not None:
        headers["Last-Event-ID"] = last
    reader = FeedEventReader()
    async with client.answer("GET", path, params=params, headers=headers, streamed=True) as response:
        async for chunk in response.content.iter_chunked(_CHUNK):
            for received in reader.feed(chunk):
                yield received
