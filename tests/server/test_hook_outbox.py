"""Hooks that are told afterwards: what happened is told at least once, by an id that stays, and nothing
else, also if the server is killed in between."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from standardwebhooks import Webhook, WebhookVerificationError

from tests.server.process import ServeProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SECRET = "whsec_c2VjcmV0LWtleS1vZi10aGUtd2ViaG9vay0xMjM0NTY3ODkw"
CONFIG = """\
[worker]
lease_seconds = 3
[[hooks]]
event = "post_tool"
url = "{address}/hook"
secret = "{secret}"
private = true
timeout_seconds = 2
[[hooks]]
event = "turn_end"
url = "{address}/hook"
secret = "{secret}"
private = true
timeout_seconds = 2
"""


class Receiver:
    """Keeps what it is told; while `deaf`, it takes a request and never answers."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.forged = 0
        self._more = asyncio.Event()
        self.deaf = False
        self.address = ""
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        app = web.Application()
        app.router.add_post("/hook", self._take)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        assert self._runner.addresses
        self.address = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _take(self, request: web.Request) -> web.Response:
        body = await request.read()
        try:
            Webhook(SECRET).verify(body, dict(request.headers))
        except WebhookVerificationError:
            self.forged += 1
            return web.Response(status=401)
        self._more.set()
        self.told.append((request.headers["webhook-id"], json.loads(body)))
        if self.deaf:
            # Told, and nobody knows: it is told again.
            await asyncio.sleep(30)
        return web.Response(status=204)

    def of(self, event: str) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {}
        for message_id, body in self.told:
            if body["event"] == event:
                found.setdefault(message_id, []).append(body)
        return found

    async def until(self, event: str, count: int) -> None:
        async with asyncio.timeout(100):
            while len(self.of(event)) < count:
                self._more.clear()
                await self._more.wait()


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
async def test_what_happened_is_told_also_after_a_kill(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url: str | None = request.getfixturevalue("postgres_url") if engine == "postgres" else None
    receiver = Receiver()
    await receiver.start()
    config = CONFIG.format(address=receiver.address, secret=SECRET)
    said = 'call: todo {"items": [{"text": "one"}]}\nsay: done'
    try:
        async with ServeProcess(tmp_path, database=url, config=config) as server:
            await server.start()
            # Heard, but not answered: the server dies before it knows.
            receiver.deaf = True
            chat = await server.admin.start_chat(said)
            await receiver.until("post_tool", 1)
            await server.admin.until_settled(chat["id"])
            server.kill()
            receiver.deaf = False
            await server.start()
            await receiver.until("turn_end", 1)
            again = await server.admin.start_chat(said)
            await server.admin.until_settled(again["id"])
            await receiver.until("post_tool", 2)
            await receiver.until("turn_end", 2)
            # A signed secret is in no log.
            assert SECRET not in server.log.read_text()
    finally:
        await receiver.close()
    assert receiver.forged == 0
    calls = receiver.of("post_tool")
    # Each call that was made, by an id of its own; told again with the same id and the same content.
    assert {bodies[0]["chat_id"] for bodies in calls.values()} == {chat["id"], again["id"]}
    for bodies in (*calls.values(), *receiver.of("turn_end").values()):
        assert all(body["id"] == bodies[0]["id"] for body in bodies)
    (first, *_) = next(bodies for bodies in calls.values() if bodies[0]["chat_id"] == again["id"])
    assert (first["tool"], first["outcome"], first["input"]) == (
        "todo",
        "succeeded",
        {"items": [{"text": "one"}]},
    )
    (end, *_) = next(iter(receiver.of("turn_end").values()))
    assert (end["outcome"], end["last_message"]) == ("finished", "done")
