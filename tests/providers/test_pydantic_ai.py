"""Models through the library pydantic-ai: the same parts and the same failures as our own adapters."""

import importlib.util
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from holdfast.core.errors import AttemptFailed, InvalidInput
from holdfast.core.parts import Reasoning, Text, ToolCall
from holdfast.providers.configs import ModelConfig, ProviderConfig
from holdfast.providers.registry import Model, ModelRegistry, complete
from holdfast.providers.wire import StreamLimits
from tests.providers.calling import KEY, ask, assistant, model_at, request, results, text_of, user
from tests.providers.histories import answered, rich_history
from tests.providers.replies import Call, Fault, Hang, Reply, Say, Status, Think, fails, say
from tests.providers.server import ProviderServer

pytestmark = pytest.mark.heavy
MODELS = {"anthropic": "anthropic:claude-sonnet-5", "openai": "openai-chat:test-model"}
BOTH = pytest.mark.parametrize("family", list(MODELS))


@asynccontextmanager
async def library_model(
    server: ProviderServer, family: str, limits: StreamLimits | None = None, **more: Any
) -> AsyncGenerator[Model]:
    provider = ProviderConfig(name="other", kind="pydantic-ai", base_url=server.base_url(family), api_key=KEY)
    given: dict[str, Any] = {"model": MODELS[family], **more}
    chosen = ModelConfig(name="default", provider="other", **given)
    async with ModelRegistry(complete([provider], [chosen], {}), environ={}, limits=limits) as registry:
        yield registry.resolve(None)


@BOTH
async def test_the_same_parts_as_ours(server: ProviderServer, family: str) -> None:
    reply = Reply(
        content=(
            Think("Step."),
            Say("Both:"),
            Call("note", {"n": 1}, "call_a"),
            Call("note", {"n": 2}, "call_b"),
        ),
        usage={"input": 100, "output": 30, "cache_read": 60},
        piece=3,
    )
    server.queue(reply, reply)
    async with library_model(server, family) as model:
        theirs = await ask(model.adapter, request(model))
    async with model_at(server, family) as model:
        ours = await ask(model.adapter, request(model))
    for answer in (theirs, ours):
        kinds = [type(part) for part in answer.parts]
        assert kinds == [Reasoning, Text, ToolCall, ToolCall]
    assert text_of(theirs) == text_of(ours)
    assert _calls(theirs.parts) == _calls(ours.parts) == [{"n": 1}, {"n": 2}]
    assert theirs.stop_reason == ours.stop_reason == "tool_calls"
    assert (theirs.usage.input, theirs.usage.output, theirs.usage.cache_read) == (100, 30, 60)
    assert server.refusals == []


def _calls(parts: tuple[Any, ...]) -> list[Any]:
    return [part.input for part in parts if isinstance(part, ToolCall)]


@BOTH
async def test_a_conversation_goes_on(server: ProviderServer, family: str) -> None:
    # The chat format of OpenAI itself shows no thoughts, and takes none back.
    thoughts = (Think("Hm."),) if family == "anthropic" else ()
    server.queue(Reply(content=(*thoughts, Call("note", {"n": 1}))), say("Done."), say("Again."))
    async with library_model(server, family) as model:
        answer = await ask(model.adapter, request(model, system=("Be brief.",)))
        call = next(part for part in answer.parts if isinstance(part, ToolCall))
        history = (user("Hello"), assistant(*answer.parts), results(answered(call.call_id, "note", "ok")))
        assert text_of(await ask(model.adapter, request(model, *history))) == "Done."
        # What another provider left is taken too.
        assert text_of(await ask(model.adapter, request(model, *rich_history("deepseek")))) == "Again."
    assert server.refusals == []


@BOTH
@pytest.mark.parametrize(
    "fault, kind",
    [
        (Status(429), "rate_limit"),
        (Status(529), "overloaded"),
        (Status(500), "server"),
        (Status(401), "auth"),
        (Status(400), "config"),
        (Hang(after_headers=True), "timeout"),
    ],
    ids=str,
)
async def test_the_same_failures(server: ProviderServer, family: str, fault: Fault, kind: str) -> None:
    server.queue(*[fails(fault)] * 3)
    limits = StreamLimits(silence_seconds=1.0) if isinstance(fault, Hang) else None
    async with library_model(server, family, limits) as model:
        with pytest.raises(AttemptFailed) as raised:
            await ask(model.adapter, request(model))
    assert raised.value.failure.kind == kind
    assert KEY not in repr(raised.value.failure)
    assert len(server.log) == 1, "one retry layer, and it is not the library's"


async def test_what_the_library_lacks_is_said(server: ProviderServer) -> None:
    async with library_model(server, "openai", model="nobody:nothing") as model:
        with pytest.raises(AttemptFailed) as raised:
            await ask(model.adapter, request(model))
    assert raised.value.failure.kind == "config"
    assert "nobody:nothing" in raised.value.failure.message


async def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str) -> None:
        assert name == "pydantic_ai"

    monkeypatch.setattr(importlib.util, "find_spec", find)
    provider = ProviderConfig(name="other", kind="pydantic-ai")
    chosen = ModelConfig(name="default", provider="other", model="bedrock:amazon.nova-lite-v1:0")
    async with ModelRegistry(complete([provider], [chosen], {}), environ={}) as registry:
        with pytest.raises(AttemptFailed) as raised:
            registry.resolve(None)
    assert 'pip install "holdfast[pydantic-ai]"' in raised.value.failure.message


def test_a_model_names_its_provider() -> None:
    provider = ProviderConfig(name="other", kind="pydantic-ai")
    chosen = ModelConfig(name="default", provider="other", model="nova-lite")
    with pytest.raises(InvalidInput, match="provider:model"):
        complete([provider], [chosen], {})
