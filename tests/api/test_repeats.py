"""A repeated request gets the same answer as the first time, whatever happened since to what it names (rule
12)."""

import asyncio
from pathlib import Path

import pytest

from tests.api.operations import a_chat_and_all
from tests.api.serving import Client, Serving


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


async def test_choosing_again(admin: Client) -> None:
    """An old choice does not come back over a newer one."""
    chat = await admin.start_chat("say: hi")
    path = f"chats/{chat['id']}"
    first = await admin.patch(path, {"title": "mine", "labels": ["a"]}, headers=key("choose"))
    assert (first.status, first.json["title"]) == (200, "mine")
    assert (await admin.patch(path, {"title": "later"})).json["title"] == "later"
    again = await admin.patch(path, {"title": "mine", "labels": ["a"]}, headers=key("choose"))
    assert (again.status, again.body) == (first.status, first.body)
    assert (await admin.chat(chat["id"]))["title"] == "later"
    other = await admin.patch(path, {"title": "other"}, headers=key("choose"))
    assert (other.status, other.code) == (409, "idempotency_mismatch")


async def test_archiving_again_after_it_was_taken_back(admin: Client) -> None:
    chat = await admin.start_chat("say: hi")
    await admin.until_settled(chat["id"])
    path = f"chats/{chat['id']}"
    first = await admin.patch(path, {"archived": True}, headers=key("away"))
    assert (await admin.patch(path, {"archived": False})).json["archived"] is False
    again = await admin.patch(path, {"archived": True}, headers=key("away"))
    assert (again.status, again.body) == (200, first.body)
    assert (await admin.chat(chat["id"]))["archived"] is False


async def test_what_is_made_is_made_once(server: Serving, tmp_path: Path) -> None:
    """Twins at the same moment included."""
    (tmp_path / "code").mkdir()
    for path, body in (
        ("agents", {"name": "helper"}),
        ("workspaces", {"name": "code", "path": str(tmp_path / "code")}),
    ):
        answers = await asyncio.gather(
            *(server.admin.post(path, body, headers=key("make")) for _ in range(5))
        )
        assert {answer.status for answer in answers} == {201}, answers
        assert len({answer.body for answer in answers}) == 1
        assert len((await server.admin.get(path)).json["items"]) == 1
        other = await server.admin.post(path, {**body, "name": "x"}, headers=key("make"))
        assert (other.status, other.code) == (409, "idempotency_mismatch")


async def test_changing_an_agent_again(admin: Client) -> None:
    agent = (await admin.post("agents", {"name": "helper"})).json
    path = f"agents/{agent['id']}"
    first = await admin.patch(path, {"description": "one"}, headers=key("change"))
    await admin.patch(path, {"description": "two"})
    again = await admin.patch(path, {"description": "one"}, headers=key("change"))
    assert again.body == first.body
    assert (await admin.get(path)).json["description"] == "two"


async def test_agents_are_changed_by_many_at_once_and_nothing_is_lost(admin: Client) -> None:
    agent = (await admin.post("agents", {"name": "helper"})).json
    path = f"agents/{agent['id']}"
    changes = [{"description": "d"}, {"instructions": "i"}, {"published": True}, {"tools": ["todo"]}]
    answers = await asyncio.gather(*(admin.patch(path, change) for change in changes))
    assert {answer.status for answer in answers} == {200}
    now = (await admin.get(path)).json
    assert {name: now[name] for change in changes for name in change} == {
        name: value for change in changes for name, value in change.items()
    }


@pytest.mark.parametrize("path", ["users", "tokens", "users/{user_id}/sign-in"])
async def test_a_secret_is_shown_once_and_not_kept(server: Serving, path: str) -> None:
    ids = await a_chat_and_all(server.admin)
    body = None if "sign-in" in path else {"name": "mia"}
    path = path.format_map(ids)
    answers = await asyncio.gather(*(server.admin.post(path, body, headers=key("secret")) for _ in range(4)))
    made = [answer for answer in answers if answer.status == 201]
    assert len(made) == 1
    answers.append(await server.admin.post(path, body, headers=key("secret")))
    for answer in answers:
        if answer is not made[0]:
            assert (answer.status, answer.code) == (409, "shown_once")
            assert "another key" in answer.json["detail"]
    secret = made[0].json.get("secret") or made[0].json["sign_in_token"]
    assert secret.startswith("hf_")
    files = [file for file in server.data.iterdir() if file.is_file() and file.name != "admin.token"]
    assert files
    assert not any(secret.encode() in file.read_bytes() for file in files)


async def test_twins_of_what_admins_write(admin: Client) -> None:
    """At the same moment: one of them does it, all are answered the same."""
    user = (await admin.post("users", {"name": "mia"})).json["user"]["id"]
    for path, method, body in (
        ("providers/p", "PUT", {"kind": "openai", "api_key": "a-key"}),
        ("model-configs/m", "PUT", {"provider": "p", "model": "x"}),
        (f"users/{user}", "PATCH", {"name": "mio"}),
        ("model-configs/m", "DELETE", None),
        ("providers/p", "DELETE", None),
    ):
        answers = await asyncio.gather(
            *(admin.request(method, path, body, headers=key("twin")) for _ in range(5))
        )
        assert {answer.status for answer in answers} == {204 if body is None else 200}, (path, answers)
        assert len({answer.body for answer in answers}) == 1
    acts = [entry["action"] for entry in (await admin.get("audit")).json["items"]]
    for act in ("provider.put", "model.put", "user.change", "model.delete", "provider.delete"):
        assert acts.count(act) == 1
