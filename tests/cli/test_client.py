"""The client over real HTTP, against servers that misbehave: problems are sentences, commands happen once,
a broken feed goes on where it was."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager

import msgspec
import pytest
from aiohttp import web

from holdfast.cli.address import ServerAddress
from holdfast.cli.client import Client, connected
from holdfast.cli.events import Lost, Reconnected
from holdfast.cli.feed_client import SeenEvent, watch
from holdfast.core.errors import Refused, Unreachable
from holdfast.core.feed_events import CaughtUp
from holdfast.core.secret import Secret
from holdfast.core.shapes import Record
from tests.cli.making import CHAT_ID

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Thing(Record, frozen=True, kw_only=True):
    name: str


@asynccontextmanager
async def client_of(handler: Handler, token: str | None = "hf_t") -> AsyncGenerator[Client]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    try:
        async with connected(
            ServerAddress(f"http://127.0.0.1:{port}", Secret(token) if token else None)
        ) as client:
            yield client
    finally:
        await runner.cleanup()


def problem(status: int, code: str, detail: str) -> web.Response:
    body = {"type": "t", "title": "T", "status": status, "detail": detail, "code": code}
    return web.Response(
        status=status, body=msgspec.json.encode(body), content_type="application/problem+json"
    )


async def test_an_answer_has_its_type_and_the_token_was_shown() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response({"name": request.headers["Authorization"], "newer": 1})

    async with client_of(handler) as client:
        assert await client.get("/things", Thing) == Thing(name="Bearer hf_t")


async def test_all_pages_of_a_list() -> None:
    async def handler(request: web.Request) -> web.Response:
        cursor = int(request.query.get("cursor", "0"))
        following = str(cursor + 1) if cursor < 3 else None
        return web.json_response({"items": [{"name": str(cursor)}], "next_cursor": following})

    async with client_of(handler) as client:
        names = [thing.name async for thing in client.every("/things", Thing)]
    assert names == ["0", "1", "2", "3"]


async def test_a_problem_is_one_neutral_sentence() -> None:
    async def handler(_: web.Request) -> web.Response:
        return problem(409, "wrong_state", "Not\x1b[2J\nnow.")

    async with client_of(handler) as client:
        with pytest.raises(Refused) as raised:
            await client.post("/things", Thing)
    assert (raised.value.text, raised.value.status, raised.value.problem) == (
        "Not␛[2J now.",
        409,
        "wrong_state",
    )


@pytest.mark.parametrize("token, told", [("hf_t", "does not accept the token"), (None, "none is set")])
async def test_without_a_good_token_what_to_do_is_said(token: str | None, told: str) -> None:
    async def handler(_: web.Request) -> web.Response:
        return problem(401, "unauthorized", "Sign in first.")

    async with client_of(handler, token) as client:
        with pytest.raises(Refused, match=told) as raised:
            await client.get("/things", Thing)
    assert "HOLDFAST_TOKEN" in raised.value.text


async def test_somebody_else_at_that_address_is_said() -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(text="<html>a router's page</html>", content_type="text/html")

    async with client_of(handler) as client:
        with pytest.raises(Unreachable, match="not a Holdfast server"):
            await client.get("/things", Thing)


async def test_nobody_at_that_address_is_said() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        address = ServerAddress(f"http://127.0.0.1:{held.getsockname()[1]}", None)
        async with connected(address) as client:
            with pytest.raises(Unreachable, match="Connection refused") as raised:
                await client.get("/things", Thing)
    assert "holdfast serve" in raised.value.text


async def test_a_token_is_not_carried_elsewhere() -> None:
    async def handler(request: web.Request) -> web.Response:
        assert request.path == "/api/v1/things", "a redirect was followed"
        return web.Response(status=302, headers={"Location": "/elsewhere"})

    async with client_of(handler) as client:
        with pytest.raises(Unreachable):
            await client.get("/things", Thing)


async def test_a_command_that_is_tried_again_has_the_same_key() -> None:
    keys: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        keys.append(request.headers["Idempotency-Key"])
        if len(keys) == 1:
            assert request.transport is not None
            request.transport.close()
            await asyncio.sleep(0)
        if len(keys) == 2:
            return problem(503, "try_again", "Busy.")
        return web.json_response({"name": "done"})

    async with client_of(handler) as client:
        client.patience_seconds = 60
        assert await client.post("/things", Thing, {"a": 1}) == Thing(name="done")
        await client.post("/things", Thing, {"a": 1})
    assert len(keys) == 4
    assert len(set(keys[:3])) == 1
    assert keys[3] != keys[0]


async def test_without_patience_nothing_is_tried_again() -> None:
    asked = 0

    async def handler(_: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        return problem(503, "try_again", "Busy.")

    async with client_of(handler) as client:
        with pytest.raises(Refused):
            await client.get("/things", Thing)
    assert asked == 1


# --- feeds ---


class Feed:
    """Says events 1 to 10, breaks off after every third, and goes on after the one that was seen."""

    def __init__(self) -> None:
        self.connections: list[str | None] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        seen = request.headers.get("Last-Event-ID")
        self.connections.append(seen)
        if len(self.connections) == 3:
            return problem(503, "try_again", "Starting.")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        first = int(seen or 0) + 1
        for number in range(first, min(first + 3, 11)):
            await response.write(f"event: caught_up\nid: {number}\ndata: {{}}\n\n".encode())
        if first + 3 > 10:
            await asyncio.Event().wait()
        assert request.transport is not None
        request.transport.close()
        return response


async def collect(client: Client, count: int) -> list[SeenEvent]:
    found: list[SeenEvent] = []
    async with aclosing(watch(client, CHAT_ID, tail=5)) as feed:
        async for seen in feed:
            found.append(seen)
            if sum(one.received is not None for one in found) == count:
                return found
    raise AssertionError


async def test_a_feed_that_breaks_off_goes_on_after_what_was_seen() -> None:
    feed = Feed()
    async with client_of(feed.handle) as client, asyncio.timeout(60):
        found = await collect(client, 10)
    ids = [int(seen.received.id) for seen in found if seen.received is not None]
    assert ids == list(range(1, 11))
    assert feed.connections == [None, "3", "6", "6", "9"]
    told = [type(seen.event) for seen in found]
    assert told.count(Lost) == told.count(Reconnected) == 3
    assert told[:5] == [CaughtUp, CaughtUp, CaughtUp, Lost, Reconnected]


@pytest.mark.parametrize("code, status", [("not_found", 404), ("unauthorized", 401)])
async def test_a_feed_that_another_try_cannot_mend_ends(code: str, status: int) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        if request.headers.get("Last-Event-ID") is not None:
            return problem(status, code, "Gone.")
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"event: closing\nid: 1\ndata: {}\n\n")
        return response

    async with client_of(handler) as client, asyncio.timeout(60):
        with pytest.raises(Refused) as raised:
            await collect(client, 5)
    assert raised.value.problem == code


async def test_a_feed_that_was_never_there_is_not_waited_for() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        address = ServerAddress(f"http://127.0.0.1:{held.getsockname()[1]}", None)
        async with connected(address) as client, asyncio.timeout(60):
            with pytest.raises(Unreachable):
                await collect(client, 1)
