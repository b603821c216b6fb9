"""One streamed HTTP exchange with a provider, the same for every wire format: send, watch for silence, split
into events, close at once whatever happens. A format only says what to send and how to read."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Literal, cast

import aiohttp
import msgspec

from holdfast.core.errors import AttemptFailed
from holdfast.core.shapes import Json
from holdfast.core.trace_parents import HEADER as TRACE_PARENT
from holdfast.providers.exchanges import HttpExchange
from holdfast.providers.failures import Endpoint
from holdfast.providers.interface import Event, ModelRequest
from holdfast.providers.proxies import proxy_of
from holdfast.providers.sse import EventReader
from holdfast.providers.wire import StreamLimits, WireFormat

_ERROR_BYTES = 64 * 1024
# Events of a provider that sends faster than they can be shown: then others have their turn, so that watchers
# see them as they come and other chats do not wait.
_AT_ONCE = 32
# How long a connection may take to end after the last event before it is closed instead of kept for the next
# call.
_ENDING_SECONDS = 0.05
# What answers of the formats hold that came in one piece.
_WHOLE_ANSWERS = frozenset({"choices", "content", "output", "candidates"})
_CONNECTIONS = 1000
_KEEP_SECONDS = 30.0


def open_session(limits: StreamLimits) -> aiohttp.ClientSession:
    """For all providers; whoever opens it closes it."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=_CONNECTIONS, limit_per_host=0, keepalive_timeout=_KEEP_SECONDS),
        # Silence is watched over by the adapters: the total of a long answer is nobody's business.
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=limits.connect_seconds),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": "holdfast"},
        read_bufsize=256 * 1024,
    )


class HttpAdapter:
    """A wire format spoken to one provider."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        wire: WireFormat,
        endpoint: Endpoint,
        *,
        key: str | None,
        limits: StreamLimits,
        environ: Mapping[str, str],
        query: str = "",
    ) -> None:
        self._session = session
        self._wire = wire
        self._endpoint = endpoint
        self._key = key
        self._limits = limits
        self._url = endpoint.url.rstrip("/")
        self._query = f"?{query}" if query else ""
        self._proxy = proxy_of(self._url, environ)

    @property
    def kind(self) -> str:
        return self._wire.kind

    def body(self, request: ModelRequest) -> bytes:
        return self._wire.body(request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event, None]:
        runs = self._wire.runs(request) if request.provider_tools else ()
        if wrong := [tool for tool in request.provider_tools if tool not in runs]:
            raise self._endpoint.cannot_run(request.model.model, wrong)
        for again in (False, True):
            begun = False
            response: aiohttp.ClientResponse | None = None
            watch: _Watch | None = None
            headers, body = self._headers(request), self._wire.body(request)
            exchange = self._exchange(request, headers, body)
            try:
                response = await self._send(request, headers, body, exchange)
                watch = _Watch(response, self._limits)
                reading = self._wire.reading(request, self._endpoint)
                reader = EventReader()
                while not reading.done and (chunk := await self._next(response, watch)):
                    if exchange is not None:
                        exchange.read(chunk)
                    payloads = reader.feed(chunk)
                    watch.saw(len(chunk), reader, heard=bool(payloads))
                    for number, payload in enumerate(payloads, 1):
                        events = reading.read(payload)
                        if exchange is not None and reading.done:
                            # Whoever has all of it may never close it.
                            exchange.ended()
                        for event in events:
                            begun = True
                            yield event
                        if number % _AT_ONCE == 0:
                            await asyncio.sleep(0)
                for payload in reader.end():
                    for event in reading.read(payload):
                        begun = True
                        yield event
                last = reading.end()
                if exchange is not None:
                    exchange.ended()
                for event in last:
                    yield event
                await self._finish(response)
                return
            except AttemptFailed as failed:
                if exchange is not None:
                    exchange.failed(failed.failure.detail or failed.failure.message)
                if again or begun or not self._wire.differently(request, failed):
                    raise
            finally:
                if watch is not None:
                    watch.stop()
                # A response that was read to its end gave its connection back before, and is not touched by
                # this.
                if response is not None:
                    response.close()
                if exchange is not None:
                    exchange.closed()

    def _exchange(
        self, request: ModelRequest, headers: Mapping[str, str], body: bytes
    ) -> HttpExchange | None:
        if request.exchanges is None:
            return None
        return request.exchanges.exchange("POST", self._address(request), headers, body)

    def _address(self, request: ModelRequest) -> str:
        path = self._wire.path(request)
        return self._url + path + (self._query.replace("?", "&") if "?" in path else self._query)

    def _headers(self, request: ModelRequest) -> dict[str, str]:
        traced = {} if request.trace_parent is None else {TRACE_PARENT: request.trace_parent}
        return {
            **traced,
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            # Compressed streams cost processor time at both ends and arrive in clumps.
            "Accept-Encoding": "identity",
            **self._wire.headers(request, self._key),
        }

    async def _send(
        self, request: ModelRequest, headers: Mapping[str, str], body: bytes, exchange: HttpExchange | None
    ) -> aiohttp.ClientResponse:
        try:
            async with asyncio.timeout(self._limits.silence_seconds):
                response = await self._session.post(
                    self._address(request),
                    data=body,
                    headers=headers,
                    # A key is meant for the host it was given for, and for no other that this one names.
                    allow_redirects=False,
                    proxy=self._proxy,
                )
        except TimeoutError as error:
            if isinstance(error, aiohttp.ServerTimeoutError):
                raise self._endpoint.broken(error) from None
            raise self._endpoint.silent(self._limits.silence_seconds) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise self._endpoint.broken(error) from None
        if exchange is not None:
            exchange.answered(response.status, dict(response.headers))
        try:
            await self._check(request, response, exchange)
        except BaseException:
            response.close()
            raise
        return response

    async def _check(
        self, request: ModelRequest, response: aiohttp.ClientResponse, exchange: HttpExchange | None
    ) -> None:
        kind = response.content_type
        if response.status == 200 and "html" not in kind and kind != "application/json":
            return
        body = await self._read_some(response)
        if exchange is not None:
            exchange.read(body)
        headers = {name.lower(): value for name, value in response.headers.items()}
        if response.status != 200:
            raise self._endpoint.refused(request.model.model, response.status, headers, body)
        if "html" in kind or body.lstrip()[:1] == b"<":
            raise self._endpoint.not_a_model_server(body, 200)
        said = _json_of(body)
        if isinstance(said, dict) and said.keys() & _WHOLE_ANSWERS:
            raise self._endpoint.unstreamed()
        # A gateway that fails before the stream may say so with a 200.
        raise self._endpoint.complained(request.model.model, cast(Json, said))

    async def _read_some(self, response: aiohttp.ClientResponse) -> bytes:
        """The beginning of a body that is not a stream; what cannot be had is not missed."""
        body = b""
        try:
            async with asyncio.timeout(min(self._limits.silence_seconds, 10.0)):
                while len(body) < _ERROR_BYTES and (chunk := await response.content.readany()):
                    body += chunk
        except (TimeoutError, aiohttp.ClientError, OSError):
            pass
        # A body that goes on may end inside a key, which would then not be known for one.
        return body if len(body) < _ERROR_BYTES else body[: _ERROR_BYTES // 2]

    async def _next(self, response: aiohttp.ClientResponse, watch: "_Watch") -> bytes:
        try:
            return await response.content.readany()
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise self._lost(watch, error) from None

    def _lost(self, watch: "_Watch", error: Exception) -> AttemptFailed:
        match watch.fired:
            case "silence":
                return self._endpoint.silent(self._limits.silence_seconds)
            case "idle":
                return self._endpoint.silent(self._limits.idle_seconds)
            case "size":
                return self._endpoint.failed(
                    "server", f"{self._endpoint.provider} sent more than an answer can hold."
                )
            case None:
                if isinstance(error, aiohttp.ClientPayloadError):
                    return self._endpoint.cut_off()
                return self._endpoint.broken(error)

    async def _finish(self, response: aiohttp.ClientResponse) -> None:
        try:
            async with asyncio.timeout(_ENDING_SECONDS):
                while await response.content.readany():
                    pass
        except (TimeoutError, aiohttp.ClientError, OSError):
            pass


_Fired = Literal["silence", "idle", "size"]


class _Watch:
    """Closes the response when it is silent for too long or too large; the reader then finds out why here. It
    never cancels a task: whoever iterates may be busy with something else at that moment."""

    def __init__(self, response: aiohttp.ClientResponse, limits: StreamLimits) -> None:
        self._loop = asyncio.get_running_loop()
        self._response = response
        self._limits = limits
        self._lines = 0
        self._bytes = 0
        self._line_at = self._event_at = self._loop.time()
        self.fired: _Fired | None = None
        self._timer = self._loop.call_at(self._line_at + limits.silence_seconds, self._look)

    def saw(self, size: int, reader: EventReader, *, heard: bool) -> None:
        self._bytes += size
        if reader.lines != self._lines:
            self._lines = reader.lines
            self._line_at = self._loop.time()
            if heard:
                self._event_at = self._line_at
        if self._bytes > self._limits.stream_bytes or reader.pending > self._limits.event_bytes:
            self._fire("size")

    def stop(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        now = self._loop.time()
        silent_at = self._line_at + self._limits.silence_seconds
        idle_at = self._event_at + self._limits.idle_seconds
        if now >= silent_at:
            self._fire("silence")
        elif now >= idle_at:
            self._fire("idle")
        else:
            self._timer = self._loop.call_at(min(silent_at, idle_at), self._look)

    def _fire(self, reason: _Fired) -> None:
        self.fired = reason
        self._response.close()


def _json_of(body: bytes) -> object:
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return body.decode("utf-8", "replace")
