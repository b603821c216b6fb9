"""Dying inside a commit: after everything it writes is written, and before anybody can know that it counts.

On SQLite the process ends in front of the COMMIT of the transaction that wrote to the chat; on PostgreSQL as
soon as the statement that commits is on its way, so that the server may or may not come to its end."""

import asyncio
import os
import random
import re
import signal
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import asyncpg

from holdfast.core.ids import ChatId
from holdfast.store.query import Value
from holdfast.store.sqlite.connection import Connection

_WRITES = re.compile(r"\b(INSERT INTO|DELETE FROM|UPDATE \w+( \w+)? SET)\b")


class Inside:
    """Made once in a victim, before it opens a store."""

    def __init__(self) -> None:
        self._chat_id: ChatId | None = None
        self._written = False
        self._watch_sqlite()
        self._watch_postgres()

    def die_with(self, chat_id: ChatId) -> None:
        """The next commit that writes to this chat is the last thing this process does."""
        self._chat_id = chat_id

    def _watch_sqlite(self) -> None:
        run = Connection.run

        def watched_run(connection: Connection, sql: str, args: Sequence[Value] = ()) -> int:
            if sql == "COMMIT" and self._written:
                _die()
            if self._chat_id is not None and self._chat_id in args:
                self._written = True
            return run(connection, sql, args)

        _put(Connection, "run", watched_run)

    def _watch_postgres(self) -> None:
        fetch: Any = asyncpg.Connection.fetch
        execute: Any = asyncpg.Connection.execute

        async def watched_fetch(connection: Any, sql: str, *args: Any, **more: Any) -> Any:
            if self._chat_id is not None and _WRITES.search(sql) and self._chat_id in repr(args):
                if not connection.is_in_transaction():
                    # It commits by itself.
                    await _die_once_sent(lambda: fetch(connection, sql, *args, **more))
                self._written = True
            return await fetch(connection, sql, *args, **more)

        async def watched_execute(connection: Any, sql: str, *args: Any, **more: Any) -> Any:
            if sql == "COMMIT" and self._written:
                await _die_once_sent(lambda: execute(connection, sql, *args, **more))
            return await execute(connection, sql, *args, **more)

        _put(asyncpg.Connection, "fetch", watched_fetch)
        _put(asyncpg.Connection, "execute", watched_execute)


def _put(place: object, name: str, what: Callable[..., object]) -> None:
    setattr(place, name, what)


async def _die_once_sent(ask: Callable[[], Awaitable[object]]) -> None:
    """Some milliseconds later, by chance: sometimes the server is quicker, sometimes it never gets it all."""
    asking = asyncio.ensure_future(ask())
    await asyncio.wait({asking}, timeout=random.choice((0, 0.001, 0.003)))
    _die()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
