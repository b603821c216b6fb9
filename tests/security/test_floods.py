"""Strangers and members who send more than anybody needs: requests without reading the answers, connections
without requests, frames without end, bodies of nothing but keys. It costs the server next to nothing, and
nobody else notices."""

import asyncio
import base64
import os
import resource
import socket
import struct
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from holdfast.api.bodies import MOST_VALUES, count_values
from holdfast.server.protocol import ConnectionLimits
from tests.api.serving import Answer, Client, Serving, config_for, serving
from tests.api.strain import bounded
from tests.api.wire import Wire, exchange, request
from tests.server.process import ServeProcess

MIB = 1024 * 1024
HEALTH = request("GET", "/healthz")
LAST = request("GET", "/healthz", headers=["Connection: close"])
# Half of them for one address.
FEW = ConnectionLimits(connections=20, unread_seconds=0.5)
SHARE = 10


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[Serving]:
    async with serving(config_for(tmp_path / "data")) as running:
        yield running


@pytest.fixture
async def narrow(tmp_path: Path) -> AsyncGenerator[Serving]:
    """A server with room for few connections."""
    async with serving(config_for(tmp_path / "data"), limits=FEW) as running:
        yield running


def address_of(server: Serving) -> tuple[str, int]:
    host, _, port = server.address.removeprefix("http://").rpartition(":")
    return host, int(port)


async def health(server: Serving) -> int:
    """Over a connection of its own."""
    return (await exchange(server.address, LAST)).status


# --- requests without reading ---


async def test_requests_that_come_at_once_are_answered_one_after_the_other(server: Serving) -> None:
    answer = await exchange(server.address, HEALTH * 499 + LAST)
    assert answer.answers == 500


async def test_requests_of_all_kinds_in_one_piece(server: Serving) -> None:
    """However the bytes are cut, and whatever stands in the bodies."""
    body = b'{"token": "GET / HTTP/1.1\\r\\n\\r\\n"}'
    json = "Content-Type: application/json"
    whole = request("POST", "/api/v1/session", headers=[json, f"Content-Length: {len(body)}"], body=body)
    chunked = request(
        "POST",
        "/api/v1/session",
        headers=[json, "Transfer-Encoding: chunked"],
        body=b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body),
    )
    everything = HEALTH + whole + chunked + HEALTH + chunked + whole + LAST
    for size in (len(everything), 1, 7, 100):
        pieces = [everything[start : start + size] for start in range(0, len(everything), size)]
        answer = await exchange(server.address, *pieces)
        assert answer.answers == 7, (size, answer)
        assert answer.everything.count(b"HTTP/1.1 200 ") == 3


@pytest.mark.heavy
async def test_a_client_that_asks_and_does_not_read(server: Serving) -> None:
    with socket.create_connection(address_of(server)) as asking:
        asking.setblocking(False)
        sent, refused = 0, 0
        async with bounded(memory_mib=16):
            # Until nothing more is taken for a while: the server has stopped reading.
            while refused < 40 and sent < 64 * MIB:
                try:
                    sent += asking.send(HEALTH * 2000)
                    refused = 0
                except BlockingIOError:
                    refused += 1
                    await asyncio.sleep(0.05)
                if sent % 50 == 0:
                    await asyncio.sleep(0)
            assert await health(server) == 200
    # What the kernel holds on both sides, and a little.
    assert sent < 32 * MIB


async def test_who_does_not_read_is_dropped(narrow: Serving) -> None:
    chat = await narrow.admin.start_chat("x" * MIB)
    await narrow.admin.until_settled(chat["id"])
    large = request("GET", f"/api/v1/chats/{chat['id']}/messages", headers=[bearer(narrow.admin)])
    with socket.create_connection(address_of(narrow)) as asking:
        asking.sendall(large * 20)
        async with asyncio.timeout(60):
            await until(lambda: is_reset(asking))
    assert await health(narrow) == 200


def is_reset(connection: socket.socket) -> bool:
    return connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - nobody tells when
        await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    "extra", [b"1;" + b"x" * MIB, b"0\r\nX: " + b"x" * MIB], ids=["extension", "trailer"]
)
async def test_what_stands_around_a_body_is_bounded(server: Serving, extra: bytes) -> None:
    head = request("POST", "/api/v1/session", headers=["Transfer-Encoding: chunked"])
    async with bounded():
        answer = await exchange(server.address, head + b"1\r\n{\r\n", extra)
    assert answer.status in (400, 415)


# --- connections without requests ---


async def test_silent_connections_make_room_for_others(narrow: Serving) -> None:
    silent = [await Wire.open(narrow.address) for _ in range(3 * SHARE)]
    assert await health(narrow) == 200
    # The oldest had to go, without a word.
    assert (await silent[0].rest()).everything == b""
    # The newest are still welcome.
    await silent[-1].send(LAST)
    assert (await silent[-1].rest()).status == 200
    for wire in silent:
        wire.close()


async def test_bodies_that_do_not_come_hold_no_place(narrow: Serving) -> None:
    head = request("POST", "/api/v1/session", headers=["Content-Length: 10"])
    waiting = [await Wire.open(narrow.address) for _ in range(3 * SHARE)]
    for wire in waiting:
        await wire.send(head)
    assert await health(narrow) == 200
    for wire in waiting:
        wire.close()


async def test_a_feed_is_not_closed_for_silent_connections(narrow: Serving) -> None:
    chat = await narrow.admin.start_chat("say: hello")
    await narrow.admin.until_settled(chat["id"])
    url = f"{narrow.address}/api/v1/chats/{chat['id']}/feed"
    headers = {"Authorization": f"Bearer {narrow.admin.token}"}
    async with narrow.session.get(url, headers=headers) as feed:
        assert await feed.content.readline()
        silent = [await Wire.open(narrow.address) for _ in range(3 * SHARE)]
        assert await health(narrow) == 200
        await narrow.admin.post(f"chats/{chat['id']}/messages", {"content": "say: something else"})
        async with asyncio.timeout(60):
            while b"something else" not in await feed.content.readline():
                pass
        for wire in silent:
            wire.close()


async def test_an_address_has_its_share_and_no_more(narrow: Serving) -> None:
    """Feeds of a chat take every place that one address has. Another comes when one of them has gone."""
    chat = await narrow.admin.start_chat("say: hello")
    await narrow.admin.until_settled(chat["id"])
    feed = request("GET", f"/api/v1/chats/{chat['id']}/feed", headers=[bearer(narrow.admin)])
    async with AsyncExitStack() as stack:
        for _ in range(SHARE):
            wire = await Wire.open(narrow.address)
            stack.callback(wire.close)
            await wire.send(feed)
            assert (await wire.read_head()).startswith(b"HTTP/1.1 200")
        refused = await exchange(narrow.address)
        assert (refused.status, refused.problem["code"]) == (503, "try_again")
        assert b"retry-after: 1" in refused.head
    async with asyncio.timeout(60):
        while await health(narrow) != 200:
            pass


@pytest.mark.heavy
async def test_no_descriptors_are_no_end(tmp_path: Path) -> None:
    """The limit falls to what is open already: connections wait or are closed, and a turn goes on. Once there
    are descriptors again, everything is as before."""
    async with ServeProcess(tmp_path) as server:
        await server.start()
        chat = await server.admin.start_chat("pace: 0.2\nsay slowly: " + "on and on " * 10)
        before = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (descriptors(server.pid) + 1, before[1]))
        wires: list[Wire] = []
        for _ in range(20):
            wires.append(await Wire.open(server.address))
            await asyncio.sleep(0)
        async with asyncio.timeout(60):
            await until(lambda: "no descriptor for a new connection" in server.logged())
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, before)
        ended = await server.admin.until_settled(chat["id"])
        assert (ended["status"], ended["last_error"]) == ("idle", None)
        assert (await exchange(server.address, LAST)).status == 200
        for wire in wires:
            wire.close()


@pytest.mark.heavy
async def test_the_limit_of_descriptors_is_raised(tmp_path: Path) -> None:
    """To what is allowed; and silent connections beyond it harm nobody."""
    async with ServeProcess(tmp_path) as server:
        await server.begin()
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (100, 300))
        await server.ready()
        assert resource.prlimit(server.pid, resource.RLIMIT_NOFILE) == (300, 300)
        chat = await server.admin.start_chat("pace: 0.2\nsay slowly: " + "on and on " * 10)
        wires = [await Wire.open(server.address) for _ in range(400)]
        # While they are being accepted none is silent yet, and whoever comes is told to come again.
        async with asyncio.timeout(60):
            while (await exchange(server.address, LAST)).status == 503:
                pass
        for _ in range(5):
            assert (await exchange(server.address, LAST)).status == 200
        ended = await server.admin.until_settled(chat["id"])
        assert (ended["status"], ended["last_error"]) == ("idle", None)
        assert descriptors(server.pid) < 300
        for wire in wires:
            wire.close()


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


# --- frames ---


def frame(opcode: int, payload: bytes = b"", *, fin: bool = True) -> bytes:
    """As a client sends it, masked with nothing."""
    assert len(payload) < 126
    return bytes([(0x80 if fin else 0) | opcode, 0x80 | len(payload)]) + bytes(4) + payload


PING, PONG, TEXT, CONTINUATION = 0x9, 0xA, 0x1, 0x0


def bearer(client: Client) -> str:
    return f"Authorization: Bearer {client.token}"


@asynccontextmanager
async def watching(server: Serving) -> AsyncGenerator[Wire]:
    chat = await server.admin.start_chat("say: hello")
    await server.admin.until_settled(chat["id"])
    headers = [
        bearer(server.admin),
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {base64.b64encode(bytes(16)).decode()}",
    ]
    wire = await Wire.open(server.address)
    await wire.send(request("GET", f"/api/v1/chats/{chat['id']}/feed/ws", headers=headers))
    assert (await wire.read_head()).startswith(b"HTTP/1.1 101")
    yield wire
    wire.close()


def close_code(received: bytes) -> int:
    """Of the last frame, which has a reason."""
    at = received.rfind(b"\x88")
    return struct.unpack("!H", received[at + 2 : at + 4])[0]


FLOODS = {
    "pings": frame(PING) * 2000,
    "pings that carry something": frame(PING, b"x" * 125) * 2000,
    "pongs": frame(PONG) * 2000,
    "empty texts": frame(TEXT) * 2000,
    "one text in very many pieces": frame(TEXT, fin=False) + frame(CONTINUATION, fin=False) * 2000,
}


@pytest.mark.parametrize("name", FLOODS)
async def test_a_flood_of_frames_ends_with_a_code(server: Serving, name: str) -> None:
    async with watching(server) as wire, bounded():
        await wire.send(FLOODS[name])
        received = (await wire.rest()).everything
    assert close_code(received) == (1009 if "pieces" in name else 1008)
    assert await health(server) == 200


async def test_pings_now_and_then_are_answered(server: Serving) -> None:
    async with watching(server) as wire:
        await wire.send(frame(PING, b"are you there") * 20)
        async with asyncio.timeout(60):
            received = b""
            while received.count(b"are you there") < 20:
                received += await wire.read_some()


@pytest.mark.heavy
async def test_pings_whose_answers_nobody_reads(server: Serving) -> None:
    async with bounded(memory_mib=16):
        async with watching(server) as wire:
            while await wire.send(FLOODS["pings that carry something"]):
                pass
        assert await health(server) == 200


async def test_text_that_is_no_text(server: Serving, caplog: pytest.LogCaptureFixture) -> None:
    async with watching(server) as wire:
        await wire.send(frame(TEXT, b"\xff\xfe"))
        assert close_code((await wire.rest()).everything) == 1007
    assert "Traceback" not in caplog.text
    assert not [record for record in caplog.records if record.exc_info]


# --- bodies ---


def keys(count: int) -> bytes:
    return b"{" + b",".join(b'"k%d":1' % number for number in range(count)) + b"}"


@pytest.mark.heavy
async def test_bodies_of_nothing_but_keys(server: Serving) -> None:
    chat = await server.admin.start_chat("say: hello")
    await server.admin.until_settled(chat["id"])
    many, deep = keys(300_000), b"[" * 2_000_000
    sent = {
        f"chats/{chat['id']}/tool-results": b'{"results":[{"call_id":"x","output":%b}]}',
        "workflow-runs": b'{"name":"find-issues","args":%b}',
        "chats": b'{"content":"x","client_tools":[{"name":"x","description":"","input_schema":%b}]}',
    }
    for path, template in sent.items():
        for value in (many, deep):
            async with bounded():
                answer = await raw(server.admin, path, template % value)
            assert (answer.status, answer.code) == (422, "invalid_input"), (path, answer)
    anonymous = await raw(server.nobody, "session", many)
    assert (anonymous.status, anonymous.code) == (422, "invalid_input")


async def test_a_long_text_full_of_signs_is_no_structure(server: Serving) -> None:
    text = 'a, b: [c] {d} "quoted" \\ ' * 50_000
    chat = await server.admin.start_chat(text)
    [message] = [one for one in await server.admin.messages(chat["id"]) if one["role"] == "user"]
    assert message["parts"][0]["text"] == text


async def raw(client: Client, path: str, body: bytes) -> Answer:
    return await client.post(path, raw=body, headers={"Content-Type": "application/json"})


def test_values_are_counted_outside_of_texts() -> None:
    """A key counts with its value as one sign, and one separates it from the next."""
    for value, count in (
        ({}, 1),
        ({"a": 1, "b": [1, 2, 3]}, 7),
        (["a,b,c:d[e{", '"', "\\", '\\"' * 100_000, "\\" * 199_999, {"x" * 70_000: "\\,"}], 8),
    ):
        assert count_values(msgspec.json.encode(value)) == count
    assert count_values(keys(300_000)) > MOST_VALUES
