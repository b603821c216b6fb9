"""Limits of a connection, against the real server and byte for byte: sizes and times of headers and bodies,
and requests that a proxy might read differently (B-003, B-008)."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import pytest

from holdfast.server.protocol import ConnectionLimits
from tests.api.serving import Serving, config_for, serving
from tests.api.strain import bounded
from tests.api.wire import Wire, exchange, pour, request

MIB = 1024 * 1024
JSON = "Content-Type: application/json"
CHUNKED = "Transfer-Encoding: chunked"
HURRIED = ConnectionLimits(head_seconds=1.0, body_grace_seconds=1.0, look_seconds=0.1)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[Serving]:
    """What a connection may do does not depend on the database."""
    async with serving(config_for(tmp_path / "data")) as running:
        yield running


@pytest.fixture
async def hurried(tmp_path: Path) -> AsyncGenerator[Serving]:
    """A server that waits one second where others wait ten or twenty."""
    async with serving(config_for(tmp_path / "data"), limits=HURRIED) as running:
        yield running


def bearer(server: Serving) -> str:
    return f"Authorization: Bearer {server.admin.token}"


# --- bodies ---


@pytest.mark.heavy
async def test_a_large_body_is_refused_by_its_announced_length(server: Serving) -> None:
    head = request("POST", "/api/v1/chats", headers=[bearer(server), JSON, f"Content-Length: {5 * MIB}"])
    async with bounded():
        unsent = await exchange(server.address, head)
        assert (unsent.status, unsent.problem["code"]) == (413, "too_large")
        whole = await exchange(server.address, head, b" " * 5 * MIB)
        assert (whole.status, whole.problem["code"]) == (413, "too_large")
        assert whole.sent == len(head) + 5 * MIB
    anonymous = request("POST", "/api/v1/chats", headers=[JSON, f"Content-Length: {5 * MIB}"])
    assert (await exchange(server.address, anonymous)).status == 401


async def test_an_ordinary_client_gets_to_see_the_refusal(server: Serving) -> None:
    """It sends everything before it reads."""
    for client, status in ((server.admin, 413), (server.nobody, 401)):
        answer = await client.post("chats", {"content": "x" * 5 * MIB})
        assert answer.status == status
    assert (await server.nobody.post("session", {"token": "x" * 5 * MIB})).status == 413


@pytest.mark.heavy
@pytest.mark.parametrize("who", ["admin", "nobody"])
@pytest.mark.parametrize("path", ["/api/v1/chats", "/api/v1/session", "/nowhere", "/healthz"])
async def test_a_body_without_end_is_not_read(server: Serving, path: str, who: str) -> None:
    headers = [JSON, CHUNKED, *([bearer(server)] if who == "admin" else [])]
    chunk = b"%x\r\n%b\r\n" % (MIB, b" " * MIB)

    async def gibibyte() -> AsyncIterator[bytes]:
        for _ in range(1024):
            yield chunk

    async with bounded():
        answer = await pour(server.address, request("POST", path, headers=headers), gibibyte())
    assert 400 <= answer.status < 500
    if path.endswith(("chats", "session")) and (who == "admin" or path.endswith("session")):
        assert (answer.status, answer.problem["code"]) == (413, "too_large")
    assert answer.sent < 64 * MIB


async def test_the_connection_is_kept_when_the_body_was_small(server: Serving) -> None:
    """A refusal costs a client its connection only if it has more to send than it is worth."""
    wire = await Wire.open(server.address)
    refused = request(
        "POST", "/api/v1/chats", headers=[JSON, "Content-Length: 20"], body=b'{"content": "hello"}'
    )
    await wire.send(refused)
    await wire.send(request("GET", "/healthz", headers=["Connection: close"]))
    answer = await wire.rest()
    assert answer.answers == 2
    assert answer.everything.endswith(b'{"status":"ok"}')


@pytest.mark.heavy
async def test_a_body_that_hardly_moves(hurried: Serving) -> None:
    head = request("POST", "/api/v1/chats", headers=[bearer(hurried), JSON, "Content-Length: 1000"])
    started = request("POST", "/api/v1/chats", headers=[bearer(hurried), JSON, CHUNKED], body=b"3e8\r\n")
    for sent in (head, started):
        async with bounded():
            wire = await Wire.open(hurried.address)
            await wire.send(sent)
            answer = asyncio.create_task(wire.rest())
            while not answer.done() and await wire.send(b" "):
                await asyncio.wait({answer}, timeout=0.1)
        assert (await answer).status == 408
        assert (await answer).problem["code"] == "timeout"


@pytest.mark.heavy
async def test_a_slow_line_is_no_offence(hurried: Serving) -> None:
    body = b'{"content": "say: hi"' + b" " * 8_000 + b"}"
    head = request(
        "POST",
        "/api/v1/chats",
        headers=[bearer(hurried), JSON, f"Content-Length: {len(body)}", "Connection: close"],
    )
    wire = await Wire.open(hurried.address)
    await wire.send(head + body[:7_000])
    # Longer than the grace, and always more than the limit asks for by then.
    for piece in (body[7_000:7_500], body[7_500:]):
        await asyncio.sleep(0.75)
        await wire.send(piece)
    assert (await wire.rest()).status == 201


# --- heads ---


@pytest.mark.heavy
async def test_a_head_that_does_not_end(hurried: Serving) -> None:
    wire = await Wire.open(hurried.address)
    await wire.send(b"GET /healthz HTTP/1.1\r\n")
    answer = asyncio.create_task(wire.rest())
    while not answer.done() and await wire.send(b"X-More: 1\r\n"):
        await asyncio.wait({answer}, timeout=0.1)
    assert (await answer).status == 408
    silent = await exchange(hurried.address)
    assert silent.everything == b""


async def test_heads_that_are_too_much(server: Serving) -> None:
    numerous = [f"X-Header-{number}: x" for number in range(1000)]
    large = ["X-Large: " + "x" * MIB]
    some = [f"X-Header-{number}: " + "x" * 1000 for number in range(90)]
    for headers in (numerous, large, some):
        async with bounded():
            answer = await exchange(server.address, request("GET", "/healthz", headers=headers))
        assert (answer.status, answer.problem["code"]) == (400, "bad_request")
    long_path = await exchange(server.address, request("GET", "/" + "x" * MIB))
    assert long_path.status == 400
    enough = [*(f"X-Header-{number}: {'x' * 200}" for number in range(90)), "Connection: close"]
    assert (await exchange(server.address, request("GET", "/healthz", headers=enough))).status == 200


AMBIGUOUS = {
    "two lengths": request(
        "POST", "/api/v1/session", headers=["Content-Length: 5", CHUNKED], body=b"0\r\n\r\nGET /x"
    ),
    "two lengths, the other way round": request(
        "POST", "/api/v1/session", headers=[CHUNKED, "Content-Length: 5"], body=b"0\r\n\r\n"
    ),
    "lengths that differ": request(
        "POST", "/api/v1/session", headers=["Content-Length: 5", "Content-Length: 6"], body=b"12345"
    ),
    "lengths that agree": request(
        "POST", "/api/v1/session", headers=["Content-Length: 5", "Content-Length: 5"], body=b"12345"
    ),
    "a negative length": request("POST", "/api/v1/session", headers=["Content-Length: -5"], body=b"12345"),
    "a length with a sign": request("POST", "/api/v1/session", headers=["Content-Length: +5"], body=b"12345"),
    "an unknown coding": request("POST", "/api/v1/session", headers=["Transfer-Encoding: xchunked"]),
    "chunked, then another": request("POST", "/api/v1/session", headers=["Transfer-Encoding: chunked, gzip"]),
    "a chunk of no size": request(
        "POST", "/api/v1/session", headers=[CHUNKED], body=b"zz\r\nabc\r\n0\r\n\r\n"
    ),
    "two hosts": request("GET", "/healthz", headers=["Host: 127.0.0.1"]),
    "another second host": request("GET", "/healthz", headers=["Host: evil.com"]),
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "bare line feeds": b"GET /healthz HTTP/1.1\nHost: 127.0.0.1\n\n",
    "a bare line feed before the end": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\n\r\n",
    "a bare carriage return": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\rY: b\r\n\r\n",
    "a blank before the colon": b"GET /healthz HTTP/1.1\r\nHost : 127.0.0.1\r\n\r\n",
    "a folded header": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\r\n b\r\n\r\n",
    "a NUL": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\x00b\r\n\r\n",
    "an absolute URI": request("GET", "http://127.0.0.1/healthz"),
    "an absolute URI of another host": request("GET", "http://evil.com/healthz"),
    "an authority": request("CONNECT", "evil.com:443"),
    "an asterisk": request("OPTIONS", "*"),
    "another protocol": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no protocol": b"GET /healthz\r\n\r\n",
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(50),
}


async def test_requests_that_can_be_read_in_two_ways(server: Serving) -> None:
    """One answer, 400, and the connection is over: nothing that follows is taken for a request."""
    smuggled = request("GET", "/healthz", headers=["Connection: close"])
    for name, sent in AMBIGUOUS.items():
        answer = await exchange(server.address, sent + smuggled)
        assert (answer.status, answer.answers) == (400, 1), (name, answer)
        assert answer.problem["code"] == "bad_request", name


@pytest.mark.heavy
async def test_many_silent_connections_harm_nobody(hurried: Serving) -> None:
    silent = [await Wire.open(hurried.address) for _ in range(200)]
    try:
        for wire in silent:
            await wire.send(b"GET /healthz HT")
        assert (await hurried.admin.get("chats")).status == 200
        for wire in silent:
            # 0: it was closed before it had said anything.
            assert (await wire.rest()).status in (408, 0)
    finally:
        for wire in silent:
            wire.close()
