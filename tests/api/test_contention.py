"""Many people, or one with a stuck key, doing the same thing at once: it happens once, and everybody gets the
right answer (B-011)."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from tests.api.serving import Answer, Client

AT_ONCE = 100
SLOW = "pace: 0.5\nsay slowly: " + "word " * 500


async def at_once(act: Callable[[], Awaitable[Answer]]) -> Counter[int]:
    answers = await asyncio.gather(*(act() for _ in range(AT_ONCE)))
    for answer in answers:
        assert answer.status < 500, answer
        if answer.status >= 400:
            assert answer.code in ("wrong_state", "already_sent", "not_found"), answer
    return Counter(answer.status for answer in answers)


async def _busy_chat(admin: Client, *queued: str) -> tuple[str, list[str]]:
    chat = await admin.start_chat(SLOW)
    await admin.until(chat["id"], lambda now: now["waiting"] is None)
    items: list[str] = []
    for content in queued:
        answer = await admin.post(f"chats/{chat['id']}/messages", {"content": content})
        assert answer.status == 202, answer
        items.append(answer.json["queued"]["id"])
    return chat["id"], items


def texts(messages: list[dict[str, Any]], role: str) -> list[str]:
    return ["".join(part.get("text", "") for part in one["parts"]) for one in messages if one["role"] == role]


async def test_a_hundred_edits_of_one_message(admin: Client) -> None:
    chat = await admin.start_chat("say: first")
    await admin.until_settled(chat["id"])
    asked = (await admin.messages(chat["id"]))[0]
    path = f"chats/{chat['id']}/messages/{asked['id']}"
    statuses = await at_once(lambda: admin.patch(path, {"content": "say: second"}))
    assert statuses[200] == 1
    await admin.until_settled(chat["id"])
    messages = await admin.messages(chat["id"])
    assert texts(messages, "user") == ["say: second"]
    assert texts(messages, "assistant") == ["second"]


async def test_a_hundred_deletions_of_one_queue_item(admin: Client) -> None:
    chat_id, (item, _) = await _busy_chat(admin, "say: one", "say: two")
    statuses = await at_once(lambda: admin.delete(f"chats/{chat_id}/queue/{item}"))
    assert statuses[204] == 1
    left = (await admin.get(f"chats/{chat_id}/queue")).json["items"]
    assert [one["content"] for one in left] == [[{"type": "text", "text": "say: two"}]]


async def test_a_hundred_promotions_of_one_queue_item(admin: Client) -> None:
    chat_id, (_, item) = await _busy_chat(admin, "say: one", "say: two")
    statuses = await at_once(lambda: admin.post(f"chats/{chat_id}/queue/{item}/promote"))
    assert statuses[202] >= 1
    await admin.until(chat_id, lambda now: now["status"] == "idle" and now["queue_length"] == 0)
    assert texts(await admin.messages(chat_id), "user") == [SLOW, "say: two", "say: one"]


async def test_a_hundred_interrupts_of_one_turn(admin: Client) -> None:
    chat_id, _ = await _busy_chat(admin, "say: one")
    statuses = await at_once(lambda: admin.post(f"chats/{chat_id}/interrupt"))
    assert statuses[202] >= 1
    await admin.until(chat_id, lambda now: now["status"] == "idle" and now["queue_length"] == 0)
    assert texts(await admin.messages(chat_id), "user") == [SLOW, "say: one"]


async def test_everything_at_once_of_one_queue_item(admin: Client) -> None:
    """Edited, promoted and deleted at the same time: sent once or not at all."""
    chat_id, (item,) = await _busy_chat(admin, "say: one")
    path = f"chats/{chat_id}/queue/{item}"
    acts = (
        lambda: admin.patch(path, {"content": "say: other"}),
        lambda: admin.post(f"{path}/promote"),
        lambda: admin.delete(path),
        lambda: admin.post(f"chats/{chat_id}/interrupt"),
    )
    await asyncio.gather(*(at_once(act) for act in acts))
    await admin.until(chat_id, lambda now: now["status"] == "idle" and now["queue_length"] == 0)
    sent = texts(await admin.messages(chat_id), "user")[1:]
    assert sent in ([], ["say: one"], ["say: other"])


async def test_a_hundred_answers_to_one_question(admin: Client) -> None:
    chat = await admin.start_chat(
        'call: ask_user {"questions": [{"id": "q", "text": "Tea?"}]}\nsay: {result}'
    )
    waiting = await admin.until_status(chat["id"], "requires_action")
    call_id = waiting["action"]["calls"][0]["call_id"]
    body = {"results": [{"call_id": call_id, "output": {"q": "yes"}}]}
    answers = await asyncio.gather(
        *(admin.post(f"chats/{chat['id']}/tool-results", body) for _ in range(AT_ONCE))
    )
    codes = Counter(answer.code if answer.status >= 400 else "taken" for answer in answers)
    assert codes["taken"] == 1
    assert codes.keys() <= {"taken", "already_answered", "wrong_state"}
    await admin.until_settled(chat["id"])
