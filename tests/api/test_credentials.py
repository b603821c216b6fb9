"""What a credential may do to others, and how a browser sends one."""

import pytest

from tests.api.serving import Client, Serving


async def narrow(member: Client) -> tuple[str, str]:
    made = await member.browser.post("tokens", {"name": "narrow", "scopes": ["chats:read"]})
    return made.json["secret"], made.json["token"]["id"]


async def test_a_narrow_token_does_not_grow_by_signing_in(server: Serving) -> None:
    """Otherwise whoever finds one makes others, which outlive it."""
    member = await server.member()
    secret, _ = await narrow(member)
    session = await server.signed_in(secret)
    refused = await session.post("tokens", {"name": "more", "scopes": ["chats:read"]})
    assert (refused.status, refused.code) == (403, "forbidden")


async def test_a_narrow_token_ends_itself_and_no_other(server: Serving) -> None:
    member = await server.member()
    secret, own_id = await narrow(member)
    holder = server.client(secret)
    for token in (await holder.get("tokens")).json["items"]:
        if token["id"] != own_id:
            assert (await holder.delete(f"tokens/{token['id']}")).status == 403
    assert (await holder.delete(f"tokens/{own_id}")).status == 204
    assert (await holder.get("tokens")).status == 401
    assert (await member.get("session")).status == 200


async def test_a_token_expires_at_a_moment_that_can_be_written(admin: Client) -> None:
    body = {"name": "x", "scopes": ["chats:read"], "expires_at": "9999-12-31T23:59:59-23:59"}
    refused = await admin.post("tokens", body)
    assert (refused.status, refused.code) == (422, "invalid_input")
    assert (await admin.post("tokens", body | {"expires_at": "2999-01-01T00:00:00+14:00"})).status == 201


@pytest.mark.parametrize("other", ['a={"x": 1}', 'theme="dark', "x=a b c", "=", "[x]=1", "a=\xe9"])
async def test_cookies_of_other_programs_do_no_harm(server: Serving, other: str) -> None:
    """All programs on localhost share their cookies, whatever they write into them."""
    link = await server.parts.services.sign_in.one_time(server.parts.admin.id)
    browser = await server.signed_in(link.reveal())
    for cookie in (f"{other}; {browser.cookie}", f"{browser.cookie}; {other}"):
        assert (await server.nobody.get("chats", headers={"Cookie": cookie})).status == 200


async def test_a_session_that_came_over_tls_stays_there(server: Serving) -> None:
    """A proxy ends TLS: only the origin tells."""
    for scheme, secure in (("http", False), ("https", True)):
        link = await server.parts.services.sign_in.one_time(server.parts.admin.id)
        origin = server.address.replace("http", scheme)
        answer = await server.nobody.post("session", {"token": link.reveal()}, headers={"Origin": origin})
        assert ("secure" in answer.headers["Set-Cookie"].lower()) is secure
