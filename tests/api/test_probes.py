"""Access checks besides the table: other people's data shows up nowhere, and there is no way around the
checks."""

import pytest

from tests.api.operations import a_chat_and_all, operations
from tests.api.serving import Serving

pytestmark = pytest.mark.heavy


async def test_nothing_tells_of_what_others_have(server: Serving) -> None:
    """AC-07: lists, search, counters, headers."""
    anna, ben = await server.member("anna"), await server.member("ben")
    hers = await anna.start_chat("say: a wombat in the wardrobe", title="wombat", labels=["wombat"])
    await anna.until_settled(hers["id"])
    await anna.post("agents", {"name": "wombat"})
    for path in (
        "chats",
        "chats?q=wombat",
        "chats?label=wombat",
        "chats?archived=true",
        f"chats?parent_id={hers['id']}",
        "agents",
        "workspaces",
        "tokens",
        "usage",
        "settings",
    ):
        for who in (ben, server.admin):
            answer = await who.get(path)
            assert answer.status == 200, path
            assert b"wombat" not in answer.body, path
            assert hers["id"].encode() not in answer.body, path
            # Nothing that a later request could be compared with.
            assert not {"ETag", "Last-Modified"} & set(answer.headers), path
    assert len((await anna.get("chats?q=wombat")).json["items"]) == 1


async def test_only_admins_say_where_keys_are_sent(server: Serving) -> None:
    """AC-13."""
    member = await server.member()
    for answer in (
        await member.put("providers/anthropic", {"kind": "anthropic", "base_url": "http://127.0.0.1:1"}),
        await member.put("model-configs/mine", {"provider": "demo", "model": "demo"}),
        await member.get("providers"),
        await member.post("model-configs/demo/test"),
    ):
        assert (answer.status, answer.code) == (403, "forbidden")
    chat = await member.post("chats", {"content": "hi", "base_url": "http://127.0.0.1:1"})
    assert chat.status == 422


async def test_there_is_no_way_in_for_replicas(server: Serving) -> None:
    """AC-18: they talk through the database and the bus alone."""
    for path in ("/internal", "/api/internal/parts", "/api/v1/workers", "/api/v1/bus", "/api/v1/internal"):
        for method in ("GET", "POST"):
            assert (await server.admin.request(method, path)).status == 404, path
            refused = await server.nobody.request(method, path)
            assert refused.status in ((401, 404) if path == "/internal" else (401,)), path


async def test_who_only_reads_approves_nothing(server: Serving) -> None:
    """AC-19: nor does a stranger, nor an admin for somebody else."""
    member = await server.member("mia")
    reader = await member.browser.post("tokens", {"name": "reader", "scopes": ["chats:read"]})
    chat = await member.start_chat('call: todo {"items": []}\nsay: done', tools={"todo": "ask"})
    asked = (await member.until_status(chat["id"], "requires_action"))["action"]["calls"]
    path = f"chats/{chat['id']}/calls/{asked[0]['call_id']}/decision"
    stranger = await server.member("ben")
    for who, status in ((server.client(reader.json["secret"]), 403), (stranger, 404), (server.admin, 404)):
        assert (await who.post(path, {"decision": "approve"})).status == status
    assert (await member.chat(chat["id"]))["status"] == "requires_action"
    assert (await member.post(path, {"decision": "approve"})).status == 202
    await member.until_settled(chat["id"])


async def test_a_credential_in_an_address_is_refused_on_every_route(server: Serving) -> None:
    """B-096: as a parameter that nobody knows, so that nobody comes to rely on it."""
    ids = await a_chat_and_all(server.admin)
    token = server.admin.token
    for method, path, _ in operations(ids):
        if path.startswith("/api/v1"):
            assert (await server.nobody.request(method, f"{path}?token={token}")).status in (401, 422), path
            assert (await server.admin.request(method, f"{path}?token={token}")).status == 422, path
