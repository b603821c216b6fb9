"""People and programs that a chat waits for."""

from typing import Any

from tests.api.serving import Client, Serving

TOOL = {"name": "measure", "description": "Measures.", "input_schema": {"type": "object"}}


async def asked(client: Client, chat_id: str) -> list[dict[str, Any]]:
    chat = await client.until_status(chat_id, "requires_action")
    return chat["action"]["calls"]


async def test_a_question_is_answered_once(admin: Client) -> None:
    script = 'call: ask_user {"questions": [{"id": "q", "text": "Tea?"}]}\nsay: {result}'
    chat = await admin.start_chat(script)
    (call,) = await asked(admin, chat["id"])
    assert (call["kind"], call["name"]) == ("question", "ask_user")
    assert call["input"]["questions"][0]["text"] == "Tea?"
    result = {"results": [{"call_id": call["call_id"], "output": {"q": "yes please"}}]}
    answered = await admin.post(f"chats/{chat['id']}/tool-results", result)
    assert answered.status == 202
    assert answered.json["status"] == "running"
    await admin.until_settled(chat["id"])
    assert "yes please" in (await admin.messages(chat["id"]))[-1]["parts"][0]["text"]
    late = await admin.post(f"chats/{chat['id']}/tool-results", result)
    assert (late.status, late.code) == (409, "already_answered")


async def test_client_tools_partly_answered(admin: Client) -> None:
    chat = await admin.start_chat(
        'calls: measure {"n": 1}; measure {"n": 2}\nsay: {results}', client_tools=[TOOL]
    )
    calls = await asked(admin, chat["id"])
    assert [call["kind"] for call in calls] == ["client_tool", "client_tool"]
    assert all(call["deadline_at"] for call in calls)
    first, second = (call["call_id"] for call in calls)
    path = f"chats/{chat['id']}/tool-results"
    partly = await admin.post(path, {"results": [{"call_id": first, "output": 10}]})
    assert partly.json["status"] == "requires_action"
    twice = await admin.post(path, {"results": [{"call_id": first, "output": 11}]})
    assert (twice.status, twice.code) == (409, "already_answered")
    wrong = await admin.post(path, {"results": [{"call_id": "nope", "output": 1}]})
    assert wrong.status in (404, 409)
    done = await admin.post(path, {"results": [{"call_id": second, "output": "bad", "is_error": True}]})
    assert done.status == 202
    await admin.until_settled(chat["id"])
    results = (await admin.messages(chat["id"]))[2]["parts"]
    assert [part["outcome"] for part in results] == ["succeeded", "failed"]


async def test_approvals(server: Serving) -> None:
    admin = server.admin
    chat = await admin.start_chat('call: todo {"items": []}\nsay: {result}', tools={"todo": "ask"})
    (call,) = await asked(admin, chat["id"])
    assert call["kind"] == "approval"
    reader = await server.member("rita", ("chats:read",))
    path = f"chats/{chat['id']}/calls/{call['call_id']}/decision"
    assert (await reader.post(path, {"decision": "approve"})).status in (403, 404)
    assert (await admin.post(path, {"decision": "maybe"})).status == 422
    assert (await admin.post(path, {"decision": "approve", "scope": "chat"})).status == 202
    await admin.until_settled(chat["id"])
    trace = (await admin.get(f"chats/{chat['id']}/trace?kind=tool_call")).json["items"]
    assert trace[0]["approved_by"]["by"] == "person"
    late = await admin.post(path, {"decision": "deny"})
    assert (late.status, late.code) == (409, "already_answered")
    await admin.post(f"chats/{chat['id']}/messages", {"content": 'call: todo {"items": []}\nsay: again'})
    assert (await admin.until_settled(chat["id"]))["status"] == "idle"


async def test_a_denied_call_says_why(admin: Client) -> None:
    chat = await admin.start_chat('call: todo {"items": []}\nsay: {result}', tools={"todo": "ask"})
    (call,) = await asked(admin, chat["id"])
    path = f"chats/{chat['id']}/calls/{call['call_id']}/decision"
    await admin.post(path, {"decision": "deny", "note": "not on a Monday"})
    await admin.until_settled(chat["id"])
    assert "not on a Monday" in (await admin.messages(chat["id"]))[-1]["parts"][0]["text"]


async def test_a_plan_may_be_decided_like_an_approval(admin: Client) -> None:
    """It is answered with a result; who approves or denies it means just that."""
    for decision, told in (
        ({"decision": "approve"}, {"approved": True}),
        ({"decision": "deny", "note": "smaller"}, {"approved": False, "note": "smaller"}),
    ):
        chat = await admin.start_chat('call: propose_plan {"plan": "Do it."}\nsay: thank you')
        (call,) = await asked(admin, chat["id"])
        decided = await admin.post(f"chats/{chat['id']}/calls/{call['call_id']}/decision", decision)
        assert decided.status == 202, decided
        await admin.until_settled(chat["id"])
        assert (await admin.messages(chat["id"]))[2]["parts"][0]["output"] == told


async def test_what_a_sub_agent_asks_may_be_answered_where_it_is_shown(admin: Client) -> None:
    child = 'call: ask_user {\\"questions\\": [{\\"id\\": \\"q\\", \\"text\\": \\"Tea?\\"}]}\\nsay: {result}'
    script = f'call: spawn_agent {{"prompt": "{child}"}}\ncall: wait_agents {{}}\nsay: {{result}}'
    root = await admin.start_chat(script)
    shown = await admin.until(root["id"], lambda chat: chat["action"] is not None)
    (call,) = shown["action"]["calls"]
    assert call["chat_id"] != root["id"]
    result = {"results": [{"call_id": call["call_id"], "output": "yes please"}]}
    answered = await admin.post(f"chats/{root['id']}/tool-results", result)
    assert (answered.status, answered.json["id"]) == (202, call["chat_id"])
    await admin.until_settled(root["id"])
    assert "yes please" in (await admin.messages(root["id"]))[-1]["parts"][0]["text"]


async def test_what_was_asked_of_a_chat_with_sub_agents_says_that_it_waits_for_them(admin: Client) -> None:
    child = 'call: ask_user {\\"questions\\": [{\\"id\\": \\"q\\", \\"text\\": \\"Tea?\\"}]}'
    chat = await admin.start_chat(f'call: spawn_agent {{"prompt": "{child}"}}\ncall: wait_agents {{}}')
    await admin.until(chat["id"], lambda now: now["waiting"] == "children" and now["action"] is not None)
    answer = await admin.post(f"chats/{chat['id']}/reconcile")
    assert (answer.status, answer.json["waiting"]) == (202, "children")
    assert answer.json == await admin.chat(chat["id"])


async def test_client_tools_may_be_named_among_the_tools_later_too(admin: Client) -> None:
    chat = await admin.start_chat("say: hi", client_tools=[TOOL], tools=["measure"])
    await admin.until_settled(chat["id"])
    path = f"chats/{chat['id']}"
    assert (await admin.patch(path, {"tools": {"measure": "deny"}})).status == 200
    assert (await admin.patch(path, {"tools": ["measure", "todo"]})).status == 200
    assert (await admin.patch(path, {"tools": ["measures"]})).status == 422
    await admin.post(f"{path}/messages", {"content": 'call: measure {"n": 1}'})
    (call,) = await asked(admin, chat["id"])
    assert (call["kind"], call["name"]) == ("client_tool", "measure")


async def test_bad_client_tools(admin: Client) -> None:
    for tool in (
        {**TOOL, "name": "todo"},
        {**TOOL, "name": ""},
        {**TOOL, "name": "a b"},
        {**TOOL, "input_schema": {"type": "string"}},
        {**TOOL, "extra": 1},
        {"name": "x"},
    ):
        refused = await admin.post("chats", {"content": "hi", "client_tools": [tool]})
        assert (refused.status, refused.code) == (422, "invalid_input"), tool
    doubled = await admin.post("chats", {"content": "hi", "client_tools": [TOOL, TOOL]})
    assert doubled.status == 422
