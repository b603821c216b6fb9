"""Files made to cause harm: each is refused cleanly, and nobody else has to wait for it."""

from collections.abc import AsyncIterator

import msgspec
import pytest

from holdfast.api.import_scan import MAX_MESSAGE_BYTES, ExportFile, Scanner
from holdfast.api.problems import Problem
from tests.api.exports import a_message, an_export, call, text
from tests.api.serving import Client

JSON = {"Content-Type": "application/json"}
HEAD = b'{"holdfast_export":1,"chat":{"title":"x"},"messages":['
MESSAGE = msgspec.json.encode(a_message(0, text("hello")))
# Between two parts of a message, to be put something into.
BEFORE, AFTER = msgspec.json.encode(a_message(0, call("a") | {"input": "HERE"}, role="assistant")).split(
    b'"HERE"'
)


def floods() -> dict[str, bytes]:
    """Made when they are needed: they are large, and there are many of them."""
    return {
        "nothing": b"",
        "no JSON": b"{{{{",
        "null": b"null",
        "a number": b"1e999",
        "an end too early": HEAD + MESSAGE,
        "an end in a string": HEAD + b'{"x":"',
        "too many brackets": HEAD + b"]}}}}]",
        "wrong brackets": HEAD + MESSAGE + b"}]",
        "no comma": HEAD + MESSAGE + MESSAGE + b"]}",
        "a comma too many": HEAD + MESSAGE + b",]}",
        "no UTF-8": HEAD + BEFORE + b'"\xff\xfe"' + AFTER + b"]}",
        "half a character": HEAD + BEFORE + b'"\\ud800"' + AFTER + b"]}",
        "a huge number": HEAD + BEFORE + b"1e999" + AFTER + b"]}",
        "many digits": HEAD + BEFORE + b"9" * 100_000 + AFTER + b"]}",
        "deep lists": HEAD + BEFORE + b"[" * 100_000 + b"]" * 100_000 + AFTER + b"]}",
        "deep objects": HEAD + BEFORE + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + AFTER + b"]}",
        "a bit too deep": HEAD + BEFORE + b"[" * 131 + b"]" * 131 + AFTER + b"]}",
        "many keys": HEAD
        + BEFORE
        + b"{"
        + b",".join(b'"%d":0' % n for n in range(1_100_000))
        + b"}"
        + AFTER
        + b"]}",
        "many lists": HEAD + BEFORE + b"[" + b"[]," * 1_000_000 + b"0]" + AFTER + b"]}",
        "many values in a message": HEAD + BEFORE + b"[" + b"0," * 60_000 + b"0]" + AFTER + b"]}",
        "many messages": HEAD + b",".join([b"{}"] * 1_000_000) + b"]}",
        "a long message": HEAD + BEFORE + b'"' + b"x" * MAX_MESSAGE_BYTES + b'"' + AFTER + b"]}",
        "a long head": b'{"holdfast_export":1,"chat":{"title":"'
        + b"x" * 2_000_000
        + b'"},"messages":['
        + MESSAGE
        + b"]}",
        "a head of many values": b'{"holdfast_export":1,"chat":{"labels":['
        + b"[]," * 20_000
        + b'0]},"messages":['
        + MESSAGE
        + b"]}",
        "two lists": HEAD + MESSAGE + b'],"messages":[]}',
        "much blank": HEAD + MESSAGE + b" " * 2_000_000 + b"]}",
        "a value in between": HEAD + MESSAGE + b",1," + MESSAGE + b"]}",
        "a mark at the beginning": b"\xef\xbb\xbf" + HEAD + MESSAGE + b"]}",
    }


async def test_each_is_refused(admin: Client) -> None:
    for what, body in floods().items():
        answer = await admin.post("chats/import", raw=body, headers=JSON)
        assert (answer.status, answer.code) == (422, "invalid_input"), (what, answer)
    assert (await admin.get("chats")).json["items"] == []


async def test_another_kind_of_body(admin: Client) -> None:
    answer = await admin.post("chats/import", raw=b"# Chat", headers={"Content-Type": "text/markdown"})
    assert (answer.status, answer.code) == (415, "unsupported_media_type")


@pytest.mark.heavy
async def test_more_than_fits(admin: Client) -> None:
    """Sent without a length, as if it never ended; and with one."""

    async def endless() -> AsyncIterator[bytes]:
        yield HEAD
        for _ in range(16 * 1024):
            yield b" " * 65536

    url = f"{admin.address}/api/v1/chats/import"
    headers = JSON | {"Authorization": f"Bearer {admin.token}"}
    async with admin.session.post(url, data=endless(), headers=headers) as response:
        assert response.status == 413
        assert (await response.json(content_type=None))["code"] == "too_large"
    told = await admin.post("chats/import", raw=b" " * (51 * 1024 * 1024), headers=JSON)
    assert (told.status, told.code) == (413, "too_large")
    # The others keep their limit.
    assert (await admin.post("chats", raw=b" " * (5 * 1024 * 1024), headers=JSON)).status == 413


@pytest.mark.heavy
async def test_a_large_one_is_taken_in(admin: Client) -> None:
    """As large as it may be, in many messages, while others are served."""
    said = 'All work and no play, "quoted", \\ and {bracketed}; ' * 40
    messages = [
        a_message(n, text(f"{n} {said}"), role="user" if n % 2 == 0 else "assistant") for n in range(20_000)
    ]
    body = msgspec.json.encode(an_export(*messages))
    assert 40 * 2**20 < len(body) < 50 * 2**20
    answer = await admin.post("chats/import", raw=body, headers=JSON)
    assert answer.status == 201, answer
    last = await admin.get(
        f"chats/{answer.json['id']}/messages?before={'f' * 8}-ffff-7fff-bfff-{'f' * 12}&limit=1"
    )
    assert last.status == 200, last
    assert last.json["items"][-1]["parts"][0]["text"].startswith("19999 ")


def test_pieces_of_any_size() -> None:
    """Where a piece ends does not matter: in a string, in an escape, in a character."""
    tricky = 'a "quote", a backslash \\, both \\", [brackets], {braces}, ünï 🙂 and \n'
    body = msgspec.json.encode(
        an_export(a_message(0, text(tricky)), a_message(1, text("\\" * 9)), title='"}]')
    )
    wanted = [msgspec.json.encode(one) for one in msgspec.json.decode(body)["messages"]]
    for size in (1, 2, 3, 7, 64, len(body)):
        scanner = Scanner()
        for at in range(0, len(body), size):
            scanner.feed(body[at : at + size])
        layout = scanner.end()
        assert [body[start:end] for start, end in layout.messages] == wanted
        assert layout.size == len(body)
    file = ExportFile(lambda at, count: body[at : at + count])
    assert list(file.messages()) == wanted
    assert msgspec.json.decode(file.head()) == msgspec.json.decode(body) | {"messages": []}
    with pytest.raises(Problem):
        ExportFile(lambda at, count: body[:-1][at : at + count])
