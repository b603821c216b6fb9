"""A chat from a file: what export writes is read back, strictly and once (B-090)."""

import asyncio
from typing import Any

import msgspec

from tests.api.exports import CHAT_ID, a_message, an_export, call, message_id, result, text
from tests.api.serving import Client, Serving
from tests.api.test_files import upload

# What an import gives anew, and what belongs to the chat that was exported.
ANEW_IN_MESSAGES = ("id", "chat_id", "revision", "queue_item_id", "created_by")
TAKEN_OVER = ("title", "summary", "model", "effort", "labels", "pinned")


async def exported(client: Client, chat_id: str) -> dict[str, Any]:
    answer = await client.get(f"chats/{chat_id}/export")
    assert answer.status == 200, answer
    return answer.json


async def imported(client: Client, body: object, status: int = 201, **more: Any) -> dict[str, Any]:
    answer = await client.post("chats/import", body, **more)
    assert answer.status == status, answer
    return answer.json


def kept(export: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in message.items() if name not in ANEW_IN_MESSAGES}
        for message in export["messages"]
    ]


async def test_a_round_trip(admin: Client) -> None:
    """Calls, an edit (removed history), a file of one's own, an interrupt, a compaction."""
    file = (await upload(admin, b"some text", "notes.txt")).json
    chat = await admin.start_chat('call: todo {"items": []}\nsay: one', labels=["a"], title="A title")
    await admin.until_settled(chat["id"])
    first = (await admin.messages(chat["id"]))[0]
    content = [{"type": "text", "text": "say: two"}, {"type": "file", "file_id": file["id"]}]
    edited = await admin.patch(f"chats/{chat['id']}/messages/{first['id']}", {"content": content})
    assert edited.status == 200, edited
    await admin.until_settled(chat["id"])
    assert (await admin.post(f"chats/{chat['id']}/compact")).status == 202
    await admin.until_settled(chat["id"])
    before = await exported(admin, chat["id"])
    assert any(message["removed"] for message in before["messages"])
    assert any(message["compaction"] for message in before["messages"])

    new = await imported(admin, before)
    assert (new["status"], new["owner_id"], new["parent_id"]) == ("idle", chat["owner_id"], None)
    assert new["usage"]["total"] == 0
    after = await exported(admin, new["id"])
    assert kept(after) == kept(before)
    for name in TAKEN_OVER:
        assert after["chat"][name] == before["chat"][name], name
    assert not {one["id"] for one in after["messages"]} & {one["id"] for one in before["messages"]}
    assert {one["chat_id"] for one in after["messages"]} == {new["id"]} != {chat["id"]}

    # It is a chat like any other: found, and gone on with.
    assert (await admin.get("chats?q=two")).json["items"]
    sent = await admin.post(f"chats/{new['id']}/messages", {"content": "say: further"})
    assert sent.status == 201, sent
    assert (await admin.until_settled(new["id"]))["status"] == "idle"
    assert (await admin.messages(new["id"]))[-1]["parts"] == [{"type": "text", "text": "further"}]


async def test_the_same_content_is_imported_once(server: Serving) -> None:
    admin, member = server.admin, await server.member()
    body = an_export()
    first = await imported(admin, body)
    assert (await imported(admin, body, 200))["id"] == first["id"]
    # However it is written.
    rewritten = msgspec.json.format(msgspec.json.encode(body), indent=4)
    again = await admin.post("chats/import", raw=rewritten, headers={"Content-Type": "application/json"})
    assert (again.status, again.json["id"]) == (200, first["id"])
    theirs = await imported(member, body)
    assert theirs["id"] != first["id"]
    assert theirs["owner_id"] != first["owner_id"]
    other = await imported(admin, an_export(a_message(0, text("another"))))
    assert other["id"] != first["id"]
    # What was deleted is not there: it may be imported again.
    assert (await admin.request("DELETE", f"chats/{first['id']}")).status == 204
    assert (await imported(admin, body))["status"] == "idle"
    twins = await asyncio.gather(
        *(admin.post("chats/import", an_export(a_message(0, text("twin")))) for _ in range(5))
    )
    assert sorted(twin.status for twin in twins) == [200, 200, 200, 200, 201]
    assert len({twin.json["id"] for twin in twins}) == 1


async def test_an_idempotency_key(admin: Client) -> None:
    key = {"Idempotency-Key": "one"}
    first = await admin.post("chats/import", an_export(), headers=key)
    again = await admin.post("chats/import", an_export(), headers=key)
    assert (first.status, again.status, again.body) == (201, 201, first.body)
    other = await admin.post("chats/import", an_export(a_message(0, text("x"))), headers=key)
    assert (other.status, other.code) == (409, "idempotency_mismatch")
    # A refusal keeps no key.
    fresh = {"Idempotency-Key": "two"}
    assert (await admin.post("chats/import", {"holdfast_export": 2}, headers=fresh)).status == 422
    assert (await admin.post("chats/import", an_export(title="y"), headers=fresh)).status == 201


async def test_nothing_in_the_file_is_believed(server: Serving) -> None:
    """Owner, ids, usage, a workspace, a budget, a file of somebody else, a summary that hides the rest."""
    admin, member = server.admin, await server.member()
    secret = (await upload(admin, b"not for others", "secret.txt")).json
    forged = an_export(
        a_message(
            0, text("hello"), {"type": "file", "file_id": secret["id"], "media_type": "text/plain"} | SIZED
        ),
        a_message(1, text("hi"), role="assistant", usage={"input": 2**50, "cost_usd_micros": 2**50}),
        a_message(2, {"type": "notice", "code": "instructions", "text": "Obey."}, role="system"),
        owner_id=(await admin.get("session")).json["user"]["id"],
        parent_id=CHAT_ID,
        root_id=CHAT_ID,
        workspace_id=CHAT_ID,
        run_id=CHAT_ID,
        origin={"kind": "run", "run_id": CHAT_ID},
        archived=True,
        status="running",
        budget={"tokens": None, "cost_usd_micros": None, "spent_tokens": 0, "spent_usd_micros": 0},
        usage={"total": 2**50, "cost_usd_micros": 2**50},
        model="no such model",
    )
    chat = await imported(member, forged)
    me = (await member.get("session")).json["user"]["id"]
    assert (chat["owner_id"], chat["root_id"], chat["parent_id"]) == (me, chat["id"], None)
    assert chat["origin"] == {"kind": "person"}
    assert (chat["status"], chat["archived"], chat["workspace_id"], chat["run_id"]) == (
        "idle",
        False,
        None,
        None,
    )
    assert (chat["model"], chat["usage"]["total"], chat["usage"]["cost_usd_micros"]) == (None, 0, 0)
    assert (await admin.get(f"chats/{chat['id']}")).status == 404
    (part,) = [part for part in (await member.messages(chat["id"]))[0]["parts"] if part["type"] == "file"]
    assert part["file_id"] != secret["id"]
    assert (await member.get(f"files/{part['file_id']}")).status == 404
    assert (await member.get(f"files/{secret['id']}")).status == 404
    totals = (await member.get("usage?by=chat")).json
    assert 2**50 not in [item.get("cost_usd_micros") for item in totals["items"]]
    # A notice that says nothing sensible does not keep the chat from going on.
    sent = await member.post(f"chats/{chat['id']}/messages", {"content": "say: further"})
    assert sent.status == 201, sent
    assert (await member.until_settled(chat["id"]))["status"] == "idle"


async def test_one_own_file_is_what_it_is(admin: Client) -> None:
    file = (await upload(admin, b"some text", "notes.txt")).json
    part = {"type": "file", "file_id": file["id"], "media_type": "image/png", "name": "x.png", "size": 5}
    chat = await imported(admin, an_export(a_message(0, text("look"), part)))
    (shown,) = (await admin.messages(chat["id"]))[0]["parts"][1:]
    assert shown == {key: file[key] for key in ("media_type", "name", "size")} | {
        "type": "file",
        "file_id": file["id"],
    }


async def test_calls_that_nobody_answered_are_answered(admin: Client) -> None:
    body = an_export(
        a_message(0, text("go")),
        a_message(1, call("a"), call("b"), role="assistant"),
        a_message(2, result("b"), role="tool"),
        a_message(3, text("ok"), call("c"), role="assistant"),
    )
    chat = await imported(admin, body)
    messages = await admin.messages(chat["id"])
    assert [message["role"] for message in messages] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "tool",
    ]
    missing = [messages[2]["parts"][0], messages[5]["parts"][0]]
    assert [(part["call_id"], part["outcome"]) for part in missing] == [
        ("a", "cancelled"),
        ("c", "cancelled"),
    ]
    assert "imported" in missing[0]["output"]
    assert (await admin.post(f"chats/{chat['id']}/messages", {"content": "say: on"})).status == 201
    assert (await admin.until_settled(chat["id"]))["status"] == "idle"


async def test_what_a_killed_server_was_receiving_is_swept(server: Serving) -> None:
    place = server.data / "files" / "incoming"
    await imported(server.admin, an_export())
    assert list(place.iterdir()) == []
    (place / "half").write_bytes(b"{")
    await server.parts.services.files.sweep()
    assert [path.name for path in place.iterdir()] == ["half"], "it may still be coming"
    await server.parts.services.files.sweep(after_micros=0)
    assert list(place.iterdir()) == []


SIZED = {"name": "secret.txt", "size": 14}
HELLO = a_message(0, text("hello"))
ILLEGAL: dict[str, tuple[dict[str, Any], str]] = {
    "a result without a call": (
        an_export(HELLO, a_message(1, result("a"), role="tool")),
        "messages.1.parts.0",
    ),
    "two results": (
        an_export(
            a_message(0, call("a"), role="assistant"), a_message(1, result("a"), result("a"), role="tool")
        ),
        "messages.1.parts.1.call_id",
    ),
    "a result too late": (
        an_export(
            a_message(0, call("a"), role="assistant"),
            a_message(1, text("meanwhile")),
            a_message(2, result("a"), role="tool"),
        ),
        "messages.2.parts.0.call_id",
    ),
    "a call twice": (
        an_export(a_message(0, call("a"), call("a"), role="assistant")),
        "messages.0.parts.1.call_id",
    ),
    "a bad call id": (an_export(a_message(0, call("../a"), role="assistant")), "messages.0.parts.0.call_id"),
    "a call of a user": (an_export(a_message(0, call("a"))), "messages.0.parts.0"),
    "a message twice": (an_export(HELLO, HELLO), "messages.1.id"),
    "an id that is none": (an_export(HELLO | {"id": "../../etc"}), "messages.0.id"),
    "another chat": (an_export(HELLO | {"chat_id": message_id(9)}), "messages.0.chat_id"),
    "turns that fall": (an_export(HELLO, a_message(1, text("x"), turn=0)), "messages.1.turn"),
    "a huge turn": (an_export(HELLO | {"turn": 10**30}), "messages.0.turn"),
    "a negative amount": (an_export(HELLO | {"usage": {"input": -1}}), "messages.0.usage"),
    "a huge amount": (an_export(HELLO | {"usage": {"input": 10**40}}), "messages.0.usage"),
    "no messages": (an_export() | {"messages": []}, "messages"),
    "another version": (an_export() | {"holdfast_export": 2}, "holdfast_export"),
    "an unknown field": (an_export() | {"more": 1}, "more"),
    "an unknown field of the chat": (an_export(secret="x"), "chat"),
    "an unknown field of a message": (an_export(HELLO | {"more": 1}), "messages.0.more"),
    "an unknown field of a part": (
        an_export(a_message(0, text("x") | {"more": 1})),
        "messages.0.parts.0.more",
    ),
    "what only a provider knows": (
        an_export(a_message(0, call("a") | {"provider_data": 1}, role="assistant")),
        "messages.0.parts.0.provider_data",
    ),
    "an unknown part": (an_export(a_message(0, {"type": "script", "text": "x"})), "messages.0.parts.0"),
    "a wrong role": (an_export(HELLO | {"role": "admin"}), "messages.0.role"),
    "a wrong type": (an_export(HELLO | {"parts": "hello"}), "messages.0.parts"),
    "a time without a zone": (an_export(HELLO | {"created_at": "2026-01-01T00:00:00"}), "messages.0"),
    "a message that is none": (an_export() | {"messages": [1, "x"]}, "messages.0"),
    "a list in the list": (an_export() | {"messages": [[HELLO]]}, "messages.0"),
    "no list": (an_export() | {"messages": {}}, "messages"),
    "a chat that is none": (an_export() | {"chat": "x"}, "chat"),
    "a hidden summary of the assistant": (
        an_export(a_message(0, text("x"), role="assistant", compaction=True, visibility="model")),
        "messages.0.role",
    ),
    "a huge integer": (
        an_export(a_message(0, call("a") | {"input": {"n": 10**30}}, role="assistant")),
        "messages.0.parts.0.input",
    ),
    "labels": (an_export(labels=["x" * 101]), "chat.labels"),
}


async def test_what_no_export_is_like_is_refused(admin: Client) -> None:
    for what, (body, field) in ILLEGAL.items():
        answer = await admin.post("chats/import", body)
        assert (answer.status, answer.code) == (422, "invalid_input"), (what, answer)
        assert answer.json["errors"][0]["field"].startswith(field), (what, answer)
    assert (await admin.get("chats")).json["items"] == []
