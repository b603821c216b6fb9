"""Answers have the promised shape, even if something changed meanwhile."""

from pathlib import Path

import aiohttp
import pytest
from msgspec.structs import replace

from holdfast.api.app import document
from holdfast.providers.configs import ModelConfig, ProviderConfig
from tests.api.serving import Client, Serving, config_for, serving
from tests.providers.replies import Call, Reply, Think, say
from tests.providers.server import ProviderServer

CLIENT_TOOLS = [
    {"name": name, "description": "x", "input_schema": {"type": "object"}} for name in ("first", "second")
]


async def test_an_answered_call_is_asked_for_no_more(admin: Client) -> None:
    chat = await admin.start_chat("calls: first {}; second {}\nsay: done", client_tools=CLIENT_TOOLS)
    asked = (await admin.until_status(chat["id"], "requires_action"))["action"]["calls"]
    assert len(asked) == 2
    body = {"results": [{"call_id": asked[0]["call_id"], "output": "1"}]}
    answer = await admin.post(f"chats/{chat['id']}/tool-results", body)
    assert answer.status == 202
    assert answer.json["action"] == (await admin.chat(chat["id"]))["action"]
    assert [call["call_id"] for call in answer.json["action"]["calls"]] == [asked[1]["call_id"]]


async def test_releasing_an_item_that_starts_at_once_answers_with_the_item(admin: Client) -> None:
    chat = await admin.start_chat("pace: 1\nsay slowly: " + "word " * 30)
    queued = (await admin.post(f"chats/{chat['id']}/messages", {"content": "say: later"})).json["queued"]
    path = f"chats/{chat['id']}/queue/{queued['id']}"
    token = (await admin.patch(path, {"held": True})).json["hold_token"]
    await admin.post(f"chats/{chat['id']}/interrupt")
    await admin.until(chat["id"], lambda now: now["waiting"] == "held")
    released = await admin.patch(path, {"held": False, "hold_token": token})
    assert released.status == 200
    assert released.json.keys() == queued.keys()
    assert (released.json["id"], released.json["content"]) == (queued["id"], queued["content"])
    assert released.json["held"] is False


async def test_pages_between_two_messages_end_there(admin: Client) -> None:
    chat = await admin.start_chat("say: hi")
    for _ in range(3):
        await admin.until_settled(chat["id"])
        await admin.post(f"chats/{chat['id']}/messages", {"content": "say: hi"})
    await admin.until_settled(chat["id"])
    ids = [message["id"] for message in await admin.messages(chat["id"])]
    assert len(ids) == 8
    for again in ("", f"&after={ids[0]}&before={ids[6]}"):
        # The cursor alone, and with what was asked for at first.
        found: list[str] = []
        query = f"after={ids[0]}&before={ids[6]}"
        while query:
            page = (await admin.get(f"chats/{chat['id']}/messages?limit=2&{query}")).json
            found += [message["id"] for message in page["items"]]
            query = page["next_cursor"] and f"cursor={page['next_cursor']}{again}"
        assert found == ids[1:6]


async def test_a_socket_refuses_what_the_other_feed_refuses(server: Serving) -> None:
    chat = await server.admin.start_chat("say: hi")
    headers = {"Authorization": f"Bearer {server.admin.token}"}
    for tail in ("0", "x", "99999", "\u0661"):
        url = f"{server.address}/api/v1/chats/{chat['id']}/feed/ws"
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await server.session.ws_connect(url, params={"tail": tail}, headers=headers)
        assert refused.value.status == 422


async def test_what_only_the_provider_is_given_back_is_shown_nowhere(tmp_path: Path) -> None:
    """Signatures and encrypted blocks: kept, sent back, and of no use to anybody else."""
    async with ProviderServer() as provider:
        config = replace(
            config_for(tmp_path / "data"),
            providers=(
                ProviderConfig(
                    name="local",
                    kind="anthropic",
                    base_url=provider.base_url("anthropic"),
                    api_key="sk-ant-test",
                ),
            ),
            models=(ModelConfig(name="default", provider="local", model="claude-test"),),
        )
        provider.queue(Reply(content=(Think("Hm."), Call("todo", {"items": []}))), say("Done."))
        async with serving(config) as server:
            chat = await server.admin.start_chat("Think")
            await server.admin.until_settled(chat["id"])
            path = f"chats/{chat['id']}"
            messages = await server.admin.messages(chat["id"], "visibility=all&removed=true")
            assert [part["type"] for part in messages[1]["parts"]] == ["reasoning", "tool_call"]
            shown = [
                (await server.admin.get(f"{path}/{place}")).body
                for place in ("messages", f"messages/{messages[1]['id']}", "export", "trace")
            ]
            assert all(b"Done." in body or b"Hm." in body for body in shown)
            assert not any(b"provider_data" in body or b"signature" in body for body in shown)
        assert provider.refusals == []
        assert "provider_data" not in str(document())
