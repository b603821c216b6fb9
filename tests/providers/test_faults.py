"""A provider that fails, in every way: the class is right, there is one request, nothing is left behind."""

import asyncio
import socket
import ssl
import time
from contextlib import aclosing

import pytest

from holdfast.core.errors import AttemptFailed
from holdfast.core.failures import Failure
from holdfast.providers.interface import TextDelta
from holdfast.providers.wire import StreamLimits
from tests.providers.calling import KEY, ask, model_at, request, text_of, user
from tests.providers.replies import (
    BadUtf8,
    Dribble,
    Drop,
    ErrorEvent,
    Fault,
    Garbage,
    Hang,
    KeepAlives,
    NoEnd,
    Page,
    Raw,
    Reply,
    Say,
    Stall,
    Status,
    fails,
    say,
)
from tests.providers.server import ProviderServer

SHORT = StreamLimits(silence_seconds=0.15, idle_seconds=0.4, connect_seconds=1)
EVERY = pytest.mark.parametrize("family", ["anthropic", "openai", "responses", "google"])


async def failure(
    server: ProviderServer, family: str, fault: Fault, limits: StreamLimits | None = None
) -> Failure:
    """Who never answers is given up soon; everybody else has the time a busy machine needs."""
    silent = isinstance(fault, Hang | Stall | Dribble | KeepAlives)
    server.queue(fails(fault))
    async with model_at(server, family, limits=limits or (SHORT if silent else StreamLimits())) as model:
        with pytest.raises(AttemptFailed) as raised:
            await ask(model.adapter, request(model))
    # Given up so soon, even the first may not have been read yet.
    assert len(server.log) == 1 or (silent and not server.log), "one retry layer, and it is not here"
    found = raised.value.failure
    assert found.provider == "here"
    assert KEY not in repr(found)
    return found


@EVERY
@pytest.mark.parametrize(
    "fault, kind",
    [
        (Drop(0.4), "transport"),
        (Drop(0.4, reset=True), "transport"),
        (Drop(0.0, reset=True), "transport"),
        (Drop(0.99), "transport"),
        (NoEnd(), "transport"),
        (Hang(), "timeout"),
        (Hang(after_headers=True), "timeout"),
        (Stall(0.5), "timeout"),
        (Dribble(0.02), "timeout"),
        (KeepAlives(0.03), "timeout"),
        (Page(), "config"),
        (Page(status=502), "server"),
        (Page(status=404), "config"),
        (ErrorEvent("overloaded_error"), "overloaded"),
        (ErrorEvent("api_error", "Internal server error"), "server"),
        (ErrorEvent("rate_limit_error"), "rate_limit"),
        (ErrorEvent("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"), "context_overflow"),
        (Garbage(), "server"),
        (Raw("data: [1, 2]\n\n"), "server"),
        (Raw(""), "transport"),
        (Raw("<html>no stream at all</html>"), "transport"),
        (Status(429), "rate_limit"),
        (Status(529), "overloaded"),
        (Status(503), "overloaded"),
        (Status(500), "server"),
        (Status(504), "timeout"),
        (Status(401), "auth"),
        (Status(403), "auth"),
        (Status(402), "usage_limit"),
        (Status(413), "context_overflow"),
        (Status(400), "config"),
        (Status(307, headers={"Location": "http://127.0.0.1:9/steal"}), "config"),
    ],
    ids=str,
)
async def test_the_class_of_a_failure(server: ProviderServer, family: str, fault: Fault, kind: str) -> None:
    found = await failure(server, family, fault)
    assert found.kind == kind
    assert found.retryable is (kind in ("overloaded", "rate_limit", "timeout", "transport", "server"))


@pytest.mark.parametrize(
    "written, least, most",
    [("7", 7, 7), ("0.5", 0.5, 0.5), ("1000000000", 60, 60), ("soon", None, None), ("-3", None, None)],
)
async def test_what_retry_after_says(
    server: ProviderServer, written: str, least: float | None, most: float | None
) -> None:
    server.queue(fails(Status(429, headers={"Retry-After": written})))
    async with model_at(server, "anthropic") as model:
        with pytest.raises(AttemptFailed) as raised:
            await ask(model.adapter, request(model))
    assert raised.value.retry_after_seconds == least == most


@EVERY
async def test_broken_utf8_is_replaced_and_the_answer_goes_on(server: ProviderServer, family: str) -> None:
    server.queue(Reply(content=(Say("Hello there"),), fault=BadUtf8(), piece=100))
    async with model_at(server, family) as model:
        assert text_of(await ask(model.adapter, request(model))) == "\ufffdHello there"


@EVERY
async def test_leaving_early_closes_the_connection_at_once(server: ProviderServer, family: str) -> None:
    server.queue(say("word " * 500, delay_seconds=0.01))
    async with model_at(server, family) as model:
        async with aclosing(model.adapter.stream(request(model))) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    break
        await until_gone(server)


@EVERY
async def test_being_cancelled_closes_the_connection_at_once(server: ProviderServer, family: str) -> None:
    server.queue(fails(Hang(after_headers=True)), fails(Hang()))
    async with model_at(server, family) as model:
        for _ in range(2):
            task = asyncio.create_task(ask(model.adapter, request(model)))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until_gone(server)


async def until_gone(server: ProviderServer) -> None:
    started = time.monotonic()
    while server.log[-1].outcome != "gone":
        assert time.monotonic() - started < 1, "the server still has the connection"
        await asyncio.sleep(0.005)


async def test_silence_while_the_reader_is_busy_elsewhere_cancels_nobody(server: ProviderServer) -> None:
    """The limit passes while whoever iterates does something else; only the next read learns of it."""
    server.queue(fails(Stall(0.5)))
    async with (
        model_at(server, "openai", limits=SHORT) as model,
        aclosing(model.adapter.stream(request(model))) as events,
    ):
        await anext(events)
        await asyncio.sleep(0.3)
        with pytest.raises(AttemptFailed) as raised:
            async for _ in events:
                pass
    assert raised.value.failure.kind == "timeout"


async def test_events_that_keep_coming_are_no_silence(server: ProviderServer) -> None:
    server.queue(say("a b c d e f g h", delay_seconds=0.05, piece=2))
    async with model_at(server, "openai", limits=SHORT) as model:
        assert text_of(await ask(model.adapter, request(model))) == "a b c d e f g h"


async def test_nobody_at_the_address() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    found = await unreachable(url)
    assert found.kind == "transport"
    assert "Nobody answers" in found.message
    assert "base_url of [providers.here]" in found.message


async def test_a_name_that_does_not_exist() -> None:
    found = await unreachable("http://no-such-host.invalid/v1")
    assert found.kind == "transport"
    assert "no-such-host.invalid" in found.message


async def test_a_server_that_does_not_speak_tls() -> None:
    async def answer_plainly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    listener = await asyncio.start_server(answer_plainly, "127.0.0.1", 0)
    async with listener:
        found = await unreachable(f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1")
    assert found.kind == "transport"
    assert "secure connection" in found.message


async def test_a_handshake_that_is_reset() -> None:
    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    listener = await asyncio.start_server(reset, "127.0.0.1", 0)
    async with listener:
        port = listener.sockets[0].getsockname()[1]
        assert (await unreachable(f"https://127.0.0.1:{port}/v1")).kind == "transport"


async def test_something_that_does_not_speak_http() -> None:
    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"220 mail.example ESMTP\r\n")
        await writer.drain()
        writer.close()

    listener = await asyncio.start_server(babble, "127.0.0.1", 0)
    async with listener:
        port = listener.sockets[0].getsockname()[1]
        found = await unreachable(f"http://127.0.0.1:{port}/v1")
    assert found.kind == "transport"
    assert "does not speak HTTP" in found.message


async def unreachable(url: str) -> Failure:
    async with ProviderServer() as server, model_at(server, "compatible", url=url, limits=SHORT) as model:
        with pytest.raises(AttemptFailed) as raised:
            await ask(model.adapter, request(model))
    return raised.value.failure


def test_an_untrusted_certificate_is_for_people_to_mend() -> None:
    from holdfast.providers.failures import Endpoint
    from holdfast.providers.redact import Redactor

    endpoint = Endpoint(provider="here", url="https://here/v1", key_place="KEY", redactor=Redactor())
    found = endpoint.broken(ssl.SSLCertVerificationError("self-signed certificate")).failure
    assert found.kind == "config"
    assert "certificate" in found.message


@EVERY
async def test_a_wrong_key_names_the_place_to_change_it(family: str) -> None:
    async with ProviderServer(key="another") as server:
        found = await failure(server, family, Status(500))
    assert found.kind == "auth"
    assert found.status_code == (400 if family == "google" else 401)
    assert "Set a valid one in" in found.message


@EVERY
async def test_a_wrong_model_is_named(family: str) -> None:
    async with ProviderServer(models=frozenset({"other"})) as server:
        found = await failure(server, family, Status(500))
    assert found.kind == "config"
    name = {"anthropic": "claude-sonnet-5", "google": "gemini-3.8-flash"}.get(family, "test-model")
    assert f"does not know the model {name}" in found.message


async def test_an_address_that_is_no_model_server(server: ProviderServer) -> None:
    async with model_at(server, "compatible", url=server.url + "/some/where") as model:
        with pytest.raises(AttemptFailed) as raised:
            await ask(model.adapter, request(model, user("Hi")))
    assert raised.value.failure.kind == "config"
    assert "There is no model server at" in raised.value.failure.message


async def test_the_key_is_never_sent_where_a_redirect_points(server: ProviderServer) -> None:
    async with ProviderServer() as thief:
        server.queue(
            fails(Status(307, headers={"Location": thief.base_url("compatible") + "/chat/completions"}))
        )
        async with model_at(server, "compatible") as model:
            with pytest.raises(AttemptFailed) as raised:
                await ask(model.adapter, request(model))
        assert thief.log == []
    assert "final address" in raised.value.failure.message


async def test_an_event_that_is_too_large(server: ProviderServer) -> None:
    limits = StreamLimits(event_bytes=10_000, stream_bytes=100_000)
    found = await failure(server, "openai", Raw("data: " + "x" * 50_000), limits)
    assert found.kind == "server"
    assert "more than an answer can hold" in found.message


async def test_an_answer_that_does_not_stream(server: ProviderServer) -> None:
    found = await failure(server, "openai", Status(200, '{"choices":[{"message":{"content":"Hi"}}]}'))
    assert found.kind == "config"
    assert "in one piece" in found.message


async def test_an_error_with_status_200(server: ProviderServer) -> None:
    body = '{"error":{"code":429,"message":"Rate limited upstream"}}'
    found = await failure(server, "openrouter", Status(200, body))
    assert (found.kind, found.status_code) == ("rate_limit", 429)
