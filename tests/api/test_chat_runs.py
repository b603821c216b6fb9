"""Workflows that a person starts in a chat: the chat is told once of each start and each end, and its model
sees the result."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from tests.api.serving import PATIENCE_SECONDS, Client
from tests.api.test_runs import ended, start, until

Condition = Callable[[dict[str, Any], list[dict[str, Any]]], bool]
QUICK = """\
export const meta = { name: 'quick', description: 'One agent' }
return { answer: await agent('say: forty-two', { label: 'one' }), args }
"""
BROKEN = "meta = {'name': 'broken', 'description': 'Fails'}\n\nraise ValueError('on purpose')"
LONG = """\
meta = {"name": "long", "description": "Waits"}
await agent("pace: 1\\nsay slowly: " + "on and on " * 5000, label="long")
"""


async def finished_chat(client: Client, content: str = "say: hello") -> str:
    chat_id = (await client.start_chat(content))["id"]
    await at_rest(client, chat_id)
    return chat_id


async def at_rest(client: Client, chat_id: str) -> None:
    await _until(client, chat_id, lambda chat, _: chat["status"] == "idle")


async def notices(client: Client, chat_id: str, events: list[str]) -> list[dict[str, Any]]:
    """Those of workflows, as soon as they are these."""
    return await _until(client, chat_id, lambda _, told: [one["data"]["event"] for one in told] == events)


async def _until(client: Client, chat_id: str, condition: Condition) -> list[dict[str, Any]]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        for seconds in itertools.chain((0.01, 0.02), itertools.repeat(0.05)):
            chat = await client.chat(chat_id)
            told = told_in(await client.messages(chat_id))
            if condition(chat, told):
                return told
            await asyncio.sleep(seconds)
    raise AssertionError


def told_in(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    parts = [part for message in messages for part in message["parts"]]
    return [part for part in parts if part["type"] == "notice" and part["code"] == "workflow"]


async def test_a_chat_is_told_of_the_start_and_the_end_and_answers(admin: Client) -> None:
    chat_id = await finished_chat(admin)
    run = await start(admin, script=QUICK, language="javascript", chat_id=chat_id, args=7)
    assert run["chat_id"] == chat_id
    begun, end = await notices(admin, chat_id, ["started", "ended"])
    assert begun["data"] == {"run_id": run["id"], "name": "quick", "event": "started"}
    assert end["data"] == {
        **begun["data"],
        "event": "ended",
        "status": "succeeded",
        "agents": 1,
        "spent_tokens": end["data"]["spent_tokens"],
        "result": {"answer": "forty-two", "args": 7},
        "truncated": False,
    }
    assert "forty-two" in end["text"]
    await at_rest(admin, chat_id)
    # The end started a turn, in which the model had the notice before it; the start did not.
    roles = [message["role"] for message in await admin.messages(chat_id)]
    assert roles == ["user", "assistant", "system", "system", "assistant"]
    context = (await admin.get(f"chats/{chat_id}/messages?visibility=all")).json["items"]
    assert all(message["visibility"] == "both" for message in context if told_in([message]))


async def test_a_failure_names_its_line(admin: Client) -> None:
    chat_id = await finished_chat(admin)
    await start(admin, script=BROKEN, language="python", chat_id=chat_id)
    _, end = await notices(admin, chat_id, ["started", "ended"])
    assert end["data"]["status"] == "failed"
    assert end["data"]["error"] == {"message": "ValueError: on purpose", "line": 3}
    assert "line 3 of its script" in end["text"]


async def test_a_run_that_is_cancelled_is_told_too(admin: Client) -> None:
    chat_id = await finished_chat(admin)
    run = await start(admin, script=LONG, language="python", chat_id=chat_id)
    await notices(admin, chat_id, ["started"])
    await until(admin, run["id"], lambda now: bool(now["calls"]))
    await admin.post(f"workflow-runs/{run['id']}/cancel", {})
    _, end = await notices(admin, chat_id, ["started", "ended"])
    assert (end["data"]["status"], "result" in end["data"]) == ("cancelled", False)


async def test_a_chat_at_work_hears_of_it_in_its_turn(admin: Client) -> None:
    slow = "pace: 0.2\nsay slowly: " + "word " * 30
    chat_id = (await admin.start_chat(f"{slow}\nsay: over"))["id"]
    run = await start(admin, script=QUICK, language="javascript", chat_id=chat_id)
    await ended(admin, run["id"])
    await notices(admin, chat_id, ["started", "ended"])
    await at_rest(admin, chat_id)
    assert len(told_in(await admin.messages(chat_id))) == 2


async def test_a_chat_that_is_deleted_takes_its_run_along(admin: Client) -> None:
    chat_id = await finished_chat(admin)
    run = await start(admin, script=LONG, language="python", chat_id=chat_id)
    await until(admin, run["id"], lambda now: bool(now["calls"]))
    await admin.delete(f"chats/{chat_id}")
    assert (await ended(admin, run["id"]))["status"] == "cancelled"


async def test_what_was_chosen_for_the_chat_counts(admin: Client) -> None:
    created = await admin.post("chats", {"content": "say: hello", "budget": {"tokens": 50_000}})
    await at_rest(admin, created.json["id"])
    run = await start(admin, script=QUICK, language="javascript", chat_id=created.json["id"])
    assert 0 < run["budget"]["tokens"] < 50_000


@pytest.mark.parametrize("chat_id", ["nosuch", "018f3c2a-0000-7000-8000-000000000000"])
async def test_a_chat_that_is_not_there_is_refused(admin: Client, chat_id: str) -> None:
    refused = await admin.post(
        "workflow-runs", {"script": QUICK, "language": "javascript", "chat_id": chat_id}
    )
    assert (refused.status, refused.json["errors"][0]["field"]) == (422, "chat_id")


async def test_an_archived_chat_is_refused(admin: Client) -> None:
    chat_id = await finished_chat(admin)
    await admin.patch(f"chats/{chat_id}", {"archived": True})
    refused = await admin.post(
        "workflow-runs", {"script": QUICK, "language": "javascript", "chat_id": chat_id}
    )
    assert (refused.status, "archived" in refused.json["detail"]) == (422, True)
