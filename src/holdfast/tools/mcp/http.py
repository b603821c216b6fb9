"""The HTTP client for MCP servers: it connects only to addresses that were checked, and limits how much of
an answer it reads. It imports the library, so import it only in the MCP thread."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any

import httpcore2
import httpx2
from httpcore2._backends.anyio import AnyIOBackend
from typing_extensions import override

from holdfast.tools.addresses import AddressRefused, public_addresses

ANSWER_BYTES = 16 * 1024 * 1024
CONNECT_SECONDS = 15.0
# Of a stream of events, on average, and for how long it may have been quiet to make up for it. An event has a
# few lines.
LINES_A_SECOND = 2000
BYTES_A_SECOND = 8 * 1024 * 1024
BURST_SECONDS = 5.0


class PublicBackend(AnyIOBackend):
    """Resolves a name once and connects to the address that was checked. A redirect opens another
    connection, or uses one that was checked before."""

    @override
    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            addresses = await public_addresses(host, port)
        except AddressRefused as error:
            raise httpcore2.ConnectError(f"{host} is refused: {error}") from None
        except (OSError, TimeoutError) as error:
            raise httpcore2.ConnectError(f"{host} cannot be resolved: {error}") from None
        failure: Exception | None = None
        for address in addresses[:4]:
            try:
                return await super().connect_tcp(address, port, timeout, local_address, socket_options)
            except httpcore2.ConnectError as error:
                failure = error
        raise httpcore2.ConnectError(f"{host} cannot be reached: {failure}")

    @override
    async def connect_unix_socket(self, *_: Any, **__: Any) -> httpcore2.AsyncNetworkStream:
        raise httpcore2.ConnectError("a socket of this machine is refused")


class BoundedTransport(httpx2.AsyncHTTPTransport):
    """`public`: only public addresses. `on_unauthorized` is told when an answer has the status 401."""

    def __init__(self, *, public: bool, on_unauthorized: Callable[[], None]) -> None:
        super().__init__(trust_env=False)
        self._on_unauthorized = on_unauthorized
        if public:
            self._pool = httpcore2.AsyncConnectionPool(
                ssl_context=ssl.create_default_context(),
                max_connections=20,
                max_keepalive_connections=5,
                keepalive_expiry=30.0,
                network_backend=PublicBackend(),
            )

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        # An uncompressed answer cannot grow while it is read.
        request.headers["accept-encoding"] = "identity"
        response = await super().handle_async_request(request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        if response.status_code == 401:
            self._on_unauthorized()
        if "text/event-stream" in response.headers.get("content-type", ""):
            # The library limits each event.
            response.stream = Paced(response.stream)
        else:
            response.stream = _Bounded(response.stream, ANSWER_BYTES)
        return response


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, limit: int) -> None:
        self._stream = stream
        self._left = limit

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._left -= len(piece)
            if self._left < 0:
                raise httpx2.ReadError(f"The answer is larger than {ANSWER_BYTES // 2**20} MiB.")
            yield piece

    @override
    async def aclose(self) -> None:
        await self._stream.aclose()


class Paced(httpx2.AsyncByteStream):
    """A stream of events that never ends is read no faster than this: others share the processor."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        # Until when what was read so far may take.
        due = loop.time() - BURST_SECONDS
        async for piece in self._stream:
            due = max(due, loop.time() - BURST_SECONDS)
            due += piece.count(b"\n") / LINES_A_SECOND + len(piece) / BYTES_A_SECOND
            await asyncio.sleep(due - loop.time())
            yield piece

    @override
    async def aclose(self) -> None:
        await self._stream.aclose()


def http_client(
    headers: Mapping[str, str],
    *,
    public: bool,
    seconds: float,
    on_unauthorized: Callable[[], None],
    auth: httpx2.Auth | None = None,
) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        headers=dict(headers),
        timeout=httpx2.Timeout(seconds, connect=CONNECT_SECONDS, read=max(seconds, 300.0)),
        transport=BoundedTransport(public=public, on_unauthorized=on_unauthorized),
        trust_env=False,
        auth=auth,
        follow_redirects=False,
    )
