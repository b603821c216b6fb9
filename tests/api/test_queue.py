"""Waiting messages: order, holds, steering, sending now; and many clients at once."""

import asyncio
from typing import Any

from tests.api.serving import Client
from tests.api.test_chats import SLOW, text


async def busy_chat(client: Client) -> str:
    chat = await client.start_chat(SLOW)
    await client.until(chat["id"], lambda now: now["waiting"] is None)
    return chat["id"]


async def queue(client: Client, chat_id: str, *words: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for word in words:
        answer = await client.post(f"chats/{chat_id}/messages", {"content": f"say: {word}"})
        assert answer.status == 202, answer
        items.append(answer.json["queued"])
    return items


async def waiting(client: Client, chat_id: str) -> list[str]:
    items = (await client.get(f"chats/{chat_id}/queue")).json["items"]
    assert [item["position"] for item in items] == list(range(len(items)))
    return [text({"parts": item["content"]}).removeprefix("say: ") for item in items]


async def test_moving_editing_and_deleting(admin: Client) -> None:
    chat_id = await busy_chat(admin)
    one, two, three = await queue(admin, chat_id, "one", "two", "three")
    assert set(one) >= {
        "id",
        "content",
        "busy",
        "position",
        "held",
        "model",
        "effort",
        "created_by",
        "created_at",
    }
    moved = await admin.patch(f"chats/{chat_id}/queue/{three['id']}", {"position": 0})
    assert moved.json["position"] == 0
    assert await waiting(admin, chat_id) == ["three", "one", "two"]
    await admin.patch(f"chats/{chat_id}/queue/{one['id']}", {"content": "say: uno"})
    assert (await admin.delete(f"chats/{chat_id}/queue/{two['id']}")).status == 204
    assert await waiting(admin, chat_id) == ["three", "uno"]
    assert (await admin.delete(f"chats/{chat_id}/queue/{two['id']}")).status == 404
    assert (await admin.patch(f"chats/{chat_id}/queue/{one['id']}", {})).status == 422


async def test_a_hold_needs_its_token(admin: Client) -> None:
    chat_id = await busy_chat(admin)
    (item,) = await queue(admin, chat_id, "held")
    path = f"chats/{chat_id}/queue/{item['id']}"
    held = await admin.patch(path, {"held": True})
    token = held.json["hold_token"]
    assert held.json["held"] is True
    assert token
    assert (await admin.patch(path, {"content": "say: no"})).status == 409
    assert (await admin.patch(path, {"held": False, "hold_token": "wrong"})).status == 409
    edited = await admin.patch(path, {"content": "say: yes", "hold_token": token})
    assert edited.status == 200
    assert edited.json["hold_token"] == token, "who has it keeps it"
    (listed,) = (await admin.get(f"chats/{chat_id}/queue")).json["items"][:1]
    assert listed.get("hold_token") is None, "nobody else is told"
    await admin.post(f"chats/{chat_id}/interrupt")
    idle = await admin.until_settled(chat_id)
    assert (idle["status"], idle["waiting"], idle["queue_length"]) == ("idle", "held", 1)
    released = await admin.patch(path, {"held": False, "hold_token": token})
    assert released.json == {**item, "content": edited.json["content"]}, "it enters the history as it was"
    await admin.until(chat_id, lambda now: now["status"] == "idle" and now["queue_length"] == 0)
    assert text((await admin.messages(chat_id))[-1]) == "yes"


async def test_sending_now(admin: Client) -> None:
    chat_id = await busy_chat(admin)
    first, second = await queue(admin, chat_id, "first", "second")
    now = await admin.post(f"chats/{chat_id}/queue/{second['id']}/promote")
    assert now.status == 202
    await admin.until(chat_id, lambda chat: chat["status"] == "idle" and chat["queue_length"] == 0)
    said = [text(message) for message in await admin.messages(chat_id)]
    assert said[-2:] == ["say: first", "first"]
    assert said[-4:-2] == ["say: second", "second"]
    taken = await admin.delete(f"chats/{chat_id}/queue/{first['id']}")
    assert (taken.status, taken.code) == (409, "already_sent")


async def test_the_21st_is_refused(admin: Client) -> None:
    chat_id = await busy_chat(admin)
    await queue(admin, chat_id, *(str(number) for number in range(20)))
    for kind in ("queue", "steer", "interrupt"):
        refused = await admin.post(f"chats/{chat_id}/messages", {"content": "x", "busy": kind})
        assert (refused.status, refused.code) == (409, "queue_full"), kind


async def test_many_hands_on_one_item_have_one_winner(admin: Client) -> None:
    chat_id = await busy_chat(admin)
    (item,) = await queue(admin, chat_id, "once")
    path = f"chats/{chat_id}/queue/{item['id']}"
    answers = await asyncio.gather(
        *(admin.delete(path) for _ in range(25)), *(admin.post(f"{path}/promote") for _ in range(25))
    )
    statuses = [answer.status for answer in answers]
    assert all(status in (202, 204, 404, 409) for status in statuses)
    assert statuses.count(204) <= 1
    assert sum(status in (202, 204) for status in statuses) >= 1


async def test_steering_joins_the_turn(admin: Client) -> None:
    chat = await admin.start_chat('repeat 40: call: todo {"items": []}')
    chat_id = chat["id"]
    await admin.until(chat_id, lambda now: now["waiting"] is None)
    steered = await admin.post(f"chats/{chat_id}/messages", {"content": "say: steered", "busy": "steer"})
    assert steered.status in (201, 202)
    refused = await admin.post(
        f"chats/{chat_id}/messages", {"content": "x", "busy": "steer", "model": "demo"}
    )
    assert refused.status == 422
    await admin.until(chat_id, lambda now: now["status"] == "idle" and now["queue_length"] == 0)
    assert "steered" in [text(message) for message in await admin.messages(chat_id)]
