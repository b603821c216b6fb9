"""Run as a program: opens the store of a file and commits without end, saying each version that was
acknowledged. To be killed. Several chats at once, so that commits are grouped."""

import asyncio
import os
import sys
from pathlib import Path

from holdfast.chats.change import Refusal
from holdfast.chats.commands import BeginAttempt, Create, Fence, Send, StartCalls
from holdfast.chats.view import View
from holdfast.core.chats import Settings
from holdfast.core.ids import CallId, ChatId
from holdfast.store.interface import Applied
from holdfast.store.sqlite.open import open_sqlite
from holdfast.store.sqlite.store import SqliteStore
from tests.store.world import answer, call, finished, fresh_id, text, user, view_of

CHATS = 8


async def main(file: Path) -> None:
    store = open_sqlite(file, publish=lambda _: None)
    worker = await store.register_worker("doomed", 3600)
    create = Create(owner_id=user(), settings=Settings(), parts=text("begin"))
    for _ in range(CHATS):
        await store.transition(ChatId(fresh_id()), create)
    views = await store.acquire(worker, limit=CHATS, agents_limit=0)
    await asyncio.gather(*(commit(store, view) for view in views))


async def commit(store: SqliteStore, view: View) -> None:
    fence = Fence(lease_number=view.chat.lease_number)
    step = 0
    while True:
        step += 1
        call_id = CallId(f"{os.getpid()}-{step}")
        for commands in (
            (BeginAttempt(),),
            (answer(call(call_id), content=f"step {step} " * 50), StartCalls(call_ids=(call_id,))),
            (finished(call_id, "x" * 2000, full_output="y" * 5000),),
        ):
            view = said(await store.transition(view.chat.id, *commands, fence=fence, view=view))
        if step % 10 == 0:
            sent = await store.transition(
                view.chat.id, Send(parts=text(f"steer {step}"), busy="steer", created_by=view.chat.owner_id)
            )
            view = said(sent)


def said(told: object) -> View:
    assert not isinstance(told, Refusal), told
    assert isinstance(told, Applied)
    view = view_of(told)
    # One write: a line is there whole or not at all.
    os.write(1, f"{view.chat.id} {view.chat.version} {view.chat.message_count}\n".encode())
    return view


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
