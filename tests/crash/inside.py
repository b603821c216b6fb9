"""Dying inside a commit: after everything it writes is written, and before anybody can know that it counts.

On SQLite the process ends in front of the COMMIT of the transaction that wrote to the chat; on PostgreSQL as
soon as the statement that commits is on its way, so that the server may or may not come to its end."""

import asyncio
import os
import random
import signal
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from holdfast.chats.change import Change
from holdfast.core.ids import ChatId
from holdfast.store.postgres import combiner
from holdfast.store.postgres.transaction import Transaction
from holdfast.store.query import Value
from holdfast.store.sqlite.connection import Connection


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
        original = Connection.run

        def run(connection: Connection, sql: str, args: Sequence[Value] = ()) -> int:
            if sql == "COMMIT" and self._written:
                _die()
            self._notice(args)
            return original(connection, sql, args)

        _put(Connection, "run", run)

    def _watch_postgres(self) -> None:
        fetch, write, commit = combiner.fetch, Transaction.write, Transaction.commit

        async def watched_fetch(connection: Any, sql: str, *args: Any) -> Any:
            # An owner's change is a statement of its own, which commits by itself.
            if self._chat_id is not None and self._chat_id in repr(args):
                await _die_once_sent(lambda: fetch(connection, sql, *args))
            return await fetch(connection, sql, *args)

        async def watched_write(transaction: Transaction, changes: Sequence[Change]) -> set[ChatId]:
            held = await write(transaction, changes)
            self._notice([change.chat_id for change in changes])
            return held

        async def watched_commit(transaction: Transaction) -> None:
            if self._written:
                await _die_once_sent(lambda: commit(transaction))
            await commit(transaction)

        _put(combiner, "fetch", watched_fetch)
        _put(Transaction, "write", watched_write)
        _put(Transaction, "commit", watched_commit)

    def _notice(self, values: Sequence[Value]) -> None:
        if self._chat_id is not None and self._chat_id in values:
            self._written = True


def _put(place: object, name: str, what: Callable[..., object]) -> None:
    setattr(place, name, what)


async def _die_once_sent(ask: Callable[[], Awaitable[object]]) -> None:
    """Some milliseconds later, by chance: sometimes the server is quicker, sometimes it never gets it all."""
    asking = asyncio.ensure_future(ask())
    await asyncio.wait({asking}, timeout=random.choice((0, 0.001, 0.003)))
    _die()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
