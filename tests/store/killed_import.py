"""A process that imports a chat and kills itself in the middle of writing it: `python -m
tests.store.killed_import URL DIRECTORY OWNER CHAT`."""

import asyncio
import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holdfast.chats.commands import Import
from holdfast.core.chats import Settings
from holdfast.core.ids import ChatId, MessageId, RandomIds, UserId
from holdfast.core.messages import Message
from holdfast.core.parts import Text
from holdfast.store.open import open_store
from holdfast.store.postgres.transaction import Transaction
from holdfast.store.sqlite.connection import Connection

NOW = datetime(2026, 1, 2, tzinfo=UTC)
MESSAGES = 2_000


def kill_after(owner: Any, name: str, count: int) -> None:
    """The method, and after so many calls of it the end."""
    real, left = getattr(owner, name), [count]

    def called(*args: Any) -> Any:
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args)

    setattr(owner, name, called)


async def main(url: str, data: Path, owner_id: UserId, chat_id: ChatId) -> None:
    store = await open_store(url, data=data, publish=lambda _: None)
    ids = RandomIds()
    history = tuple(
        Message(
            id=MessageId(ids.uuid7(NOW)),
            chat_id=chat_id,
            turn=1,
            role="user",
            parts=(Text(text=f"{n} " + "word " * 200),),
            revision=1,
            created_at=NOW,
        )
        for n in range(MESSAGES)
    )
    if store.engine == "sqlite":
        kill_after(Connection, "execute", MESSAGES // 2)
    else:
        kill_after(Transaction, "fetch", 4)
    await store.transition(chat_id, Import(owner_id=owner_id, settings=Settings(), messages=history))


if __name__ == "__main__":
    url, data, owner_id, chat_id = sys.argv[1:]
    asyncio.run(main(url, Path(data), UserId(owner_id), ChatId(chat_id)))
