"""People's decisions on tools for a whole chat: they apply, are listed, and can be revoked."""

from typing import Any

from tests.api.serving import Client, Serving

ASK = {"todo": "ask"}
CALL = 'call: todo {"items": []}\n'


async def answered(client: Client, chat_id: str, decision: str, **more: Any) -> None:
    waiting = await client.until_status(chat_id, "requires_action")
    (call,) = waiting["action"]["calls"]
    answer = await client.post(
        f"chats/{chat_id}/calls/{call['call_id']}/decision", {"decision": decision, **more}
    )
    assert answer.status == 202, answer


async def send(client: Client, chat_id: str, content: str) -> None:
    assert (await client.post(f"chats/{chat_id}/messages", {"content": content})).status == 201


async def test_a_word_for_the_chat_is_listed_counts_and_is_taken_back(server: Serving) -> None:
    admin = server.admin
    me = (await admin.get("session")).json["user"]["id"]
    chat = await admin.start_chat(f"{CALL}say: done", tools=ASK)
    path = f"chats/{chat['id']}/approvals"
    assert (await admin.get(path)).json["items"] == []
    await answered(admin, chat["id"], "approve", scope="chat", note="go on")
    await admin.until_settled(chat["id"])
    (rule,) = (await admin.get(path)).json["items"]
    assert {name: rule[name] for name in ("tool", "allowed", "user_id", "note")} == {
        "tool": "todo",
        "allowed": True,
        "user_id": me,
        "note": "go on",
    }
    await send(admin, chat["id"], f"{CALL}say: again")
    assert (await admin.until_settled(chat["id"]))["status"] == "idle"
    member = await server.member()
    assert (await member.delete(f"{path}/{rule['id']}")).status == 404
    assert (await admin.delete(f"{path}/nothing")).status == 404
    assert (await admin.delete(f"{path}/{rule['id']}")).status == 204
    assert (await admin.delete(f"{path}/{rule['id']}")).status == 404
    assert (await admin.get(path)).json["items"] == []
    await send(admin, chat["id"], f"{CALL}say: asked")
    await answered(admin, chat["id"], "approve")
    await admin.until_settled(chat["id"])
    assert (await admin.get(path)).json["items"] == [], "once is not for the chat"
    actions = [entry["action"] for entry in (await admin.get("audit")).json["items"]]
    assert [action for action in actions if action.startswith("approval.")] == [
        "approval.revoke",
        "approval.approve",
    ]


async def test_an_earlier_word_does_not_come_back(admin: Client) -> None:
    """Refused, then the refusal is taken back: what was allowed before that is not allowed again."""
    chat = await admin.start_chat(f"{CALL}say: done", tools=ASK)
    path = f"chats/{chat['id']}/approvals"
    await answered(admin, chat["id"], "approve", scope="chat")
    await admin.until_settled(chat["id"])
    (first,) = (await admin.get(path)).json["items"]
    assert (await admin.delete(f"{path}/{first['id']}")).status == 204
    await send(admin, chat["id"], f"{CALL}say: asked")
    await answered(admin, chat["id"], "deny", scope="chat")
    await admin.until_settled(chat["id"])
    (second,) = (await admin.get(path)).json["items"]
    assert not second["allowed"]
    assert (await admin.delete(f"{path}/{second['id']}")).status == 204
    await send(admin, chat["id"], f"{CALL}say: asked")
    assert (await admin.until_status(chat["id"], "requires_action"))["action"]["calls"][0]["name"] == "todo"


async def test_taken_back_while_the_turn_runs_it_counts_at_once(server: Serving) -> None:
    admin = server.admin
    # The client's tool holds the turn where the word is taken back.
    tool = {"name": "pause", "description": "Waits.", "input_schema": {"type": "object"}}
    chat = await admin.start_chat(f"{CALL}call: pause {{}}\n{CALL}say: done", tools=ASK, client_tools=[tool])
    path = f"chats/{chat['id']}/approvals"
    await answered(admin, chat["id"], "approve", scope="chat")

    def paused(now: dict[str, Any]) -> bool:
        return now["action"] is not None and now["action"]["calls"][0]["name"] == "pause"

    waiting = await admin.until(chat["id"], paused)
    (rule,) = (await admin.get(path)).json["items"]
    assert (await admin.delete(f"{path}/{rule['id']}")).status == 204
    result = {"call_id": waiting["action"]["calls"][0]["call_id"], "output": "ok"}
    await admin.post(f"chats/{chat['id']}/tool-results", {"results": [result]})

    def asked(now: dict[str, Any]) -> bool:
        return now["action"] is not None and now["action"]["calls"][0]["name"] == "todo"

    assert (await admin.until(chat["id"], asked))["status"] == "requires_action"
