"""Tools that a model's provider runs itself: configured for a model, switched for a chat."""

from tests.api.serving import Serving

PROVIDER = {"kind": "openai", "base_url": "http://127.0.0.1:9/v1", "api": "responses", "api_key": "none"}


async def configure(server: Serving, **more: object) -> None:
    admin = server.admin
    assert (await admin.put("providers/there", {**PROVIDER, **more})).status == 200


async def test_a_chat_switches_them(server: Serving) -> None:
    admin = server.admin
    await configure(server)
    model = {"provider": "there", "model": "gpt-5", "provider_tools": ["web_search"], "chain": True}
    shown = await admin.put("model-configs/far", model)
    assert (shown.status, shown.json["provider_tools"], shown.json["chain"]) == (200, ["web_search"], True)
    (far,) = [one for one in (await admin.get("models")).json["items"] if one["name"] == "far"]
    assert (far["can_run"], far["provider_tools"]) == (["web_search", "code_execution"], ["web_search"])
    chat = await admin.start_chat("say: hi")
    assert chat["provider_tools"] is None
    path = f"chats/{chat['id']}"
    changed = await admin.patch(path, {"model": "far", "provider_tools": ["code_execution"]})
    assert (changed.status, changed.json["provider_tools"]) == (200, ["code_execution"])
    assert (await admin.chat(chat["id"]))["provider_tools"] == ["code_execution"]
    assert (await admin.patch(path, {"provider_tools": []})).json["provider_tools"] == []
    assert (await admin.patch(path, {"provider_tools": None})).json["provider_tools"] is None


async def test_what_makes_no_sense_is_refused(server: Serving) -> None:
    admin = server.admin
    chat = await admin.start_chat("say: hi")
    for wrong in (["web_search"], ["web_search", "web_search"], ["telepathy"], "web_search"):
        refused = await admin.patch(f"chats/{chat['id']}", {"provider_tools": wrong})
        assert refused.status == 422, wrong
    assert "does not run web_search" in str(
        (await admin.patch(f"chats/{chat['id']}", {"provider_tools": ["web_search"]})).json
    )
    started = await admin.post("chats", {"content": "say: hi", "provider_tools": ["web_search"]})
    assert started.status == 422
    await configure(server, api="chat")
    for fields in ({"chain": True}, {"provider_tools": ["web_search"]}, {"text_tool_calls": "maybe"}):
        refused = await admin.put("model-configs/far", {"provider": "there", "model": "m", **fields})
        assert refused.status == 422, fields


async def test_a_provider_that_changes_its_format_keeps_the_server_up(server: Serving) -> None:
    admin = server.admin
    await configure(server)
    assert (
        await admin.put("model-configs/far", {"provider": "there", "model": "m", "chain": True})
    ).status == 200
    await configure(server, api="chat")
    names = [one["name"] for one in (await admin.get("models")).json["items"]]
    assert "far" not in names
    await configure(server)
    names = [one["name"] for one in (await admin.get("models")).json["items"]]
    assert "far" in names
