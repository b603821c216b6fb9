"""Providers and models that admins keep in the database, through the API."""

from typing import Any

from tests.api.serving import Client

HERE = "http://127.0.0.1:1/v1"


async def test_what_is_answered_is_what_is_listed(admin: Client) -> None:
    changes: tuple[dict[str, Any], ...] = (
        {"kind": "openai", "base_url": HERE, "api_key": "a-key"},
        {"kind": "openai", "base_url": HERE, "enabled": False},
        {"kind": "openai", "base_url": HERE, "api_key": "none"},
        {"kind": "openai", "base_url": HERE},
        {"kind": "ollama"},
    )
    for body in changes:
        if body["kind"] == "ollama":
            await admin.delete("providers/mine")
        put = await admin.put("providers/mine", body)
        assert put.status == 200, put
        listed = {one["name"]: one for one in (await admin.get("providers")).json["items"]}
        assert put.json == listed["mine"], body
        assert put.json["has_key"] == (body.get("api_key", "a-key" if "enabled" in body else None) == "a-key")
    model = await admin.put("model-configs/m", {"provider": "mine", "model": "x", "temperature": 0.5})
    listed = {one["name"]: one for one in (await admin.get("model-configs")).json["items"]}
    assert model.json == listed["m"]
    assert (await admin.delete("providers/mine")).code == "wrong_state"
