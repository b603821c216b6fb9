"""A stopping server: it still answers, says that it is stopping, and starts no feed."""

import aiohttp
import pytest

from tests.api.serving import Client, Serving


async def test_requests_are_answered_and_load_balancers_know(server: Serving, admin: Client) -> None:
    chat = await admin.start_chat("say: hello")
    await admin.until_settled(chat["id"])
    assert (await server.nobody.get("/readyz")).status == 200
    server.parts.stopping.set()
    answer = await server.nobody.get("/readyz")
    assert (answer.status, answer.json) == (503, {"status": "stopping"})
    assert (await server.nobody.get("/healthz")).status == 200
    assert (await admin.chat(chat["id"]))["id"] == chat["id"]
    assert (await admin.post(f"chats/{chat['id']}/messages", {"content": "say: more"})).status in (201, 202)


async def test_no_feed_is_begun(server: Serving, admin: Client) -> None:
    chat = await admin.start_chat("say: hello")
    server.parts.stopping.set()
    for path in (f"chats/{chat['id']}/feed", "feed"):
        refused = await admin.get(path)
        assert (refused.status, refused.code) == (503, "try_again")
        assert int(refused.headers["Retry-After"]) >= 1
    with pytest.raises(aiohttp.WSServerHandshakeError) as told:
        await server.session.ws_connect(
            f"{server.address}/api/v1/chats/{chat['id']}/feed/ws",
            headers={"Authorization": f"Bearer {admin.token}"},
        )
    assert told.value.status == 503
