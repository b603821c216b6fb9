"""A suspended user: nothing runs for them any more (AC-23)."""

import asyncio

import pytest

from holdfast.core.ids import ChatId
from holdfast.store import chats
from tests.api.serving import PATIENCE_SECONDS, Serving


async def until_it_rests(server: Serving, chat_id: str) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            chat = await server.parts.services.store.read(chats.chat(ChatId(chat_id)))
            if chat is not None and chat.status == "idle" and not chat.queue_length:
                return
            await asyncio.sleep(0.05)


async def suspend_last(server: Serving, *, yes: bool) -> None:
    user_id = (await server.admin.get("users")).json["items"][-1]["id"]
    assert (await server.admin.patch(f"users/{user_id}", {"suspended": yes})).status == 200


@pytest.mark.heavy
async def test_running_and_waiting_chats_stop(server: Serving) -> None:
    member = await server.member()
    long = "pace: 1\nsay slowly: " + "word " * 10_000
    running = await member.start_chat(long)
    queued = await member.post(f"chats/{running['id']}/messages", {"content": long})
    assert queued.status == 202
    asking = await member.start_chat('call: ask_user {"questions": [{"id": "a", "text": "Well?"}]}')
    await member.until_status(asking["id"], "requires_action")
    other = await server.admin.start_chat(long)
    await suspend_last(server, yes=True)
    for chat in (running, asking):
        await until_it_rests(server, chat["id"])
    assert (await server.admin.chat(other["id"]))["status"] == "running"
    await suspend_last(server, yes=False)
    said = [message for message in await member.messages(running["id"]) if message["role"] == "user"]
    assert len(said) == 2
