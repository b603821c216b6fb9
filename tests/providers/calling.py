"""Short ways for tests to call a model: a registry on the scripted server, a request, the assembled
answer."""

import itertools
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import msgspec
from aiohttp import ClientSession

from holdfast.core.ids import CallId
from holdfast.core.parts import LivePart, Part, Text
from holdfast.providers.assemble import AnswerLimits, Assembler, ModelAnswer
from holdfast.providers.configs import ModelConfig, ProviderConfig
from holdfast.providers.failures import Endpoint
from holdfast.providers.families import FAMILIES
from holdfast.providers.interface import Adapter, ModelRequest, PromptMessage, ToolSpec
from holdfast.providers.openai import OpenAIFormat
from holdfast.providers.redact import Redactor
from holdfast.providers.registry import Model, ModelRegistry, complete
from holdfast.providers.transport import HttpAdapter
from holdfast.providers.wire import StreamLimits
from tests.providers.server import ProviderServer

KEY = "sk-test-0123456789abcdef"
NOTE = ToolSpec(
    name="note",
    description="Writes a note.",
    input_schema={"type": "object", "properties": {"n": {"type": "integer"}}},
)


@asynccontextmanager
async def model_at(
    server: ProviderServer,
    family: str,
    *,
    model: str | None = None,
    limits: StreamLimits | None = None,
    url: str | None = None,
    **config: Any,
) -> AsyncGenerator[Model]:
    """A model of this family whose provider is the scripted server."""
    names = {"anthropic": "claude-sonnet-5", "google": "gemini-3.8-flash"}
    name = model or names.get(family, "test-model")
    kind = "openai" if family in ("compatible", "openai", "responses") else family
    provider = ProviderConfig(
        name="here",
        kind=kind,
        base_url=url or server.base_url(family),
        api_key=KEY,
        api="responses" if family == "responses" else "chat",
    )
    chosen = ModelConfig(name="default", provider="here", model=name, **config)
    async with ModelRegistry(complete([provider], [chosen], {}), environ={}, limits=limits) as registry:
        found = registry.resolve(None)
        if family != "openai":
            yield found
            return
    # OpenAI itself is known by its address, which is not that of the scripted server.
    endpoint = Endpoint(
        provider="here", url=server.base_url(family), key_place="KEY", redactor=Redactor([KEY])
    )
    async with ClientSession() as session:
        adapter = HttpAdapter(
            session,
            OpenAIFormat(FAMILIES["openai"]),
            endpoint,
            key=KEY,
            limits=limits or StreamLimits(),
            environ={},
        )
        yield msgspec.structs.replace(found, adapter=adapter)


def user(*parts: Part | str) -> PromptMessage:
    return PromptMessage(role="user", parts=_parts(parts))


def assistant(*parts: Part | str) -> PromptMessage:
    return PromptMessage(role="assistant", parts=_parts(parts))


def results(*parts: Part) -> PromptMessage:
    return PromptMessage(role="tool", parts=parts)


def _parts(parts: tuple[Part | str, ...]) -> tuple[Part, ...]:
    return tuple(Text(text=part) if isinstance(part, str) else part for part in parts)


def request(model: Model, *messages: PromptMessage, **more: Any) -> ModelRequest:
    given: dict[str, Any] = {"tools": (NOTE,), **more}
    return ModelRequest(model=model.config, messages=messages or (user("Hello"),), **given)


def numbered_ids() -> Callable[[], CallId]:
    count = itertools.count(1)
    return lambda: CallId(f"our_{next(count)}")


async def ask(
    adapter: Adapter,
    asked: ModelRequest,
    *,
    live: list[LivePart] | None = None,
    limits: AnswerLimits | None = None,
    new_call_id: Callable[[], CallId] | None = None,
) -> ModelAnswer:
    assembler = Assembler(new_call_id or numbered_ids(), limits)
    async with aclosing(adapter.stream(asked)) as events:
        async for event in events:
            part = assembler.add(event)
            if part is not None and live is not None:
                live.append(part)
            if assembler.full:
                break
    return assembler.answer()


def text_of(answer: ModelAnswer) -> str:
    return "".join(part.text for part in answer.parts if isinstance(part, Text))
