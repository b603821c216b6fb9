"""A client of the API: typed answers, problems as one sentence. A command carries an idempotency key, so
that trying it again after a lost connection does it once."""

import asyncio
import os
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from typing import BinaryIO, Generic, Literal, TypeVar, cast

import aiohttp
import msgspec

from holdfast.cli.address import TOKEN_VARIABLE, ServerAddress, is_local
from holdfast.cli.safe_text import neutral_line
from holdfast.config.local import reachable
from holdfast.core.errors import HoldfastError, Refused, Unreachable
from holdfast.core.shapes import Json, Record, encode

T = TypeVar("T")
Method = Literal["GET", "POST", "PATCH", "PUT", "DELETE"]
Params = Mapping[str, str | int | bool | None]

API = "/api/v1"
PAGE = 200
_ANSWER_SECONDS = 60.0
_CONNECT_SECONDS = 10.0
# A quiet feed sends a heartbeat every 15 seconds.
SILENCE_SECONDS = 45.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.2, 5.0


class _Problem(Record, frozen=True, kw_only=True):
    detail: str = ""
    code: str = ""


class _Page(Record, Generic[T], frozen=True, kw_only=True):
    items: tuple[T, ...]
    next_cursor: str | None = None


class Client:
    def __init__(self, address: ServerAddress, session: aiohttp.ClientSession) -> None:
        self.url = address.url
        # Whether the server's paths are those of this machine.
        self.is_here = address.socket is not None or is_local(address.url)
        # For how long a server that does not answer is tried again, and who is told of each wait.
        self.patience_seconds = 0.0
        self.on_wait: Callable[[], None] | None = None
        self._session = session
        self._has_token = address.token is not None

    async def get(self, path: str, wanted: type[T], params: Params | None = None) -> T:
        return await self.request("GET", path, wanted, params=params)

    async def post(self, path: str, wanted: type[T], body: Json = None) -> T:
        return await self.request("POST", path, wanted, body=body)

    async def every(self, path: str, wanted: type[T], params: Params | None = None) -> AsyncIterator[T]:
        """All items of a list, page by page."""
        cursor: str | None = None
        while True:
            asked = {"limit": PAGE, **(params or {}), "cursor": cursor}
            page = await self.get(path, _Page[wanted], asked)
            for item in page.items:
                yield item
            if (cursor := page.next_cursor) is None:
                return

    async def listed(self, path: str, wanted: type[T], params: Params | None = None) -> tuple[T, ...]:
        """The first page of a list."""
        return (await self.get(path, _Page[wanted], params)).items

    async def is_alive(self) -> bool:
        """Whether a server of ours answers at all."""
        try:
            async with self._session.get(
                f"{self.url}/healthz", timeout=aiohttp.ClientTimeout(total=_CONNECT_SECONDS)
            ) as response:
                return response.status == 200 and b'"status"' in await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError):
            return False

    async def request(
        self,
        method: Method,
        path: str,
        wanted: type[T],
        *,
        body: Json = None,
        params: Params | None = None,
    ) -> T:
        headers = {} if method == "GET" else {"Idempotency-Key": secrets.token_hex(16)}
        pause, waited = _FIRST_PAUSE_SECONDS, 0.0
        while True:
            try:
                return await self._once(method, path, wanted, body, params, headers)
            except (Unreachable, Refused) as error:
                again = isinstance(error, Unreachable) or error.problem == "try_again"
                if not again or waited >= self.patience_seconds:
                    raise
            if self.on_wait is not None:
                self.on_wait()
            await asyncio.sleep(pause)
            waited += pause
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    async def upload(self, path: str, name: str, content: bytes, wanted: type[T]) -> T:
        """One file as a form, as a browser sends it."""
        form = aiohttp.FormData()
        form.add_field("file", content, filename=name, content_type="application/octet-stream")
        key = {"Idempotency-Key": secrets.token_hex(16)}
        async with self.answer("POST", path, headers=key, streamed=True, form=form) as response:
            return self._decoded(await response.read(), wanted)

    async def _once(
        self,
        method: Method,
        path: str,
        wanted: type[T],
        body: Json,
        params: Params | None,
        headers: dict[str, str],
    ) -> T:
        async with self.answer(method, path, body=body, params=params, headers=headers) as response:
            data = await response.read()
        return cast(T, None) if wanted is type(None) else self._decoded(data, wanted)

    def _decoded(self, data: bytes, wanted: type[T]) -> T:
        try:
            return msgspec.json.decode(data, type=wanted)
        except msgspec.DecodeError:
            raise self._stranger() from None

    @asynccontextmanager
    async def answer(
        self,
        method: Method,
        path: str,
        *,
        body: Json = None,
        params: Params | None = None,
        headers: Mapping[str, str] | None = None,
        streamed: bool = False,
        file: BinaryIO | None = None,
        form: aiohttp.FormData | None = None,
    ) -> AsyncGenerator[aiohttp.ClientResponse]:
        """A response that is not a problem, for who reads it piece by piece. `file`: the body, as it is."""
        limits = aiohttp.ClientTimeout(
            total=None if streamed else _ANSWER_SECONDS,
            sock_connect=_CONNECT_SECONDS,
            sock_read=SILENCE_SECONDS if streamed else None,
        )
        sent = dict(headers or {})
        if method in ("POST", "PATCH", "PUT") and form is None:
            sent["Content-Type"] = "application/json"
        try:
            async with self._session.request(
                method,
                f"{self.url}{API}{path}",
                data=form
                or file
                or (encode({} if body is None else body) if "Content-Type" in sent else None),
                params=_params(params),
                headers=sent,
                timeout=limits,
                allow_redirects=False,
            ) as response:
                if response.status >= 300:
                    raise self._refusal(response.status, await response.read())
                yield response
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._unreachable(error) from None

    def _refusal(self, status: int, data: bytes) -> HoldfastError:
        try:
            problem = msgspec.json.decode(data, type=_Problem)
        except msgspec.DecodeError:
            return self._stranger() if status != 503 else Refused("The server is busy.", status, "try_again")
        if status == 401:
            has = "does not accept the token" if self._has_token else "requires a token, and none is set"
            text = (
                f"The server at {self.url} {has}. Set {TOKEN_VARIABLE} to a token from `holdfast token "
                "create` or from the page's settings."
            )
            return Refused(text, status, problem.code)
        return Refused(neutral_line(problem.detail, 1000) or f"HTTP {status}", status, problem.code)

    def _stranger(self) -> Unreachable:
        return Unreachable(
            f"The program at {self.url} is not a Holdfast server. Check --url or HOLDFAST_URL."
        )

    def _unreachable(self, error: BaseException) -> Unreachable:
        if isinstance(error, TimeoutError):
            why = "did not answer in time"
        elif isinstance(error, aiohttp.ClientConnectorError):
            why = f"cannot be reached ({_reason(error.os_error)})"
        else:
            why = "closed the connection"
        return Unreachable(
            f"The server at {self.url} {why}. Start one with `holdfast serve`, or name another with --url "
            "or HOLDFAST_URL."
        )


@asynccontextmanager
async def connected(address: ServerAddress) -> AsyncGenerator[Client]:
    headers = {} if address.token is None else {"Authorization": f"Bearer {address.token.reveal()}"}
    with ExitStack() as stack:
        connector = None
        if address.socket is not None:
            connector = aiohttp.UnixConnector(path=stack.enter_context(reachable(address.socket)))
        # Proxies are for the way out; the server is reached as its address says.
        async with aiohttp.ClientSession(
            headers={"User-Agent": "holdfast-cli", **headers},
            cookie_jar=aiohttp.DummyCookieJar(),
            connector=connector,
        ) as session:
            yield Client(address, session)


def _reason(error: OSError) -> str:
    """asyncio writes the address into it, which is said already."""
    number = error.errno or 0
    return os.strerror(number) if number > 0 else error.strerror or str(error)


def _params(params: Params | None) -> dict[str, str]:
    """As the API reads them; what is None is left out."""
    found: dict[str, str] = {}
    for name, value in (params or {}).items():
        if value is not None:
            found[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return found
