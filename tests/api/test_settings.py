"""Settings, and the configuration that is read again."""

import asyncio
from pathlib import Path

import aiohttp
from msgspec.structs import replace

from holdfast.config.sections import Config
from holdfast.core.errors import BadConfig
from holdfast.server.parts import opened
from holdfast.server.serve import answering
from tests.api.serving import Client, Serving, config_for, serving, token_of


async def test_admins_acts_are_in_the_audit(admin: Client) -> None:
    assert (await admin.patch("settings/server", {"theme": "dark"})).status == 200
    assert (await admin.post("settings/reload")).status == 200
    entries = {entry["action"]: entry for entry in (await admin.get("audit")).json["items"]}
    assert entries["settings.change"]["detail"] == {"keys": "theme"}
    assert entries["settings.reload"]["outcome"] == "done"


async def test_nobody_fills_the_database_with_settings(server: Serving) -> None:
    member = await server.member()
    for tenth in range(4):
        chosen = {f"key{tenth * 50 + number}": 1 for number in range(50)}
        assert (await member.patch("settings", chosen)).status == 200
    refused = await member.patch("settings", {"more": 1})
    assert (refused.status, refused.code) == (409, "wrong_state")
    assert (await member.patch("settings", {"key1": None, "more": 1})).status == 200
    assert len((await member.get("settings")).json["user"]) == 200


async def test_settings_are_changed_all_or_none_and_once_under_a_key(admin: Client) -> None:
    refused = await admin.patch("settings", {"first": 1, "Second": 2})
    assert refused.status == 422
    assert (await admin.get("settings")).json["user"] == {}
    key = {"Idempotency-Key": "k"}
    first = await admin.patch("settings", {"theme": "dark"}, headers=key)
    await admin.patch("settings", {"theme": "light"})
    again = await admin.patch("settings", {"theme": "dark"}, headers=key)
    assert (again.status, again.body) == (200, first.body)
    assert (await admin.get("settings")).json["user"] == {"theme": "light"}


async def test_a_configuration_that_cannot_be_read_is_the_admins_to_correct(tmp_path: Path) -> None:
    """It is told as such, and what admins keep in the database counts nevertheless."""
    config = config_for(tmp_path / "data")

    def broken() -> Config:
        raise BadConfig("holdfast.toml is not valid TOML.")

    async with (
        opened(config, broken, {}) as parts,
        answering(parts) as running,
        aiohttp.ClientSession() as session,
    ):
        admin = Serving(parts, running.address, session, config.server.data, await token_of(parts)).admin
        refused = await admin.post("settings/reload")
        assert (refused.status, refused.code) == (422, "invalid_input")
        assert "TOML" in refused.json["detail"]
        body = {"provider": "demo", "model": "demo"}
        assert (await admin.put("model-configs/mine", body)).status == 200
        assert "mine" in [model["name"] for model in (await admin.get("models")).json["items"]]


async def test_many_changes_at_once_all_count(admin: Client) -> None:
    body = {"provider": "demo", "model": "demo"}
    await asyncio.gather(*(admin.put(f"model-configs/m{number}", body) for number in range(12)))
    names = {model["name"] for model in (await admin.get("models")).json["items"]}
    assert {f"m{number}" for number in range(12)} <= names


async def test_what_is_denied_for_everybody_stays_denied(tmp_path: Path) -> None:
    config = config_for(tmp_path / "data")
    config = replace(config, tools=replace(config.tools, approval="deny"))
    async with serving(config) as server:
        chat = await server.admin.start_chat('call: todo {"items": []}\nsay: done', tools={"todo": "allow"})
        await server.admin.until_settled(chat["id"])
        results = [
            part["outcome"]
            for message in await server.admin.messages(chat["id"])
            for part in message["parts"]
            if part["type"] == "tool_result"
        ]
        assert results == ["denied"]
