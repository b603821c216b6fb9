"""A whole server for tests, in this process and over real HTTP, with people who call it."""

import asyncio
import io
import itertools
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
from litestar import Litestar
from litestar.types import ASGIApp
from msgspec.structs import replace

from holdfast.accounts.tokens import hash_of, new_secret
from holdfast.api.app import gated, litestar_app
from holdfast.api.services import Services
from holdfast.config.sections import Config
from holdfast.core.accounts import SCOPES
from holdfast.core.ids import TokenId
from holdfast.core.secret import Secret
from holdfast.server.parts import Parts, opened
from holdfast.server.protocol import CONNECTION_LIMITS, ConnectionLimits
from holdfast.server.serve import answering
from holdfast.store import tokens
from tests.ready_databases import prepare

PATIENCE_SECONDS = 40.0


class Answer:
    """A response that was read to its end."""

    def __init__(self, status: int, headers: Any, body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def code(self) -> str:
        assert self.headers["Content-Type"] == "application/problem+json", self.body
        problem = self.json
        # Of bad input it is always told where it is.
        assert (problem["code"] == "invalid_input") == bool(problem.get("errors")), problem
        return problem["code"]

    def __repr__(self) -> str:  # pyright: ignore[reportImplicitOverride]
        return f"{self.status} {self.body[:500]!r}"


class Client:
    """Somebody with a token, or nobody."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        address: str,
        token: str | None,
        browser: "BrowserClient | None" = None,
    ) -> None:
        self.session = session
        self.address = address
        self.token = token
        # The same person in a session.
        self._browser = browser

    @property
    def browser(self) -> "BrowserClient":
        assert self._browser is not None
        return self._browser

    async def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: dict[str, str] | None = None,
        raw: bytes | None = None,
        **more: Any,
    ) -> Answer:
        sent = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        data = raw
        if body is not None:
            data = msgspec.json.encode(body)
            sent["Content-Type"] = "application/json"
        url = (
            path
            if path.startswith("http")
            else self.address + (path if path.startswith("/") else f"/api/v1/{path}")
        )
        # A large one as a file: as bytes, the client warns of what it does with them.
        sendable = io.BytesIO(data) if data is not None and len(data) > 1_000_000 else data
        async with self.session.request(
            method, url, data=sendable, headers=sent | (headers or {}), allow_redirects=False, **more
        ) as response:
            return Answer(response.status, response.headers, await response.read())

    async def get(self, path: str, **more: Any) -> Answer:
        return await self.request("GET", path, **more)

    async def post(self, path: str, body: object = None, **more: Any) -> Answer:
        return await self.request("POST", path, body, **more)

    async def patch(self, path: str, body: object = None, **more: Any) -> Answer:
        return await self.request("PATCH", path, body, **more)

    async def put(self, path: str, body: object = None, **more: Any) -> Answer:
        return await self.request("PUT", path, body, **more)

    async def delete(self, path: str, **more: Any) -> Answer:
        return await self.request("DELETE", path, **more)

    # --- what tests do often ---

    async def start_chat(self, content: str = "hello", **more: Any) -> dict[str, Any]:
        answer = await self.post("chats", {"content": content, **more})
        assert answer.status == 201, answer
        return answer.json

    async def chat(self, chat_id: str) -> dict[str, Any]:
        answer = await self.get(f"chats/{chat_id}")
        assert answer.status == 200, answer
        return answer.json

    async def until(self, chat_id: str, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Waits until the chat is as wanted."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            for seconds in itertools.chain((0.005, 0.01, 0.02), itertools.repeat(0.05)):
                chat = await self.chat(chat_id)
                if condition(chat):
                    return chat
                await asyncio.sleep(seconds)
        raise AssertionError

    async def until_settled(self, chat_id: str) -> dict[str, Any]:
        return await self.until(chat_id, lambda chat: chat["status"] in ("idle", "error"))

    async def until_status(self, chat_id: str, status: str) -> dict[str, Any]:
        return await self.until(chat_id, lambda chat: chat["status"] == status)

    async def messages(self, chat_id: str, query: str = "limit=200") -> list[dict[str, Any]]:
        answer = await self.get(f"chats/{chat_id}/messages?{query}")
        assert answer.status == 200, answer
        return answer.json["items"]


class Serving:
    """`admin` has a token of the first admin with all scopes; `local` has the one that the server left for
    programs of its machine."""

    def __init__(
        self, parts: Parts, address: str, session: aiohttp.ClientSession, data: Path, admin: Secret
    ) -> None:
        self.parts = parts
        self.address = address
        self.session = session
        self.data = data
        self.admin = self.client(admin.reveal())
        self.local = self.client((data / "admin.token").read_text().strip())
        self.nobody = self.client(None)

    def client(self, token: str | None, browser: "BrowserClient | None" = None) -> Client:
        return Client(self.session, self.address, token, browser)

    async def member(
        self, name: str = "mia", scopes: tuple[str, ...] = ("chats:read", "chats:write")
    ) -> Client:
        """A new member with an API token of their own."""
        made = await self.admin.post("users", {"name": name})
        assert made.status == 201, made
        session = await self.signed_in(made.json["sign_in_token"])
        token = await session.post("tokens", {"name": "test", "scopes": list(scopes)})
        assert token.status == 201, token
        return self.client(token.json["secret"], session)

    async def signed_in(self, token: str) -> "BrowserClient":
        answer = await self.nobody.post("session", {"token": token})
        assert answer.status == 200, answer
        cookie = answer.headers["Set-Cookie"].partition(";")[0]
        return BrowserClient(self.session, self.address, cookie)


class BrowserClient(Client):
    """Somebody with a session cookie, whose browser says where requests come from."""

    def __init__(self, session: aiohttp.ClientSession, address: str, cookie: str) -> None:
        super().__init__(session, address, None)
        self.cookie = cookie

    async def request(self, method: str, path: str, body: object = None, **more: Any) -> Answer:  # pyright: ignore[reportImplicitOverride]
        given: dict[str, str] = more.pop("headers", None) or {}
        headers = {"Cookie": self.cookie, "Origin": self.address} | given
        return await super().request(method, path, body, headers=headers, **more)


def config_for(data: Path, url: str = "sqlite", **sections: Any) -> Config:
    config = Config()
    server = replace(config.server, data=data, port=0)
    database = replace(config.database, url=Secret(url))
    workspaces = replace(config.workspaces, roots=(data.parent,))
    # Making a network for each chat takes time, and is tested where it belongs.
    sections = {"sandbox": replace(config.sandbox, network="host"), **sections}
    return replace(config, server=server, database=database, workspaces=workspaces, **sections)


class Applications:
    """Put together once and lent to one server at a time: this is most of what it takes to start one, and
    of all that belongs to a server an application knows nothing but the services."""

    def __init__(self) -> None:
        self._spare: list[Litestar] = []

    @asynccontextmanager
    async def lent(self) -> AsyncGenerator[Callable[[Services], ASGIApp]]:
        used: list[Litestar] = []

        def compose(services: Services) -> ASGIApp:
            app = self._spare.pop() if self._spare else litestar_app(services)
            app.state["services"] = services
            used.append(app)
            return gated(app, services)

        yield compose
        for app in used:
            app.state["services"] = None
            self._spare.append(app)


applications = Applications()


@asynccontextmanager
async def serving(
    config: Config, environ: dict[str, str] | None = None, limits: ConnectionLimits = CONNECTION_LIMITS
) -> AsyncGenerator[Serving]:
    environ = environ or {}
    prepare(config.database.url.reveal(), config.server.data)
    async with (
        opened(config, lambda: config, environ) as parts,
        applications.lent() as compose,
        answering(parts, limits, compose) as running,
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
    ):
        admin = await token_of(parts)
        yield Serving(parts, running.address, session, config.server.data, admin)


async def token_of(parts: Parts) -> Secret:
    """A new token with all scopes, of the first admin."""
    secret, services = new_secret(), parts.services
    token_id = TokenId(services.ids.uuid7(services.clock.now()))
    await services.store.write(
        tokens.create(
            token_id, parts.admin.id, hash_of(secret.reveal()), name="test", kind="api", scopes=SCOPES
        )
    )
    return secret
