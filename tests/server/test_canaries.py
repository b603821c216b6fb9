"""Secrets stay where they belong (B-092, B-093): planted keys, tokens and passwords are looked for in
everything the server says, writes and answers, as they are and in the usual disguises."""

import base64
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from tests.api.serving import Client
from tests.providers.replies import Reply, Say, Status
from tests.providers.server import ProviderServer
from tests.server.process import ServeProcess

pytestmark = pytest.mark.heavy

FILE_KEY = 'sk-canary-file-"7f3a\\9c'
API_KEY = "sk-canary-api-51bd/+=e0"
FAMILIES = ("openai", "anthropic")


def disguises(secret: str) -> Iterator[bytes]:
    yield secret.encode()
    yield json.dumps(secret).strip('"').encode()
    yield quote(secret, safe="").encode()
    # Of base64, the middle: what stands before it shifts the rest.
    for shift in range(3):
        yield base64.b64encode(b" " * shift + secret.encode())[4:-4]
    # Half of it is enough to be worried.
    yield secret[len(secret) // 2 :].encode()


class Search:
    def __init__(self, secrets: dict[str, str]) -> None:
        assert all(len(secret) >= 16 for secret in secrets.values())
        self._sought = {name: tuple(disguises(secret)) for name, secret in secrets.items()}
        self.found: list[str] = []

    def look(self, where: str, text: bytes) -> None:
        self.found += [
            f"{name} in {where}" for name, all_ways in self._sought.items() for way in all_ways if way in text
        ]


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
async def test_no_secret_leaves(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url: str | None = request.getfixturevalue("postgres_url") if engine == "postgres" else None
    async with ProviderServer() as provider, ServeProcess(tmp_path, database=url) as server:
        server.config.write_text(_config(provider))
        await server.start()
        admin = await server.full_admin()
        for family in FAMILIES:
            put = await admin.put(
                f"providers/db-{family}",
                {"kind": family, "base_url": provider.base_url(family), "api_key": API_KEY},
            )
            assert put.status == 200, put
            put = await admin.put(
                f"model-configs/db-{family}", {"provider": f"db-{family}", "model": "m-test"}
            )
            assert put.status == 200, put
        token = await admin.post("tokens", {"name": "canary", "scopes": ["chats:read"]})
        secrets = {
            "the key of the file": FILE_KEY,
            "the key of the database": API_KEY,
            "the admin's token": admin.token or "",
        }
        if url is not None:
            secrets["the password of the database"] = urlsplit(url).password or ""
        search = Search(secrets)
        chats = [
            chat_id
            for family in FAMILIES
            for where in ("file", "db")
            for chat_id in await _failing_chats(admin, provider, f"{where}-{family}")
        ]
        assert {
            asked.headers.get("authorization") or asked.headers.get("x-api-key") for asked in provider.log
        } >= {
            f"Bearer {FILE_KEY}",
            API_KEY,
        }
        await _look_at_answers(search, admin, chats)
        search.look("the answer to making a token", token.body.replace(token.json["secret"].encode(), b""))
        for name in ("nothing", "db-openai", "file-openai"):
            search.look("a trial", (await admin.post(f"model-configs/{name}/test")).body)
        server.signal(signal.SIGTERM)
        assert await server.ended() == 0
        search.look("the log", server.log.read_bytes())
        search.look("the output", server.output.read_bytes())
        for path in server.data.rglob("*"):
            if path.is_file() and path.name != "admin.token":
                search.look(str(path.relative_to(tmp_path)), path.read_bytes())
        assert search.found == []


def _config(provider: ProviderServer) -> str:
    return "".join(
        f"""
[providers.file-{family}]
kind = "{family}"
base_url = "{provider.base_url(family)}"
api_key = {json.dumps(FILE_KEY)}
[models.file-{family}]
provider = "file-{family}"
model = "m-test"
"""
        for family in FAMILIES
    )


async def _failing_chats(admin: Client, provider: ProviderServer, model: str) -> list[str]:
    """A provider that repeats what it was sent, in every error it has, and in its answer."""
    key = API_KEY if model.startswith("db-") else FILE_KEY
    echo = json.dumps({"error": {"message": f"Incorrect API key provided: {key}. Headers: Bearer {key}"}})
    chats: list[str] = []
    for status in (400, 401, 403, 404, 422):
        provider.queue(Reply(fault=Status(status, body=echo)))
        chat = await admin.start_chat("hello", model=model)
        await admin.until_settled(chat["id"])
        chats.append(chat["id"])
    provider.queue(Reply(fault=Status(503, body=echo)), Reply(content=(Say("fine"),)))
    chat = await admin.start_chat("hello", model=model)
    await admin.until_settled(chat["id"])
    return [*chats, chat["id"]]


async def _look_at_answers(search: Search, admin: Client, chats: list[str]) -> None:
    paths = [
        *(
            "providers",
            "model-configs",
            "models",
            "settings",
            "audit?limit=200",
            "users",
            "tokens",
            "session",
        ),
        *("metrics", "usage", "chats", "/api/openapi.json", "/docs/api", "/healthz", "/readyz"),
    ]
    for chat_id in chats:
        paths += [
            f"chats/{chat_id}{rest}"
            for rest in (
                *("", "/messages?visibility=all&removed=true", "/trace", "/usage", "/queue"),
                *("/export", "/export?format=html", "/export?format=markdown"),
            )
        ]
        for span in (await admin.get(f"chats/{chat_id}/trace")).json["items"]:
            paths.append(f"chats/{chat_id}/trace/{span['id']}")
    for path in paths:
        answer = await admin.get(path)
        assert answer.status == 200, (path, answer)
        search.look(path, answer.body)
    for chat_id in chats:
        search.look(f"the feed of {chat_id}", await _feed(admin, chat_id))
    search.look("a refusal", (await admin.get("chats", headers={"Authorization": "Bearer hf_wrong"})).body)


async def _feed(admin: Client, chat_id: str) -> bytes:
    url = f"{admin.address}/api/v1/chats/{chat_id}/feed"
    said = b""
    async with admin.session.get(url, headers={"Authorization": f"Bearer {admin.token}"}) as response:
        async for line in response.content:
            said += line
            if line == b"event: caught_up\n":
                break
    return said
