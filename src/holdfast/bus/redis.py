"""The bus of several processes through Redis (or anything that speaks its protocol), for when PostgreSQL's
notifications are not enough: larger payloads, more often, without load on the database. An extra: nothing of
Redis is imported unless `bus.url` names one."""

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from holdfast.bus.remote import (
    ANSWER_SECONDS,
    CLOSE_SECONDS,
    CONNECT_SECONDS,
    HEARTBEAT_SECONDS,
    Receive,
    RemoteBus,
    new_origin,
)

CHANNEL = "holdfast"
PAYLOAD_BYTES = 64 * 1024
SECONDS_BETWEEN = 0.002

BROKEN = (RedisError, OSError, TimeoutError)


class RedisBus(RemoteBus):
    def __init__(
        self,
        url: str,
        *,
        peers: Callable[[], bool] = lambda: True,
        announces: bool = False,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        async def connect(receive: Receive, ended: Callable[[], None]) -> RedisLine:
            line = RedisLine(url, answer_seconds, receive, ended)
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    await line.open()
            except BaseException:
                await line.terminate()
                raise
            return line

        super().__init__(
            connect,
            broken=BROKEN,
            origin=new_origin(),
            payload_bytes=PAYLOAD_BYTES,
            seconds_between=SECONDS_BETWEEN,
            peers=peers,
            announces=announces,
            heartbeat_seconds=heartbeat_seconds,
        )


class RedisLine:
    """Two connections, one that listens and one that sends. A heartbeat goes the whole way, out on one and
    back on the other, over a channel that only this line listens to."""

    def __init__(self, url: str, answer_seconds: float, receive: Receive, ended: Callable[[], None]) -> None:
        # It must not reconnect by itself: what was missed meanwhile would never be known.
        client: Any = Redis.from_url(url, socket_timeout=None, retry=Retry(NoBackoff(), 0))  # pyright: ignore[reportUnknownMemberType]
        self._client = client
        self._listening: Any = client.pubsub(ignore_subscribe_messages=True)
        # A server's databases share their channels, but installations in different databases must not hear
        # each other.
        number = client.connection_pool.connection_kwargs.get("db", 0)
        self._channel = f"{CHANNEL}.{number}"
        self._own = f"{CHANNEL}.line.{secrets.token_hex(6)}"
        self._answer_seconds = answer_seconds
        self._receive = receive
        self._ended = ended
        self._alive = asyncio.Event()
        self._reading: asyncio.Task[None] | None = None

    async def open(self) -> None:
        await self._listening.subscribe(self._channel, self._own)
        self._reading = asyncio.create_task(self._read())
        # Until the subscription is confirmed, something could be missed.
        await self.ask()

    async def _read(self) -> None:
        try:
            async for message in self._listening.listen():
                if message["channel"] == self._own.encode():
                    self._alive.set()
                else:
                    self._receive(cast(bytes, message["data"]).decode(errors="replace"))
        except BROKEN:
            pass  # whoever serves the line sees that it is closed
        finally:
            self._ended()

    async def send(self, payload: str) -> None:
        async with asyncio.timeout(self._answer_seconds):
            await self._client.publish(self._channel, payload)

    async def ask(self) -> None:
        self._alive.clear()
        async with asyncio.timeout(self._answer_seconds):
            await self._client.publish(self._own, "")
            await self._alive.wait()

    def is_closed(self) -> bool:
        return self._reading is None or self._reading.done()

    async def close(self) -> None:
        await self.terminate()

    async def terminate(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait({self._reading})
        with suppress(*BROKEN):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._listening.aclose()
        with suppress(*BROKEN):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._client.aclose()
