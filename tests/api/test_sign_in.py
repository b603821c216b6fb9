"""First start, signing in and out, users and tokens."""

import asyncio
import stat
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tests.api.serving import Serving, config_for, serving


async def test_the_first_start(server: Serving) -> None:
    token = server.data / "admin.token"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    me = (await server.admin.get("session")).json
    assert me["user"]["role"] == "admin"
    assert me["scopes"] == ["admin", "chats:read", "chats:write"]


async def test_a_link_signs_in_once(server: Serving) -> None:
    link = (await server.parts.services.sign_in.one_time(server.parts.admin.id)).reveal()
    assert (await server.client(link).get("chats")).status == 401
    answer = await server.nobody.post("session", {"token": link})
    assert answer.status == 200
    cookie = answer.headers["Set-Cookie"]
    for attribute in ("HttpOnly", "SameSite=strict", "Path=/"):
        assert attribute.lower() in cookie.lower()
    assert link not in cookie
    again = await server.nobody.post("session", {"token": link})
    assert (again.status, again.code) == (401, "unauthorized")
    assert again.headers["WWW-Authenticate"] == "Bearer"


async def test_signing_out(server: Serving) -> None:
    link = (await server.parts.services.sign_in.one_time(server.parts.admin.id)).reveal()
    browser = await server.signed_in(link)
    assert (await browser.get("session")).status == 200
    assert (await browser.delete("session")).status == 204
    assert (await browser.get("session")).status == 401
    assert (await server.admin.delete("session")).status == 204
    assert (await server.admin.get("session")).status == 200


async def test_guessing_is_slowed_down(server: Serving) -> None:
    statuses = [(await server.nobody.post("session", {"token": f"hf_{n}"})).status for n in range(12)]
    assert statuses == [401] * 10 + [429] * 2
    limited = await server.nobody.post("session", {"token": "hf_x"})
    assert limited.code == "rate_limited"
    assert 0 < int(limited.headers["Retry-After"]) <= 61
    # Whoever has a token gets in from the same address, as often as they like.
    for _ in range(3):
        await server.signed_in(str(server.admin.token))
    link = (await server.parts.services.sign_in.one_time(server.parts.admin.id)).reveal()
    await server.signed_in(link)
    assert (await server.nobody.post("session", {"token": link})).status == 429


async def test_guessing_through_a_proxy_is_counted_by_who_guesses(tmp_path: Path) -> None:
    config = config_for(tmp_path / "data")
    config = replace(config, server=replace(config.server, proxies=("127.0.0.1", "10.0.0.0/8")))
    async with serving(config) as server:

        async def guess(forwarded: str) -> int:
            answer = await server.nobody.post(
                "session", {"token": "hf_x"}, headers={"X-Forwarded-For": forwarded}
            )
            return answer.status

        # What a client wrote itself stands before what our proxies wrote.
        for n in range(10):
            assert await guess(f"198.51.100.{n}, 203.0.113.7, 10.1.2.3") == 401
        assert await guess("192.0.2.1, 203.0.113.7") == 429
        assert await guess("203.0.113.8") == 401


async def test_nobody_but_a_proxy_is_believed(server: Serving) -> None:
    statuses = [
        (
            await server.nobody.post(
                "session", {"token": "hf_x"}, headers={"X-Forwarded-For": f"203.0.113.{n}"}
            )
        ).status
        for n in range(11)
    ]
    assert statuses == [401] * 10 + [429]


async def test_members_are_made_by_admins(server: Serving) -> None:
    member = await server.member("mia")
    assert (await member.get("session")).json["user"]["name"] == "mia"
    assert (await member.post("users", {"name": "more"})).status == 403
    assert (await server.admin.post("users", {"name": "mia"})).status == 409
    for name in ("", " ", "a\nb", "x" * 65):
        assert (await server.admin.post("users", {"name": name})).status == 422, name


async def test_tokens_do_no_more_than_their_scopes(server: Serving) -> None:
    reader = await server.member("rita", ("chats:read",))
    assert (await reader.get("chats")).status == 200
    assert (await reader.post("chats", {"content": "hi"})).status == 403
    assert (await reader.post("tokens", {"name": "more", "scopes": ["chats:write"]})).status in (403, 422)
    assert (await reader.post("tokens", {"name": "more", "scopes": ["admin"]})).status in (403, 422)


async def test_a_revoked_token_is_worth_nothing(server: Serving) -> None:
    member = await server.member()
    listed = (await member.get("tokens")).json["items"]
    assert "secret" not in str(listed)
    assert "hash" not in str(listed)
    (token,) = (item for item in listed if item["kind"] == "api")
    assert (await member.delete(f"tokens/{token['id']}")).status == 204
    assert (await member.get("chats")).status == 401


async def test_the_last_admin_stays(server: Serving) -> None:
    admin_id = server.parts.admin.id
    for body in ({"role": "member"}, {"suspended": True}):
        refused = await server.admin.patch(f"users/{admin_id}", body)
        assert (refused.status, refused.code) == (409, "wrong_state")


async def test_suspended_users_are_nobody(server: Serving) -> None:
    member = await server.member()
    user_id = (await member.get("session")).json["user"]["id"]
    assert (await server.admin.patch(f"users/{user_id}", {"suspended": True})).status == 200
    assert (await member.get("chats")).status == 401
    await server.admin.patch(f"users/{user_id}", {"suspended": False})
    assert (await member.get("chats")).status == 200


async def test_what_admins_do_is_written_down(server: Serving) -> None:
    await server.member("mia")
    denied = await server.member("nosy")
    await denied.get("users")
    entries = await _audit_with(server, "denied")
    assert any("user" in entry["action"] and entry["outcome"] == "done" for entry in entries)
    assert any(entry["action"] == "GET /api/v1/users" for entry in entries)
    assert "hf_" not in str(entries)
    assert (await denied.get("audit")).status == 403


async def _audit_with(server: Serving, outcome: str) -> list[dict[str, Any]]:
    """A denial is written down after it was answered."""
    async with asyncio.timeout(40):
        while True:
            entries = (await server.admin.get("audit?limit=200")).json["items"]
            if any(entry["outcome"] == outcome for entry in entries):
                return entries
            await asyncio.sleep(0.02)


async def test_a_session_says_which_browser_began_it_where(server: Serving) -> None:
    """So that a person knows which of them to end; the one that asks is marked."""
    link = (await server.parts.services.sign_in.one_time(server.parts.admin.id)).reveal()
    firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
    await server.nobody.request("POST", "session", {"token": link}, headers={"User-Agent": firefox})
    link = (await server.parts.services.sign_in.one_time(server.parts.admin.id)).reveal()
    browser = await server.signed_in(link)
    sessions = [one for one in (await browser.get("tokens")).json["items"] if one["kind"] == "session"]
    assert [one["current"] for one in sessions] == [False, True]
    assert sessions[0]["name"] == "Firefox on Linux"
    assert {one["address"] for one in sessions} == {"127.0.0.1"}
