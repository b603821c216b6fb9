"""Hosts, origins, credentials: what every request passes (B-071 to B-075, AC-15, AC-16, B-096)."""

import aiohttp
import pytest

from tests.api.serving import Serving

EVIL_HOSTS = (
    "evil.com",
    "evil.com:8420",
    "127.evil.com",
    "127.0.0.1.evil.com",
    "localhost.evil.com",
    "[::2]",
)


@pytest.mark.parametrize("host", EVIL_HOSTS)
async def test_other_host_names_are_refused(server: Serving, host: str) -> None:
    for path in ("/healthz", "/", "/api/v1/chats"):
        answer = await server.admin.get(path, headers={"Host": host})
        assert (answer.status, answer.code) == (421, "misdirected")
    forwarded = await server.admin.get("chats", headers={"X-Forwarded-Host": host})
    assert forwarded.status == 200


async def test_known_host_names_are_answered(server: Serving) -> None:
    port = server.address.rpartition(":")[2]
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}", "localhost"):
        assert (await server.nobody.get("/healthz", headers={"Host": host})).status == 200


async def test_requests_of_other_sites_are_refused(server: Serving) -> None:
    link = await server.parts.services.sign_in.one_time(server.parts.admin.id)
    browser = await server.signed_in(link.reveal())
    assert (await browser.get("chats")).status == 200
    assert (await browser.post("chats", {"content": "hi"})).status == 201
    for origin in (
        "http://evil.com",
        "null",
        server.address + ".evil.com",
        "http://evil127.0.0.1",
        server.address.replace("http", "ftp"),
        "",
    ):
        for method in ("GET", "POST"):
            answer = await browser.request(method, "chats", headers={"Origin": origin})
            assert (answer.status, answer.code) == (403, "forbidden"), origin
            assert "Access-Control-Allow-Origin" not in answer.headers
    preflight = await server.nobody.request(
        "OPTIONS", "chats", headers={"Origin": "http://evil.com", "Access-Control-Request-Method": "POST"}
    )
    assert preflight.status == 403
    assert "Access-Control-Allow-Origin" not in preflight.headers


async def test_a_cookie_alone_changes_nothing(server: Serving) -> None:
    """A form of another site sends the cookie and, in an old browser, no origin."""
    link = await server.parts.services.sign_in.one_time(server.parts.admin.id)
    browser = await server.signed_in(link.reveal())
    bare = {"Cookie": browser.cookie}
    nobody = server.nobody
    assert (await nobody.get("chats", headers=bare)).status == 200
    assert (await nobody.post("chats", {"content": "hi"}, headers=bare)).status == 403
    cross = bare | {"Sec-Fetch-Site": "cross-site"}
    assert (await nobody.get("chats", headers=cross)).status == 403
    own = bare | {"Sec-Fetch-Site": "same-origin"}
    assert (await nobody.post("chats", {"content": "hi"}, headers=own)).status == 201


async def test_credentials_count_only_where_they_belong(server: Serving) -> None:
    token = server.admin.token or ""
    nobody = server.nobody
    for headers in ({"X-Api-Key": token}, {"Authorization": f"Basic {token}"}, {"Authorization": token}):
        assert (await nobody.get("chats", headers=headers)).status == 401
    for query in (f"token={token}", f"access_token={token}", f"api_key={token}"):
        assert (await nobody.get(f"chats?{query}")).status == 401
    claimed = {"X-Forwarded-User": "admin", "X-Scopes": "admin", "X-User-Id": server.parts.admin.id}
    member = await server.member()
    assert (await member.get("users", headers=claimed)).status == 403


async def test_websockets_follow_the_same_rules(server: Serving) -> None:
    link = await server.parts.services.sign_in.one_time(server.parts.admin.id)
    browser = await server.signed_in(link.reveal())
    chat = await server.admin.start_chat("say: hi")
    url = f"{server.address}/api/v1/chats/{chat['id']}/feed/ws"
    cookie = {"Cookie": browser.cookie}
    for headers in (
        {},
        cookie,
        cookie | {"Origin": "http://evil.com"},
        cookie | {"Origin": "null"},
        cookie | {"Origin": "http://evil.com", "Host": "evil.com"},
        {"Authorization": "Bearer nonsense"},
    ):
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await server.session.ws_connect(url, headers=headers)
    async with server.session.ws_connect(url, headers=cookie | {"Origin": server.address}) as socket:
        assert "event" in await socket.receive_json()
    async with server.session.ws_connect(
        url, headers={"Authorization": f"Bearer {server.admin.token}"}
    ) as socket:
        assert "event" in await socket.receive_json()
    stranger = await server.member()
    with pytest.raises(aiohttp.WSServerHandshakeError):
        await server.session.ws_connect(url, headers={"Authorization": f"Bearer {stranger.token}"})


async def test_every_answer_has_the_security_headers(server: Serving) -> None:
    for path in ("/", "/login", "/healthz", "/api/v1/chats", "/docs", "/api/openapi.json", "/nowhere"):
        for client in (server.nobody, server.admin):
            headers = (await client.get(path)).headers
            assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
            assert "default-src 'none'" in headers["Content-Security-Policy"]
            # The reference has no script at all.
            assert path == "/docs" or "script-src 'self'" in headers["Content-Security-Policy"]
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["X-Frame-Options"] == "DENY"
            assert headers["Referrer-Policy"] == "no-referrer"
            assert "Server" not in headers
    assert (await server.admin.get("chats")).headers["Cache-Control"] == "no-store"
