"""A server of the Model Context Protocol over HTTP that wants people to sign in, with its authorization
server, in a few lines: metadata, registration, codes with PKCE, tokens that expire."""

import base64
import hashlib
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from aiohttp import web


@dataclass
class OAuthServer:
    url: str = ""
    registered: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    # By code: the challenge that it was asked for with.
    codes: dict[str, str] = field(default_factory=dict[str, str])
    # The one that counts now.
    token: str = ""
    renewed: int = 0
    # What was asked at an address that only a redirect names.
    elsewhere: int = 0

    def agree(self, address: str) -> tuple[str, str]:
        """What a person does at the address: the state and code they are sent back with."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert asked["code_challenge_method"] == "S256"
        code = f"code-{len(self.codes)}"
        self.codes[code] = asked["code_challenge"]
        return asked["state"], code

    async def metadata(self, request: web.Request) -> web.Response:
        if "protected-resource" in request.path:
            return web.json_response({"resource": f"{self.url}/mcp", "authorization_servers": [self.url]})
        return web.json_response(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "registration_endpoint": f"{self.url}/register",
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "token_endpoint_auth_methods_supported": ["none"],
                "code_challenge_methods_supported": ["S256"],
            }
        )

    async def register(self, request: web.Request) -> web.Response:
        asked = await request.json()
        self.registered.append(asked)
        return web.json_response({**asked, "client_id": f"client-{len(self.registered)}"}, status=201)

    async def tokens(self, request: web.Request) -> web.Response:
        form = await request.post()
        if form["grant_type"] == "refresh_token":
            self.renewed += 1
            right = form["refresh_token"] == "canary-refresh"
        else:
            digest = hashlib.sha256(str(form["code_verifier"]).encode()).digest()
            proof = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            right = self.codes.pop(str(form["code"]), None) == proof
        if not right:
            return web.json_response({"error": "invalid_grant"}, status=400)
        self.token = f"canary-access-{self.renewed}"
        return web.json_response(
            {
                "access_token": self.token,
                "token_type": "Bearer",
                "expires_in": 3600,
                "refresh_token": "canary-refresh",
            }
        )

    async def moved(self, _: web.Request) -> web.Response:
        raise web.HTTPTemporaryRedirect(f"{self.url.replace('127.0.0.1', 'localhost')}/elsewhere")

    async def other(self, _: web.Request) -> web.Response:
        self.elsewhere += 1
        return web.json_response({})

    async def speak(self, request: web.Request) -> web.StreamResponse:
        if not self.token or request.headers.get("Authorization") != f"Bearer {self.token}":
            where = f'Bearer resource_metadata="{self.url}/.well-known/oauth-protected-resource"'
            return web.Response(status=401, headers={"WWW-Authenticate": where})
        if request.method != "POST":
            return web.Response(status=405)
        asked = json.loads(await request.read())
        if "id" not in asked:
            return web.Response(status=202)
        return web.json_response({"jsonrpc": "2.0", "id": asked["id"], **_answer(asked)})


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    match asked["method"]:
        case "initialize":
            result: Any = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "guarded", "version": "1"},
            }
        case "tools/list":
            result = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
        case "tools/call":
            result = {"content": [{"type": "text", "text": "let in"}]}
        case method:
            return {"error": {"code": -32601, "message": f"no method {method}"}}
    return {"result": result}


@asynccontextmanager
async def oauth_server() -> AsyncGenerator[OAuthServer]:
    found = OAuthServer()
    app = web.Application()
    for path in ("protected-resource", "protected-resource/mcp", "authorization-server"):
        app.router.add_get(f"/.well-known/oauth-{path}", found.metadata)
    app.router.add_post("/register", found.register)
    app.router.add_post("/token", found.tokens)
    app.router.add_route("*", "/mcp", found.speak)
    app.router.add_route("*", "/moved", found.moved)
    app.router.add_route("*", "/elsewhere", found.other)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    found.url = f"http://{host}:{port}"
    yield found
    await runner.cleanup()
