"""Input that makes no sense: refused with a stable code, nothing changed, the server unharmed (B-005 to
B-007, B-012 to B-015)."""

import asyncio
import re
from typing import Any

import msgspec
import pytest

from holdfast.api.app import document
from tests.api.operations import Ids, a_chat_and_all, operations
from tests.api.serving import Client, Serving
from tests.api.strain import bounded
from tests.api.wire import exchange, request

pytestmark = pytest.mark.heavy

UNREADABLE = (
    "",
    " ",
    "\n\t\r ",
    "\u200b\u200c\u200d\ufeff",
    "\u2060\u00ad\u180e",
    "\u202e\u202d",
    "\u3164",
)


async def test_messages_without_anything_to_read(admin: Client) -> None:
    """B-005."""
    chat = await admin.start_chat("say: hi")
    await admin.until_settled(chat["id"])
    asked = (await admin.messages(chat["id"]))[0]
    for text in UNREADABLE:
        for content in (text, [{"type": "text", "text": text}]):
            for answer in (
                await admin.post("chats", {"content": content}),
                await admin.post(f"chats/{chat['id']}/messages", {"content": content}),
                await admin.patch(f"chats/{chat['id']}/messages/{asked['id']}", {"content": content}),
            ):
                assert (answer.status, answer.code) == (422, "invalid_input"), ascii(content)
    assert len(await admin.messages(chat["id"])) == 2


async def test_messages_of_odd_characters_are_kept(admin: Client) -> None:
    """The same on both databases; what one of them could not store is replaced, visibly."""
    odd = {
        "a\0b": "a\ufffdb",
        "\u202eright to left\u202c": "\u202eright to left\u202c",
        "zalgo " + "\u0301\u0316" * 1000: "zalgo " + "\u0301\u0316" * 1000,
        "\U0001f600 \U000e0041": "\U0001f600 \U000e0041",
        "\x1b[31mred\x07": "\x1b[31mred\x07",
    }
    for sent, stored in odd.items():
        chat = await admin.start_chat(sent, title=sent[:100])
        await admin.until_settled(chat["id"])
        first = (await admin.messages(chat["id"]))[0]
        assert first["parts"] == [{"type": "text", "text": stored}]
        exported = await admin.get(f"chats/{chat['id']}/export?format=html")
        assert b"\0" not in exported.body


async def test_a_message_of_a_million_marks(admin: Client) -> None:
    """It is stored, and looked at for the search, without anybody noticing."""
    marks = "\u0301\u0316" * 500_000
    async with bounded(memory_mib=96):
        chat = await admin.start_chat("x" + marks)
        await admin.until_settled(chat["id"])
        async with asyncio.timeout(40):
            while not (await admin.get("chats?q=x ")).json["items"]:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    large = await admin.post("chats", {"content": "x" * 10_000_000})
    assert (large.status, large.code) == (413, "too_large")


ODD_IDS = (
    "%2e%2e%2f",
    "..%2f..%2fetc%2fpasswd",
    "0",
    "-1",
    str(2**63),
    "00000000-0000-0000-0000-000000000000",
    "6f1c1f0e-8f0a-4b52-9f43-54f1d0ac2b6e",
    "%20",
    "null",
    "%00",
    "%ff",
    "\u0661\u0662\u0663",
    "x" * 5000,
    "'%20OR%201=1--",
)


async def test_ids_that_are_none(admin: Client) -> None:
    """B-006: in every place of every path."""
    ids = await a_chat_and_all(admin)
    mangled = (ids["chat_id"].upper(), ids["chat_id"] + "%20", "%20" + ids["chat_id"], ids["chat_id"][:-1])
    for path in document()["paths"]:
        for name in re.findall(r"\{(\w+)\}", path):
            # Providers and models have names, which may be nearly anything.
            for odd in (*ODD_IDS, *mangled) if name != "name" else ():
                filled = path.format_map(Ids(ids | {name: odd}))
                answer = await admin.get(filled)
                assert answer.status in (404, 405, 422), (filled, answer)


async def test_paths_that_climb_lead_nowhere(server: Serving) -> None:
    """Clients tidy such paths up before they send them, so these are sent as bytes."""
    headers = [f"Authorization: Bearer {server.admin.token}", "Connection: close"]
    for path in (
        "/api/v1/chats/..",
        "/api/v1/chats/%2e%2e",
        "/api/v1/chats/../models",
        "/api/v1/chats/%2e%2e/models",
        "/api/v1//chats",
        "//api/v1/chats",
        "/api/v1/./chats",
        "/assets/../../api/app.py",
        "/assets/%2e%2e%2f%2e%2e%2fapi%2fapp.py",
        "/assets/%2fetc%2fpasswd",
        "//docs",
        "/%2fdocs",
        "//api/openapi.json",
        "/%2fapi/openapi.json",
        "/%00",
    ):
        answer = await exchange(server.address, request("GET", path, headers=headers))
        assert answer.status in (400, 404), (path, answer)
        stranger = await exchange(server.address, request("GET", path, headers=headers[1:]))
        assert stranger.status in (400, 401, 404), (path, stranger)


async def test_parameters_that_nobody_knows(admin: Client) -> None:
    """B-007: on every route, and the answer names those that there are."""
    ids = await a_chat_and_all(admin)
    tried = 0
    for method, path, _ in operations(ids):
        if path.startswith("/api/v1"):
            answer = await admin.request(method, f"{path}?sort=name&limit=1")
            assert (answer.status, answer.code) == (422, "invalid_input"), (method, path)
            assert answer.json["errors"][0]["field"] in ("sort", "limit")
            tried += 1
    assert tried > 40
    answer = await admin.get("tokens?limit=1&sort=name")
    assert answer.json["errors"] == [
        {"field": "sort", "message": "not a parameter of this route; there is limit, cursor"}
    ]
    for twice in ("limit=1&limit=2", "cursor=x&limit=1&cursor=x"):
        answer = await admin.get(f"tokens?{twice}")
        assert (answer.status, answer.json["errors"][0]["message"]) == (422, "given twice")
    # Nothing happened meanwhile, to what could have been deleted neither.
    assert (await admin.get(f"chats/{ids['chat_id']}?")).status == 200


async def test_pages_that_are_none(admin: Client, server: Serving) -> None:
    """B-007."""
    mine = await admin.start_chat("say: hi")
    other = await (await server.member()).start_chat("say: hi")
    lists = ("chats", f"chats/{mine['id']}/messages", "tokens", "users", "audit", "agents")
    for path in lists:
        for limit in ("0", "-1", "1000000000", "x", "1.5", "", "%00", str(10**30)):
            answer = await admin.get(f"{path}?limit={limit}")
            assert (answer.status, answer.code) == (422, "invalid_input"), (path, limit)
        for cursor in (
            "x",
            "%00",
            "null",
            "1.2.3",
            "A" * 1000,
            "after.",
            "before.x",
            f"after.{other['id']}x",
        ):
            answer = await admin.get(f"{path}?cursor={cursor}")
            assert (answer.status, answer.code) == (422, "invalid_input"), (path, cursor, answer)
            assert answer.json["errors"][0]["field"] == "cursor"


async def test_a_cursor_of_somebody_else_is_harmless(admin: Client, server: Serving) -> None:
    member = await server.member()
    for client in (admin, member):
        for _ in range(2):
            await client.until_settled((await client.start_chat("say: hi"))["id"])
    cursor = (await member.get("chats?limit=1")).json["next_cursor"]
    own = {chat["id"] for chat in (await admin.get("chats")).json["items"]}
    answer = await admin.get(f"chats?limit=50&cursor={cursor}")
    assert answer.status == 422 or {chat["id"] for chat in answer.json["items"]} <= own
    tampered = cursor[:-2] + ("AA" if not cursor.endswith("AA") else "BB")
    assert (await admin.get(f"chats?cursor={tampered}")).status in (200, 422)


async def test_ids_are_never_the_clients_choice(admin: Client) -> None:
    """B-012."""
    mine = await admin.start_chat("say: hi")
    for chosen in ("", "x" * 1024, mine["id"]):
        for field in ("id", "chat_id", "message_id", "owner_id"):
            answer = await admin.post("chats", {"content": "hi", field: chosen})
            assert (answer.status, answer.code) == (422, "invalid_input")
    for key in ("", " ", "x" * 256, "ü"):
        answer = await admin.post("chats", {"content": "hi"}, headers={"Idempotency-Key": key})
        assert answer.status == 422, key
    assert [chat["id"] for chat in (await admin.get("chats")).json["items"]] == [mine["id"]]


async def test_whatever_is_searched_for_is_words(admin: Client) -> None:
    """B-013."""
    chat = await admin.start_chat("say: plain words")
    await admin.until_settled(chat["id"])
    for text in (
        "' OR 1=1--",
        "%",
        "_",
        "\\",
        '"',
        "NEAR(a b)",
        "*",
        "-",
        "a AND NOT b",
        "^x",
        "x:y",
        "(",
        "%" * 1000,
        "a* " * 300,
        "\0",
        "{};",
        "&|!<->",
    ):
        async with bounded():
            answer = await admin.get("chats", params={"q": text})
        assert answer.status == 200, text
        assert answer.json["items"] == [] or text.strip() == "", text
    assert (await admin.get("chats", params={"q": "x" * 1001})).status == 422


SENSELESS: tuple[dict[str, Any], ...] = (
    {"model": "unknown"},
    {"model": ""},
    {"model": "x" * 65},
    {"model": 5},
    {"effort": "not an effort!"},
    {"workspace_id": "00000000-0000-7000-8000-000000000000"},
    {"agent": "nobody"},
    {"temperature": -1},
    {"max_tokens": 10**9},
    {"budget": {"tokens": -1}},
    {"budget": {"tokens": 2**60}},
    {"tools": ["rm"]},
    {"tools": {"execute": "always"}},
    {"labels": ["x"] * 51},
    {"title": "x" * 201},
    {"instructions": "x" * 200_001},
    {"client_tools": [{"name": "todo", "description": "", "input_schema": {}}]},
    {"client_tools": [{"name": "a b", "description": "", "input_schema": {}}]},
    {"client_tools": [{"name": "t", "description": "", "input_schema": {"type": "string"}}]},
    {"client_tools": [{"name": "t", "description": "", "input_schema": []}]},
    {"client_tools": [{"name": "t", "description": "", "input_schema": {}}] * 2},
    {
        "client_tools": [
            {"name": f"t{number}", "description": "", "input_schema": {}} for number in range(101)
        ]
    },
)


@pytest.mark.parametrize("body", SENSELESS, ids=lambda body: msgspec.json.encode(body).decode()[:60])
async def test_what_is_named_must_be_there_and_sensible(admin: Client, body: dict[str, Any]) -> None:
    """B-015."""
    answer = await admin.post("chats", {"content": "hi", **body})
    assert (answer.status, answer.code) == (422, "invalid_input"), answer
    assert (await admin.get("chats")).json["items"] == []


async def test_models_are_configured_sensibly(admin: Client) -> None:
    for wrong in (
        {"temperature": -1},
        {"temperature": 1e9},
        {"max_output": 10**9},
        {"max_output": 0},
        {"context_limit": -1},
        {"top_p": 2},
        {"compaction_threshold": 101},
        {"provider": "nobody"},
        {"inputs": ["smell"]},
    ):
        answer = await admin.put("model-configs/mine", {"provider": "demo", "model": "demo", **wrong})
        assert (answer.status, answer.code) == (422, "invalid_input"), wrong
        assert answer.json["errors"][0]["field"].partition(".")[0] in wrong
    tried = await admin.post("model-configs/nobody/test")
    assert (tried.status, tried.code) == (404, "not_found")
    for name in ("x" * 65, "a b", "..", "%00"):
        answer = await admin.put(f"model-configs/{name}", {"provider": "demo", "model": "demo"})
        assert answer.status in (404, 405, 422), name


FIELDS: tuple[tuple[str, str, dict[str, Any], str], ...] = (
    ("POST", "users", {"name": "Ünna"}, "name"),
    ("POST", "tokens", {"name": " "}, "name"),
    (
        "POST",
        "tokens",
        {"name": "t", "scopes": ["admin", "admin"], "expires_at": "2020-01-01T00:00:00Z"},
        "expires_at",
    ),
    ("POST", "tokens", {"name": "t", "expires_at": "9999-01-01T00:00:00Z"}, "expires_at"),
    ("PUT", "providers/p", {"kind": "nobody"}, "kind"),
    ("PUT", "providers/p", {"kind": "openai", "base_url": "ftp://x"}, "base_url"),
    ("PUT", "providers/p", {"kind": "openai", "api_key": "env:HOME"}, "api_key"),
    ("POST", "workflow-runs", {}, "name"),
    ("POST", "workflow-runs", {"script": "return 1"}, "language"),
    ("POST", "workflow-runs", {"script": "return (", "language": "javascript"}, "script"),
    ("POST", "flow-runs", {}, "name"),
    ("POST", "flow-runs", {"flow": "name: ["}, "flow"),
    ("POST", "workspaces", {"name": "w", "path": "relative"}, "path"),
)


@pytest.mark.parametrize("method, path, body, field", FIELDS)
async def test_what_is_wrong_is_told_by_field(
    admin: Client, method: str, path: str, body: dict[str, Any], field: str
) -> None:
    answer = await admin.request(method, path, body)
    assert (answer.status, answer.code) == (422, "invalid_input"), answer
    assert answer.json["errors"][0]["field"] == field
