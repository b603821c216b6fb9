"""Streams that nobody should send: too long, in another format, with ids twice and counts that make no sense.
Each is a clear failure or a repaired answer, in every format."""

from typing import Any

import msgspec
import pytest

from holdfast.core.errors import AttemptFailed
from holdfast.core.parts import ToolCall
from holdfast.providers.assemble import AnswerLimits
from holdfast.providers.wire import StreamLimits
from tests.providers.calling import ask, model_at, request, text_of
from tests.providers.replies import Call, Raw, Reply, Say, fails, same_id_twice
from tests.providers.server import ProviderServer

FORMATS = ("anthropic", "openai", "responses", "google")
EVERY = pytest.mark.parametrize("family", FORMATS)


@EVERY
async def test_an_endless_answer_ends_at_the_limit(server: ProviderServer, family: str) -> None:
    server.queue(Reply(content=(Say("x" * 3_000_000),), piece=10_000))
    async with model_at(server, family) as model:
        answer = await ask(model.adapter, request(model), limits=AnswerLimits(characters=100_000))
    assert answer.stop_reason == "length"
    assert len(text_of(answer)) <= 100_000


@EVERY
async def test_a_stream_that_is_too_large_is_cut(server: ProviderServer, family: str) -> None:
    server.queue(Reply(content=(Say("x" * 3_000_000),), piece=10_000))
    async with model_at(server, family, limits=StreamLimits(stream_bytes=500_000)) as model:
        with pytest.raises(AttemptFailed) as raised:
            await ask(model.adapter, request(model))
    assert "more than an answer can hold" in raised.value.failure.message


@EVERY
@pytest.mark.parametrize(
    "usage",
    [
        {"input": -5, "output": -7},
        {"input": 10**18, "output": 10**18},
        {"input": 10, "output": 5, "cache_read": 10**6, "reasoning": 10**6},
        {"input": 1.5e300, "output": "many"},
    ],
    ids=str,
)
async def test_absurd_counts(server: ProviderServer, family: str, usage: dict[str, Any]) -> None:
    server.queue(Reply(content=(Say("Fine."),), usage=usage))
    async with model_at(server, family) as model:
        answer = await ask(model.adapter, request(model))
    counted = answer.usage
    assert text_of(answer) == "Fine."
    assert all(0 <= one <= 100_000_000 for one in (counted.input, counted.output, counted.reasoning))
    assert counted.cache_read + counted.cache_write <= counted.input
    assert counted.reasoning <= counted.output


@EVERY
async def test_ids_that_are_used_twice(server: ProviderServer, family: str) -> None:
    server.queue(same_id_twice())
    async with model_at(server, family) as model:
        answer = await ask(model.adapter, request(model))
    calls = [part for part in answer.parts if isinstance(part, ToolCall)]
    assert [call.input for call in calls] == [{"n": 1}, {"n": 2}]
    assert len({call.call_id for call in calls}) == 2


# How each format says hello.
BEGINNINGS: dict[str, Any] = {
    "openai": {"id": "c", "choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]},
    "anthropic": {"type": "message_start", "message": {"id": "m", "model": "m", "usage": {}}},
    "responses": {"type": "response.created", "response": {"id": "r"}},
    "google": {"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]},
}


@pytest.mark.parametrize("asked", FORMATS)
@pytest.mark.parametrize("answered", FORMATS)
async def test_an_answer_in_another_format(server: ProviderServer, asked: str, answered: str) -> None:
    if asked == answered:
        return
    data = msgspec.json.encode(BEGINNINGS[answered]).decode()
    server.queue(fails(Raw(f"data: {data}\n\ndata: [DONE]\n\n")))
    async with model_at(server, asked) as model:
        with pytest.raises(AttemptFailed) as raised:
            await ask(model.adapter, request(model))
    failure = raised.value.failure
    assert failure.kind == "config", failure
    assert not failure.retryable
    assert "format" in failure.message


@EVERY
async def test_an_answer_in_one_piece(server: ProviderServer, family: str) -> None:
    from tests.providers.replies import Status

    whole: dict[str, Any] = {
        "openai": {"choices": []},
        "anthropic": {"content": []},
        "responses": {"output": []},
    }
    body = msgspec.json.encode(whole.get(family, {"candidates": []})).decode()
    server.queue(fails(Status(200, body)))
    async with model_at(server, family) as model:
        with pytest.raises(AttemptFailed) as raised:
            await ask(model.adapter, request(model))
    assert "in one piece" in raised.value.failure.message


@EVERY
async def test_a_call_with_input_that_is_no_json(server: ProviderServer, family: str) -> None:
    if family == "google":
        return  # its calls come as JSON
    server.queue(Reply(content=(Call("note", '{"n": oops'),)))
    async with model_at(server, family) as model:
        answer = await ask(model.adapter, request(model))
    (call,) = answer.parts
    assert isinstance(call, ToolCall)
    assert call.input == {"invalid_json": '{"n": oops'}


@pytest.mark.slow
@EVERY
async def test_a_hundred_megabytes(server: ProviderServer, family: str) -> None:
    server.queue(Reply(content=(Say("x" * 100_000_000),), piece=1_000_000))
    async with model_at(server, family) as model:
        answer = await ask(model.adapter, request(model))
    assert answer.stop_reason == "length"
    assert len(text_of(answer)) <= 8 * 1024 * 1024
