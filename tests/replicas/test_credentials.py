"""Who is known on one replica is known on all, and whoever loses access loses it everywhere; what admins
change on one is used by the others."""

import asyncio
import time
from pathlib import Path

import pytest

from tests.api.serving import BrowserClient, Client
from tests.api.watching import watching
from tests.providers.server import ProviderServer
from tests.replicas.cluster import PATIENCE_SECONDS, replicas
from tests.server.process import ServeProcess

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(400)]

# Within 5 s, on a machine that does nothing else; times four here.
CUT_SECONDS = 20.0
ENDLESS = "pace: 0.2\nsay slowly: " + "on and on " * 2000


async def member_token(admin: Client, server: ServeProcess) -> tuple[str, BrowserClient]:
    """A new member: an API token, and a session that began on this server."""
    made = await admin.post("users", {"name": "mia"})
    signed = await server.client(None).post("session", {"token": made.json["sign_in_token"]})
    assert signed.status == 200, signed
    cookie = signed.headers["Set-Cookie"].partition(";")[0]
    browser = BrowserClient(server.session, server.address, cookie)
    token = await browser.post("tokens", {"name": "test", "scopes": ["chats:read", "chats:write"]})
    assert token.status == 201, token
    return token.json["secret"], browser


async def test_a_credential_is_good_everywhere_until_it_is_revoked(postgres_url: str, tmp_path: Path) -> None:
    async with replicas(tmp_path, postgres_url) as three:
        secret, browser = await member_token(three[0].admin, three[0])
        chat = await three[0].client(secret).start_chat(ENDLESS)
        for server in three:
            assert (await server.client(secret).chat(chat["id"]))["id"] == chat["id"]
            elsewhere = BrowserClient(server.session, server.address, browser.cookie)
            assert (await elsewhere.get("chats")).status == 200
            # Each replica left a token for local programs; all are good everywhere.
            assert (await three[0].client(server.admin.token).get("users")).status == 200
        token_id = (await browser.get("tokens")).json["items"]
        (revoked,) = [one["id"] for one in token_id if one["name"] == "test"]
        async with (
            watching(three[0].client(secret), chat["id"]) as first,
            watching(three[1].client(secret), chat["id"], "websocket") as second,
            watching(three[2].client(secret)) as third,
        ):
            for watcher in (first, second, third):
                await watcher.until(lambda one: "caught_up" in one.names)
            began = time.monotonic()
            assert (await browser.delete(f"tokens/{revoked}")).status == 204
            for watcher in (first, second, third):
                await watcher.until(lambda _, one=watcher: one.ended)
            assert time.monotonic() - began < CUT_SECONDS
        for server in three:
            async with asyncio.timeout(CUT_SECONDS):
                while (await server.client(secret).get("chats")).status != 401:  # noqa: ASYNC110
                    await asyncio.sleep(0.1)


async def test_a_provider_that_is_set_up_on_one_is_used_by_all(postgres_url: str, tmp_path: Path) -> None:
    async with ProviderServer(key="sk-shared") as provider, replicas(tmp_path, postgres_url) as three:
        admin = await three[0].full_admin()
        made = await admin.put(
            "providers/local",
            {"kind": "openai", "base_url": provider.base_url("compatible"), "api_key": "sk-shared"},
        )
        assert made.status in (200, 201), made
        model = await admin.put("model-configs/shared", {"provider": "local", "model": "test"})
        assert model.status in (200, 201), model
        for number, server in enumerate(three):
            async with asyncio.timeout(PATIENCE_SECONDS):
                while "shared" not in await _models(server):  # noqa: ASYNC110 - told over the bus
                    await asyncio.sleep(0.05)
            chat = await server.admin.start_chat(f"say: through replica {number}", model="shared")
            done = await server.admin.until_settled(chat["id"])
            assert done["status"] == "idle", done
        assert len(provider.log) == 3
        assert not provider.refusals


async def test_settings_are_everybodys(postgres_url: str, tmp_path: Path) -> None:
    async with replicas(tmp_path, postgres_url, count=2) as (one, two):
        assert (await one.admin.patch("settings", {"theme": "dark"})).status == 200
        assert (await one.admin.patch("settings/server", {"motto": "hold fast"})).status == 200
        seen = (await two.client(one.admin.token).get("settings")).json
        assert seen["user"]["theme"] == "dark"
        assert seen["server"]["motto"] == "hold fast"


async def _models(server: ServeProcess) -> set[str]:
    return {model["name"] for model in (await server.admin.get("models")).json["items"]}
