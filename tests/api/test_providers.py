"""Providers and models that admins keep in the database, through the API."""

from typing import Any

from tests.api.serving import Client
from tests.providers.server import ProviderServer, page

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


async def test_the_models_that_a_provider_has(admin: Client) -> None:
    async with ProviderServer() as server:
        server.pages["/vllm/v1/models"] = page(
            {"data": [{"id": f"m{n}", "max_model_len": 8192} for n in range(60)]}
        )
        await admin.put("providers/rack", {"kind": "vllm", "base_url": server.base_url("vllm")})
        await admin.put("model-configs/own", {"provider": "rack", "model": "m1"})
        answer = await admin.get("providers/rack/models?limit=55")
        assert answer.status == 200, answer
        assert len(answer.json["items"]) == 55
        rest = await admin.get(f"providers/rack/models?limit=55&cursor={answer.json['next_cursor']}")
        assert len(rest.json["items"]) == 5
        found = {one["model"]: one for one in answer.json["items"] + rest.json["items"]}
        assert found["m1"]["configured_as"] == ["own"]
        assert found["m1"]["context_limit"] == 8192
        assert found["m2"]["configured_as"] == []
        models = {one["name"]: one for one in (await admin.get("models")).json["items"]}
        assert models["own"]["context_limit"] == 8192
        del server.pages["/vllm/v1/models"]
        failed = await admin.get("providers/rack/models")
        assert (failed.status, failed.code) == (502, "provider_failed")
        assert "has no list of models" in failed.json["detail"]
    assert (await admin.get("providers/nobody/models")).code == "not_found"
    await admin.delete("model-configs/own")
    await admin.delete("providers/rack")


async def test_the_default_model_is_chosen(admin: Client) -> None:
    async def default() -> list[str]:
        return [one["name"] for one in (await admin.get("models?limit=200")).json["items"] if one["default"]]

    await admin.put("providers/rack", {"kind": "vllm", "base_url": HERE, "api_key": "none"})
    for name in ("chosen-a", "chosen-b"):
        await admin.put(f"model-configs/{name}", {"provider": "rack", "model": "m"})
    before = await default()
    answer = await admin.put("models/default", {"name": "chosen-b"})
    assert answer.status == 204, answer
    assert await default() == ["chosen-b"]
    assert (await admin.put("models/default", {"name": "nobody"})).code == "invalid_input"
    await admin.delete("model-configs/chosen-b")
    assert await default() == before
    assert (await admin.put("models/default", {"name": None})).status == 204
    await admin.delete("model-configs/chosen-a")
    await admin.delete("providers/rack")
