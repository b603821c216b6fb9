"""The bus of several processes through PostgreSQL: LISTEN and NOTIFY on a separate connection, at most 100
notifications a second.

Needs a session: pgbouncer works in session mode, but not in transaction or statement mode.
"""

from collections.abc import Callable
from typing import TypeAlias

import asyncpg

from holdfast.bus.outbox import PAYLOAD_BYTES
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
SEND = "SELECT pg_notify($1, $2)"
SECONDS_BETWEEN = 0.01

BROKEN = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


class PostgresBus(RemoteBus):
    def __init__(
        self,
        url: str,
        *,
        peers: Callable[[], bool] = lambda: True,
        announces: bool = False,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        async def connect(receive: Receive, ended: Callable[[], None]) -> PostgresLine:
            return await PostgresLine.open(url, answer_seconds, receive, ended)

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


class PostgresLine:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @classmethod
    async def open(
        cls, url: str, answer_seconds: float, receive: Receive, ended: Callable[[], None]
    ) -> "PostgresLine":
        connection: Connection = await asyncpg.connect(
            url,
            timeout=CONNECT_SECONDS,
            command_timeout=answer_seconds,
            # A hint lost in a database crash does not matter: everybody reconnects and reads again.
            server_settings={"application_name": "holdfast bus", "synchronous_commit": "off"},
        )

        def notified(_connection: object, _pid: int, _channel: str, payload: object) -> None:
            if isinstance(payload, str):
                receive(payload)

        try:
            await connection.add_listener(CHANNEL, notified)
        except BaseException:
            connection.terminate()
            raise
        connection.add_termination_listener(lambda _: ended())
        return cls(connection)

    async def send(self, payload: str) -> None:
        await self._connection.execute(SEND, CHANNEL, payload)

    async def ask(self) -> None:
        await self._connection.execute("SELECT 1")

    def is_closed(self) -> bool:
        return self._connection.is_closed()

    async def close(self) -> None:
        await self._connection.close(timeout=CLOSE_SECONDS)

    async def terminate(self) -> None:
        self._connection.terminate()
