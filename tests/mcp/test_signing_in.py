"""MCP servers at an address: signing in to them (OAuth), and where they lead."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.api.serving import Client, Serving, config_for, serving
from tests.mcp.oauth_server import OAuthServer, oauth_server

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[Serving]:
    async with serving(config_for(tmp_path / "data")) as running:
        yield running


@pytest.fixture
async def guarded() -> AsyncGenerator[OAuthServer]:
    async with oauth_server() as running:
        yield running


async def added(client: Client, url: str) -> str:
    body = {"name": "guarded", "url": url, "approval": "allow"}
    answer = await client.post("mcp-servers", body)
    assert answer.status == 201, answer
    return answer.json["id"]


async def tried(client: Client, server_id: str) -> dict[str, Any]:
    return (await client.post(f"mcp-servers/{server_id}/test")).json


async def test_a_person_signs_in_once(server: Serving, guarded: OAuthServer, tmp_path: Path) -> None:
    admin = server.admin
    server_id = await added(admin, f"{guarded.url}/mcp")
    shown = await tried(admin, server_id)
    assert (shown["state"], shown["signed_in"]) == ("needs_sign_in", False), shown
    # A call alone registers nothing.
    assert guarded.registered == []

    for wrong in ("http://evil.test/settings/mcp", f"{admin.address}/other"):
        refused = await admin.post(f"mcp-servers/{server_id}/connect", {"redirect_uri": wrong})
        assert refused.status == 422
    back = f"http://{urlsplit(admin.address).netloc}/settings/mcp"
    begun = await admin.post(f"mcp-servers/{server_id}/connect", {"redirect_uri": back})
    assert begun.status == 200, begun
    assert guarded.registered[0]["redirect_uris"] == [back]
    state, code = guarded.agree(begun.json["url"])
    # Nobody else finishes it, and nobody without its state.
    mia = await server.member("mia")
    assert (await mia.post("mcp-servers/sign-in", {"state": state, "code": code})).status == 422
    assert (await admin.post("mcp-servers/sign-in", {"state": "other", "code": code})).status == 422
    assert (await admin.post("mcp-servers/sign-in", {"state": state, "code": code})).status == 204
    async with asyncio.timeout(60):
        while (now := (await admin.get(f"mcp-servers/{server_id}")).json)["state"] != "ready":  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    assert now["signed_in"]

    # The next connection needs nobody, not even when the token does not count any more.
    await server.parts.services.mcp.stop(server_id)
    chat = await admin.start_chat("call: mcp__guarded__echo {}\nsay: done")
    await admin.until_settled(chat["id"])
    assert "let in" in str(await admin.messages(chat["id"]))
    # The tokens are the person's own, and nowhere in the clear.
    assert (await tried(mia, server_id))["state"] == "needs_sign_in"
    kept = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    assert b"canary-access" not in kept
    assert b"canary-refresh" not in kept


async def test_a_redirect_to_elsewhere_is_not_followed(server: Serving, guarded: OAuthServer) -> None:
    server_id = await added(server.admin, f"{guarded.url}/moved")
    assert (await tried(server.admin, server_id))["error"]
    assert guarded.elsewhere == 0


async def test_a_members_server_is_reached_at_public_addresses_alone(
    server: Serving, guarded: OAuthServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name looks public when it is configured, and leads to this machine."""
    asked: list[str] = []

    async def resolved(host: str, _: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    monkeypatch.setattr("holdfast.tools.addresses.resolved", resolved)
    mia = await server.member("mia")
    port = urlsplit(guarded.url).port
    server_id = await added(mia, f"http://looks-public.example:{port}/mcp")
    assert "is refused" in (await tried(mia, server_id))["error"]
    assert set(asked) == {"looks-public.example"}
