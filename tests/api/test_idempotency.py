"""A request that is sent again with its key happens once (rule 12, I-2, B-010)."""

import asyncio

from tests.api.serving import Client, Serving


def key(text: str) -> dict[str, str]:
    return {"Idempotency-Key": text}


async def test_creating_a_chat_twice_makes_one(admin: Client) -> None:
    body = {"content": "say: hi"}
    first = await admin.post("chats", body, headers=key("a"))
    again = await admin.post("chats", body, headers=key("a"))
    assert (again.status, again.body) == (first.status, first.body)
    assert len((await admin.get("chats")).json["items"]) == 1
    other = await admin.post("chats", {"content": "say: ho"}, headers=key("a"))
    assert (other.status, other.code) == (409, "idempotency_mismatch")
    assert (await admin.post("chats", body, headers=key("b"))).json["id"] != first.json["id"]


async def test_twins_at_the_same_time(admin: Client) -> None:
    chat = await admin.start_chat("say: hi")
    await admin.until_settled(chat["id"])
    path = f"chats/{chat['id']}/messages"
    answers = await asyncio.gather(
        *(admin.post(path, {"content": "say: once"}, headers=key("twin")) for _ in range(10))
    )
    assert {answer.status for answer in answers} == {201}
    assert len({answer.body for answer in answers}) == 1
    await admin.until_settled(chat["id"])
    assert len(await admin.messages(chat["id"])) == 4


async def test_keys_are_the_callers_own(server: Serving) -> None:
    member = await server.member()
    body = {"content": "say: hi"}
    mine = await server.admin.post("chats", body, headers=key("same"))
    theirs = await member.post("chats", body, headers=key("same"))
    assert mine.json["id"] != theirs.json["id"]


async def test_interrupting_twice_with_one_key(admin: Client) -> None:
    chat = await admin.start_chat("pace: 1\nsay slowly: " + "word " * 100)
    await admin.until(chat["id"], lambda now: now["waiting"] is None)
    first = await admin.post(f"chats/{chat['id']}/interrupt", headers=key("stop"))
    await admin.until_settled(chat["id"])
    again = await admin.post(f"chats/{chat['id']}/interrupt", headers=key("stop"))
    assert (again.status, again.body) == (202, first.body)


async def test_removing_twice_with_one_key(admin: Client) -> None:
    agent = (await admin.post("agents", {"name": "a", "instructions": "Be brief."})).json["id"]
    asks = await admin.start_chat('call: todo {"items": []}\nsay: hi', tools={"todo": "ask"})
    (call,) = (await admin.until_status(asks["id"], "requires_action"))["action"]["calls"]
    decision = f"chats/{asks['id']}/calls/{call['call_id']}/decision"
    assert (await admin.post(decision, {"decision": "approve", "scope": "chat"})).status == 202
    await admin.until_settled(asks["id"])
    for path in (f"agents/{agent}", f"chats/{asks['id']}/approvals/{call['call_id']}"):
        for _ in range(2):
            gone = await admin.delete(path, headers=key("gone"))
            assert (gone.status, gone.body) == (204, b"")
        assert (await admin.delete(path)).status == 404


async def test_bad_keys(admin: Client) -> None:
    for bad in ("x" * 256, "two words", "ü"):
        refused = await admin.post("chats", {"content": "hi"}, headers=key(bad))
        assert refused.status in (400, 422), bad
    headers = [("Idempotency-Key", "one"), ("Idempotency-Key", "other")]
    async with admin.session.post(
        f"{admin.address}/api/v1/chats",
        json={"content": "hi"},
        headers=[("Authorization", f"Bearer {admin.token}"), *headers],
    ) as doubled:
        assert doubled.status == 422
