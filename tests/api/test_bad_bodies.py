"""Missing or malformed bodies, and JSON that nobody could carry: refused on every route, nothing changed
(B-001, B-002)."""

import pytest

from tests.api.operations import a_chat_and_all, operations
from tests.api.serving import Answer, Client, Serving
from tests.api.strain import bounded

pytestmark = pytest.mark.heavy

JSON = {"Content-Type": "application/json"}
BAD_BODIES: dict[str, tuple[bytes, dict[str, str]]] = {
    "nothing": (b"", JSON),
    "null": (b"null", JSON),
    "a list": (b"[]", JSON),
    "a text": (b'"x"', JSON),
    "a number": (b"5", JSON),
    "cut off": (b'{"content": "hel', JSON),
    "not JSON": (b"content=hello", JSON),
    "not UTF-8": (b'{"content": "\xff\xfe"}', JSON),
    "another type": (b'{"content": "hello"}', {"Content-Type": "text/plain"}),
    "a form": (b"content=hello", {"Content-Type": "application/x-www-form-urlencoded"}),
    "no type": (b'{"content": "hello"}', {"Content-Type": ""}),
}


def clearly_refused(answer: Answer, about: object = None) -> None:
    assert 400 <= answer.status < 500, (about, answer)
    assert answer.json["code"] == answer.code, about
    assert answer.json["status"] == answer.status
    assert b"Traceback" not in answer.body


async def test_every_route_refuses_bodies_that_are_none(admin: Client, server: Serving) -> None:
    """B-001."""
    ids = await a_chat_and_all(admin)
    before = await admin.chat(ids["chat_id"])
    taking = [(method, path) for method, path, takes_body in operations(ids) if takes_body]
    assert len(taking) > 10
    for method, path in taking:
        for name, (body, headers) in BAD_BODIES.items():
            answer = await admin.request(method, path, raw=body, headers=headers)
            clearly_refused(answer, (method, path, name))
        empty = await admin.request(method, path, {})
        assert empty.status < 500, (method, path, empty)
    after = await admin.chat(ids["chat_id"])
    assert (after["version"], after["title"]) == (before["version"], before["title"])
    assert (await server.nobody.get("/healthz")).status == 200


async def test_what_is_wrong_with_a_body_is_told_by_field(admin: Client) -> None:
    for body, field in (
        (b"{}", "content"),
        (b'{"content": "hi", "contents": "ho"}', "contents"),
        (b'{"content": "hi", "budget": {"token": 1}}', "budget.token"),
        (b'{"content": [{"type": "text"}]}', "content.0.text"),
        (b'{"content": 5}', "content"),
        (b"[]", "body"),
        (b'{"content": ', "body"),
        (b"", "body"),
    ):
        refused = await admin.post("chats", raw=body, headers=JSON)
        assert (refused.status, refused.code) == (422, "invalid_input"), body
        assert [error["field"] for error in refused.json["errors"]] == [field], refused
        assert "'data'" not in refused.json["detail"]
    endless = await admin.post("chats", {"content": "hi", "x" * 1_000_000: 1})
    assert (endless.status, endless.code) == (422, "invalid_input")
    assert len(endless.body) < 3000, "what a caller made up is not said back in full"


async def test_routes_without_a_body_do_not_mind_one(admin: Client) -> None:
    ids = await a_chat_and_all(admin)
    for method, path, takes_body in operations(ids):
        if takes_body or path.endswith(("/feed", "/session")):
            continue
        for name, (body, headers) in BAD_BODIES.items():
            answer = await admin.request(method, path, raw=body, headers=headers)
            assert answer.status < 500, (method, path, name, answer)


def _deep(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


MANY_KEYS = b"{" + b",".join(b'"%x":1' % number for number in range(300_000)) + b"}"
STRANGE_JSON: dict[str, bytes] = {
    "nested 100 000 deep": _deep(100_000),
    "nested 500 deep": _deep(500),
    "objects 100 000 deep": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "NaN": b"NaN",
    "Infinity": b"-Infinity",
    "an integer of 401 digits": b"1" + b"0" * 400,
    "an integer of a million digits": b"1" * 1_000_000,
    "an integer above 64 bits": b"18446744073709551617",
    "a float without end": b"1e999999",
    "a lone surrogate": rb'"\ud800"',
    "half a pair": rb'"\udc00 x"',
    "300 000 keys": MANY_KEYS,
}


async def test_json_that_nobody_could_carry(admin: Client) -> None:
    """B-002, wherever any JSON is taken."""
    places = {
        ("PATCH", "settings"): b'{"theme": %b}',
        ("PATCH", "settings/server"): b'{"theme": %b}',
        ("POST", "chats"): b'{"content": "hi", "client_tools": [{"name": "t", "description": "", '
        b'"input_schema": {"type": "object", "x": %b}}]}',
        ("PUT", "model-configs/odd"): b'{"provider": "demo", "model": "demo", "provider_options": {"x": %b}}',
    }
    async with bounded(memory_mib=128):
        for (method, path), around in places.items():
            for name, strange in STRANGE_JSON.items():
                answer = await admin.request(method, path, raw=around % strange, headers=JSON)
                clearly_refused(answer, (path, name))
    whole = await admin.patch("settings", raw=MANY_KEYS, headers=JSON)
    clearly_refused(whole)
