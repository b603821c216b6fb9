"""A repeated request is answered as it was the first time, whatever has become of what it names (rule 12)."""

from tests.api.serving import Client


def key(text: str) -> dict[str, str]:
    return {"Idempotency-Key": text}


async def test_deleting_a_chat_again(admin: Client) -> None:
    chat = await admin.start_chat("say: hi")
    path = f"chats/{chat['id']}"
    answers = [await admin.delete(path, headers=key("gone")) for _ in range(2)]
    assert [(answer.status, answer.body) for answer in answers] == [(204, b"")] * 2
    assert (await admin.delete(path, headers=key("another"))).status == 404


async def test_forking_again_when_the_original_is_gone(admin: Client) -> None:
    chat = await admin.start_chat("say: hi")
    await admin.until_settled(chat["id"])
    path = f"chats/{chat['id']}/fork"
    first = await admin.post(path, {}, headers=key("fork"))
    assert first.status == 201
    assert (await admin.delete(f"chats/{chat['id']}")).status == 204
    again = await admin.post(path, {}, headers=key("fork"))
    assert (again.status, again.body) == (201, first.body)
    other = await admin.post(path, {"title": "x"}, headers=key("fork"))
    assert (other.status, other.code) == (409, "idempotency_mismatch")


async def test_creating_again_when_the_agent_is_gone(admin: Client) -> None:
    agent = (await admin.post("agents", {"name": "helper"})).json
    body = {"content": "say: hi", "agent": "helper"}
    first = await admin.post("chats", body, headers=key("start"))
    assert (await admin.delete(f"agents/{agent['id']}")).status == 204
    again = await admin.post("chats", body, headers=key("start"))
    assert (again.status, again.body) == (201, first.body)


async def test_archiving_again(admin: Client) -> None:
    chat = await admin.start_chat("say: hi")
    await admin.until_settled(chat["id"])
    for _ in range(2):
        answer = await admin.patch(
            f"chats/{chat['id']}", {"archived": True, "title": "kept"}, headers=key("away")
        )
        assert answer.status == 200
        assert (answer.json["archived"], answer.json["title"]) == (True, "kept")
