"""Sign-in to MCP servers (the library's OAuth). Tokens are encrypted and never shown. A person starts it in
Settings, is sent to the server's page and comes back with a code. A call without a valid token says
where to sign in and does not wait."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qs, urlsplit

import msgspec

from holdfast.core.ids import UserId
from holdfast.core.secret import Secret
from holdfast.store import mcp as mcp_rows
from holdfast.store.interface import Store

if TYPE_CHECKING:
    from mcp.client.auth import OAuthClientProvider

SIGN_IN_SECONDS = 600.0
# What the library registers at a server; replaced when a person signs in.
NO_PLACE = "http://127.0.0.1/"


class _Sealing(Protocol):
    def seal(self, key: str, *, name: str, base_url: str) -> bytes: ...

    def unseal(self, sealed: bytes, *, name: str, base_url: str) -> Secret | None: ...


@dataclass(eq=False)
class SignInFlow:
    """A sign-in that is under way: where the person is sent, and the code they come back with."""

    owner_id: UserId
    server_id: str
    redirect_uri: str
    url: "asyncio.Future[str]"
    answer: "asyncio.Future[tuple[str, str, str | None]]"

    @property
    def state(self) -> str | None:
        if not self.url.done() or self.url.cancelled():
            return None
        return parse_qs(urlsplit(self.url.result()).query).get("state", [None])[0]


class SignIns:
    NEEDED = "you have to sign in to it first"
    ASKED = f"{NEEDED}: connect it in Settings, MCP servers"

    def __init__(self, store: Store, sealing: _Sealing) -> None:
        self._store = store
        self._sealing = sealing
        self._flows: dict[tuple[UserId, str], SignInFlow] = {}

    def begin(self, owner_id: UserId, server_id: str, redirect_uri: str) -> SignInFlow:
        """Starts a sign-in; it replaces an earlier one of the same person."""
        loop = asyncio.get_running_loop()
        flow = SignInFlow(owner_id, server_id, redirect_uri, loop.create_future(), loop.create_future())
        before = self._flows.get((owner_id, server_id))
        if before is not None:
            before.answer.cancel()
        self._flows[owner_id, server_id] = flow
        return flow

    def end(self, flow: SignInFlow) -> None:
        if self._flows.get((flow.owner_id, flow.server_id)) is flow:
            del self._flows[flow.owner_id, flow.server_id]

    def came_back(self, owner_id: UserId, state: str, code: str, iss: str | None) -> SignInFlow | None:
        """Finishes the sign-in that this state belongs to; None if it was not started here."""
        for flow in self._flows.values():
            if flow.owner_id == owner_id and flow.state == state and not flow.answer.done():
                flow.answer.set_result((code, state, iss))
                return flow
        return None

    async def auth_for(
        self, loop: asyncio.AbstractEventLoop, owner_id: UserId, server_id: str, url: str
    ) -> Callable[[], "OAuthClientProvider"] | None:
        """What the library's client authorizes its requests with, made in the MCP thread. None if nobody
        has signed in or is signing in: a call alone never registers anything."""
        flow = self._flows.get((owner_id, server_id))
        if flow is None and "tokens" not in await self.load(owner_id, server_id, url):
            return None

        def make() -> "OAuthClientProvider":
            from mcp.client.auth import OAuthClientProvider
            from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

            from holdfast.tools.mcp.connection import ServerFailed

            async def redirect(address: str) -> None:
                if flow is None:
                    raise ServerFailed(self.ASKED)
                loop.call_soon_threadsafe(_settle, flow.url, address)

            async def come_back() -> Any:
                assert flow is not None
                waiting = asyncio.run_coroutine_threadsafe(_wait(flow.answer), loop)
                code, state, iss = await asyncio.wrap_future(waiting)
                return AuthorizationCodeResult(code=code, state=state, iss=iss)

            return OAuthClientProvider(
                server_url=url,
                client_metadata=OAuthClientMetadata.model_validate(
                    {
                        "client_name": "Holdfast",
                        "redirect_uris": [NO_PLACE if flow is None else flow.redirect_uri],
                        "grant_types": ["authorization_code", "refresh_token"],
                        "response_types": ["code"],
                        "token_endpoint_auth_method": "none",
                    }
                ),
                storage=_Tokens(self, loop, owner_id, server_id, url, may_register=flow is not None),
                redirect_handler=redirect,
                callback_handler=come_back,
            )

        return make

    async def load(self, owner_id: UserId, server_id: str, url: str) -> dict[str, Any]:
        sealed = await self._store.read(mcp_rows.token(owner_id, server_id))
        if sealed is None:
            return {}
        opened = self._sealing.unseal(sealed, name=_bound(owner_id, server_id), base_url=url)
        return {} if opened is None else msgspec.json.decode(opened.reveal(), type=dict[str, Any])

    async def save(self, owner_id: UserId, server_id: str, url: str, kept: dict[str, Any]) -> None:
        text = msgspec.json.encode(kept).decode()
        sealed = self._sealing.seal(text, name=_bound(owner_id, server_id), base_url=url)
        await self._store.write(mcp_rows.put_token(owner_id, server_id, sealed))


class _Tokens:
    """The library's storage. It is used in the MCP thread; the database is used in the main one."""

    def __init__(
        self,
        kept: SignIns,
        loop: asyncio.AbstractEventLoop,
        owner_id: UserId,
        server_id: str,
        url: str,
        *,
        may_register: bool,
    ) -> None:
        self._kept = kept
        self._loop = loop
        self._of = (owner_id, server_id, url)
        self._may_register = may_register

    async def get_tokens(self) -> Any:
        from mcp.shared.auth import OAuthToken

        found = (await self._load()).get("tokens")
        return None if found is None else OAuthToken.model_validate(found)

    async def set_tokens(self, tokens: Any) -> None:
        await self._put("tokens", tokens.model_dump(mode="json", exclude_none=True))

    async def get_client_info(self) -> Any:
        from mcp.shared.auth import OAuthClientInformationFull

        found = (await self._load()).get("client")
        if found is None or self._may_register:
            return None  # registered again: the redirect address may have changed
        return OAuthClientInformationFull.model_validate(found)

    async def set_client_info(self, client_info: Any) -> None:
        await self._put("client", client_info.model_dump(mode="json", exclude_none=True))

    async def _load(self) -> dict[str, Any]:
        loading = asyncio.run_coroutine_threadsafe(self._kept.load(*self._of), self._loop)
        return await asyncio.wrap_future(loading)

    async def _put(self, name: str, value: Any) -> None:
        kept = {**(await self._load()), name: value}
        saving = asyncio.run_coroutine_threadsafe(self._kept.save(*self._of, kept), self._loop)
        await asyncio.wrap_future(saving)


async def _wait(answer: "asyncio.Future[tuple[str, str, str | None]]") -> tuple[str, str, str | None]:
    async with asyncio.timeout(SIGN_IN_SECONDS):
        return await answer


def _settle(future: "asyncio.Future[str]", value: str) -> None:
    if not future.done():
        future.set_result(value)


def _bound(owner_id: UserId, server_id: str) -> str:
    return f"mcp-token:{owner_id}:{server_id}"
