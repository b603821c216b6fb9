"""Our adapters beside pydantic-ai, on the same streams: the same text, reasoning, calls and counts."""

from typing import Any

import pytest

from holdfast.core.parts import Reasoning, Text, ToolCall
from holdfast.providers.assemble import ModelAnswer
from tests.providers.calling import KEY, ask, model_at, request
from tests.providers.replies import Call, Reply, Say, Think
from tests.providers.server import ProviderServer

pytestmark = pytest.mark.heavy

REPLIES = {
    "text": Reply(content=(Say("Hello, wörld! ✓ 🌊"),), usage={"input": 10, "output": 4}),
    "slices": Reply(content=(Say("One letter at a time."),), piece=1, usage={"input": 10, "output": 4}),
    "calls": Reply(
        content=(Say("Both:"), Call("note", {"n": 1}, "call_a"), Call("look", {"path": "a/b"}, "call_b")),
        usage={"input": 100, "output": 30, "cache_read": 60},
        piece=2,
    ),
    "thinking": Reply(
        content=(Think("Step by step."), Say("Done.")),
        usage={"input": 500, "output": 40, "cache_read": 0, "reasoning": 25},
    ),
    "empty_input": Reply(content=(Call("note", {}, "call_a"),), usage={"input": 1, "output": 1}),
    "cached": Reply(
        content=(Say("Hi"),), usage={"input": 1000, "output": 2, "cache_read": 700, "cache_write": 200}
    ),
}


async def theirs(server: ProviderServer, family: str) -> dict[str, Any]:
    import httpx2
    from pydantic_ai.direct import model_request_stream
    from pydantic_ai.messages import ModelRequest
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.anthropic import AnthropicProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    url = server.base_url(family)
    async with httpx2.AsyncClient() as client:
        model = (
            AnthropicModel(
                "claude-sonnet-5", provider=AnthropicProvider(api_key=KEY, base_url=url, http_client=client)
            )
            if family == "anthropic"
            else OpenAIChatModel(
                "test-model", provider=OpenAIProvider(api_key=KEY, base_url=url, http_client=client)
            )
        )
        async with model_request_stream(
            model,
            [ModelRequest.user_text_prompt("Hello")],
            model_request_parameters=ModelRequestParameters(),
        ) as stream:
            async for _ in stream:
                pass
            response = stream.get()
    usage = response.usage
    return {
        "text": response.text or "",
        "reasoning": response.thinking or "",
        "calls": [(call.tool_name, call.args_as_dict(), call.tool_call_id) for call in response.tool_calls],
        "usage": (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens),
    }


def ours(answer: ModelAnswer) -> dict[str, Any]:
    calls = [part for part in answer.parts if isinstance(part, ToolCall)]
    usage = answer.usage
    return {
        "text": "".join(part.text for part in answer.parts if isinstance(part, Text)),
        "reasoning": "".join(part.text for part in answer.parts if isinstance(part, Reasoning)),
        "calls": [(call.name, call.input, _provider_id(call)) for call in calls],
        "usage": (usage.input, usage.output, usage.cache_read, usage.cache_write),
    }


def _provider_id(call: ToolCall) -> object:
    return call.provider_data.get("id") if isinstance(call.provider_data, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


@pytest.mark.parametrize("family", ["anthropic", "openai"])
@pytest.mark.parametrize("name", REPLIES)
async def test_the_same_answer(server: ProviderServer, family: str, name: str) -> None:
    server.queue(REPLIES[name], REPLIES[name])
    async with model_at(server, family) as model:
        found = ours(await ask(model.adapter, request(model, tools=())))
    expected = await theirs(server, family)
    assert found == expected
    assert server.refusals == []
