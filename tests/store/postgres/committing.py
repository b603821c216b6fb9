"""Run as a program: opens the store at a URL and commits without end, saying each version that was
acknowledged. To be killed. Several chats at once, so that commits are grouped; people's commands in
between."""

import asyncio
import os
import sys

from holdfast.chats.commands import BeginAttempt, Send, StartCalls
from holdfast.chats.view import View
from holdfast.core.ids import CallId
from holdfast.store.postgres import open_postgres
from holdfast.store.postgres.store import PostgresStore
from tests.store.postgres.replicas import applied, created, fence_of, nowhere
from tests.store.world import answer, call, finished, text

CHATS = 8


async def main(url: str) -> None:
    store = await open_postgres(url, publish=nowhere)
    worker = await store.register_worker("doomed", 3600)
    wanted = {(await created(store)).chat.id for _ in range(CHATS)}
    views = await store.acquire(worker, limit=10_000, agents_limit=0)
    await asyncio.gather(*(commit(store, view) for view in views if view.chat.id in wanted))


async def commit(store: PostgresStore, view: View) -> None:
    fence = fence_of(view)
    step = 0
    while True:
        step += 1
        call_id = CallId(f"{os.getpid()}-{step}")
        for commands in (
            (BeginAttempt(),),
            (answer(call(call_id), content=f"step {step} " * 50), StartCalls(call_ids=(call_id,))),
            (finished(call_id, "x" * 2000, full_output="y" * 5000),),
        ):
            view = said(applied(await store.transition(view.chat.id, *commands, fence=fence, view=view)))
        if step % 5 == 0:
            steer = Send(parts=text(f"steer {step}"), busy="steer", created_by=view.chat.owner_id)
            view = said(applied(await store.transition(view.chat.id, steer)))


def said(view: View) -> View:
    # One write: a line is there whole or not at all.
    os.write(1, f"{view.chat.id} {view.chat.version} {view.chat.message_count}\n".encode())
    return view


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
