"""The switch of a chat for the web."""

from tests.api.serving import Client, Serving


async def told_of(client: Client, chat_id: str) -> str:
    (result,) = [
        part
        for message in await client.messages(chat_id)
        for part in message["parts"]
        if part["type"] == "tool_result"
    ]
    return str(result["output"])


async def test_a_chat_without_the_web_has_none_of_its_tools(server: Serving) -> None:
    admin = server.admin
    asks = 'call: web_fetch {"url": "http://127.0.0.1/"}\nsay: done'
    chat = await admin.start_chat(asks, web=False, tools={"web_fetch": "allow"})
    assert chat["web"] is False
    await admin.until_settled(chat["id"])
    assert "There is no tool" in await told_of(admin, chat["id"])
    assert (await admin.post(f"chats/{chat['id']}/fork", {})).json["web"] is False

    path = f"chats/{chat['id']}"
    changed = await admin.patch(path, {"web": True})
    assert (changed.status, changed.json["web"], (await admin.chat(chat["id"]))["web"]) == (200, True, True)
    with_it = await admin.start_chat(asks, tools={"web_fetch": "allow"})
    assert with_it["web"] is True
    await admin.until_settled(with_it["id"])
    assert "not a public address" in await told_of(admin, with_it["id"])


async def test_its_sub_agents_have_none_either(server: Serving) -> None:
    admin = server.admin
    chat = await admin.start_chat('call: spawn_agent {"prompt": "say: here"}\nsay: done', web=False)
    await admin.until_settled(chat["id"])
    (child,) = (await admin.get(f"chats?parent_id={chat['id']}")).json["items"]
    assert child["web"] is False
