"""Our adapters beside pydantic-ai and the providers' own libraries, on the same streams: the same text,
reasoning, calls, counts and end. That the libraries read them shows that the scripted provider speaks no
dialect of its own."""

from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from holdfast.core.parts import Reasoning, Text, ToolCall
from holdfast.providers.assemble import ModelAnswer
from tests.providers.calling import KEY, ask, model_at, request
from tests.providers.replies import Call, Reply, Say, Think
from tests.providers.server import ProviderServer

# Warnings that Google's library causes by itself.
pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings("ignore:invalid escape sequence"),
    pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession"),
]

FORMATS = ("anthropic", "openai", "responses", "google")
MODELS = {"anthropic": "claude-sonnet-5", "google": "gemini-3.8-flash"}
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
    "cut": Reply(content=(Say("Half of it"),), stop="length", usage={"input": 5, "output": 3}),
}
# As each format names the end of an answer that was cut.
CUT = {"anthropic": "max_tokens", "openai": "length", "responses": "length", "google": "length"}


def reply_of(name: str, family: str) -> Reply:
    import msgspec

    reply = REPLIES[name]
    return msgspec.structs.replace(reply, stop=CUT[family]) if reply.stop else reply


def ours(answer: ModelAnswer) -> dict[str, Any]:
    calls = [part for part in answer.parts if isinstance(part, ToolCall)]
    usage = answer.usage
    return {
        "text": "".join(part.text for part in answer.parts if isinstance(part, Text)),
        "reasoning": "".join(part.text for part in answer.parts if isinstance(part, Reasoning)),
        "calls": [(call.name, call.input, _provider_id(call)) for call in calls],
        "usage": (usage.input, usage.output, usage.cache_read, usage.cache_write),
        "stop": answer.stop_reason,
    }


def _provider_id(call: ToolCall) -> object:
    return cast(dict[str, Any], call.provider_data).get("id")


async def by_pydantic_ai(server: ProviderServer, family: str) -> dict[str, Any]:
    import httpx2
    from pydantic_ai.direct import model_request_stream
    from pydantic_ai.messages import ModelRequest
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.anthropic import AnthropicProvider
    from pydantic_ai.providers.google import GoogleProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    url, name = server.base_url(family), MODELS.get(family, "test-model")
    async with httpx2.AsyncClient(timeout=60) as client:
        match family:
            case "anthropic":
                given = AnthropicProvider(api_key=KEY, base_url=url, http_client=client)
                model = AnthropicModel(name, provider=given)
            case "google":
                # The library adds the version to the address itself.
                root = url.removesuffix("/v1beta")
                model = GoogleModel(
                    name, provider=GoogleProvider(api_key=KEY, base_url=root, http_client=client)
                )
            case _:
                kind = OpenAIResponsesModel if family == "responses" else OpenAIChatModel
                model = kind(name, provider=OpenAIProvider(api_key=KEY, base_url=url, http_client=client))
        async with model_request_stream(
            model,
            [ModelRequest.user_text_prompt("Hello")],
            model_request_parameters=ModelRequestParameters(),
        ) as stream:
            async for _ in stream:
                pass
            response = stream.get()
    usage = response.usage
    # Where the format has no word of its own for it, a call is the reason.
    calls = response.tool_calls
    stop = (
        "tool_calls" if calls and response.finish_reason in ("stop", "tool_call") else response.finish_reason
    )
    return {
        "text": response.text or "",
        "reasoning": response.thinking or "",
        "calls": [(call.tool_name, call.args_as_dict(), call.tool_call_id) for call in calls],
        "usage": (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens),
        "stop": stop,
    }


async def by_openai_chat(server: ProviderServer) -> dict[str, Any]:
    import json

    from openai import AsyncOpenAI

    async with AsyncOpenAI(api_key=KEY, base_url=server.base_url("openai"), max_retries=0) as client:
        stream = await client.chat.completions.create(
            model="test-model",
            messages=[{"role": "user", "content": "Hello"}],
            stream=True,
            stream_options={"include_usage": True},
        )
        text, calls, stop, usage = "", cast(dict[int, list[str]], {}), None, None
        async for chunk in stream:
            usage = chunk.usage or usage
            for choice in chunk.choices:
                text += choice.delta.content or ""
                stop = choice.finish_reason or stop
                for call in choice.delta.tool_calls or []:
                    known = calls.setdefault(call.index, ["", "", ""])
                    assert call.function is not None
                    known[0] += call.function.name or ""
                    known[1] += call.function.arguments or ""
                    known[2] = call.id or known[2]
    assert usage is not None
    details = usage.prompt_tokens_details
    return {
        "text": text,
        "calls": [(name, json.loads(given or "{}"), own) for name, given, own in calls.values()],
        "usage": (usage.prompt_tokens, usage.completion_tokens, (details and details.cached_tokens) or 0),
        "stop": stop,
    }


async def by_openai_responses(server: ProviderServer) -> dict[str, Any]:
    import json

    from openai import AsyncOpenAI
    from openai.types.responses import ResponseCompletedEvent, ResponseIncompleteEvent

    async with AsyncOpenAI(api_key=KEY, base_url=server.base_url("responses"), max_retries=0) as client:
        stream = await client.responses.create(model="test-model", input="Hello", stream=True)
        events = [event async for event in stream]
    assert events[0].type == "response.created"
    last = events[-1]
    assert isinstance(last, ResponseCompletedEvent | ResponseIncompleteEvent)
    response = last.response
    said = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert said == response.output_text
    calls = [item for item in response.output if item.type == "function_call"]
    thoughts = [item for item in response.output if item.type == "reasoning"]
    usage = response.usage
    assert usage is not None
    cut = response.incomplete_details
    return {
        "text": response.output_text,
        "reasoning": "".join(one.text for item in thoughts for one in item.summary),
        "calls": [(call.name, json.loads(call.arguments), call.call_id) for call in calls],
        "usage": (usage.input_tokens, usage.output_tokens, usage.input_tokens_details.cached_tokens),
        "stop": "length" if cut is not None else "tool_calls" if calls else "stop",
    }


async def by_anthropic(server: ProviderServer) -> dict[str, Any]:
    from anthropic import AsyncAnthropic

    stops = {"end_turn": "stop", "max_tokens": "length", "tool_use": "tool_calls"}
    async with (
        AsyncAnthropic(api_key=KEY, base_url=server.base_url("anthropic"), max_retries=0) as client,
        client.messages.stream(
            model="claude-sonnet-5", max_tokens=1000, messages=[{"role": "user", "content": "Hello"}]
        ) as stream,
    ):
        message = await stream.get_final_message()
    usage = message.usage
    read, write = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    return {
        "text": "".join(block.text for block in message.content if block.type == "text"),
        "reasoning": "".join(block.thinking for block in message.content if block.type == "thinking"),
        "calls": [
            (block.name, block.input, block.id) for block in message.content if block.type == "tool_use"
        ],
        "usage": (usage.input_tokens + read + write, usage.output_tokens, read),
        "stop": stops[message.stop_reason or ""],
    }


async def by_google(server: ProviderServer) -> dict[str, Any]:
    from google.genai import Client
    from google.genai.types import HttpOptions

    client = Client(api_key=KEY, http_options=HttpOptions(base_url=f"{server.url}/google"))
    text, thoughts, calls, stop, usage = "", "", cast(list[Any], []), None, None
    async with client.aio as aio:
        stream = await aio.models.generate_content_stream(model="gemini-3.8-flash", contents="Hello")
        async for chunk in stream:
            usage = chunk.usage_metadata or usage
            candidate = (chunk.candidates or [])[0]
            stop = candidate.finish_reason or stop
            for part in (candidate.content.parts if candidate.content else None) or []:
                if part.function_call is not None:
                    call = part.function_call
                    calls.append((call.name, call.args or {}, call.id))
                elif part.thought:
                    thoughts += part.text or ""
                else:
                    text += part.text or ""
    assert usage is not None
    assert stop is not None
    written = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
    stops = {"STOP": "tool_calls" if calls else "stop", "MAX_TOKENS": "length"}
    return {
        "text": text,
        "reasoning": thoughts,
        "calls": calls,
        "usage": (usage.prompt_token_count, written, usage.cached_content_token_count or 0),
        "stop": stops[stop.value],
    }


OFFICIAL: dict[str, Callable[[ProviderServer], Awaitable[dict[str, Any]]]] = {
    "anthropic": by_anthropic,
    "openai": by_openai_chat,
    "responses": by_openai_responses,
    "google": by_google,
}


@pytest.mark.parametrize("family", FORMATS)
@pytest.mark.parametrize("name", REPLIES)
async def test_all_read_the_same(server: ProviderServer, family: str, name: str) -> None:
    reply = reply_of(name, family)
    server.queue(reply, reply, reply)
    async with model_at(server, family) as model:
        found = ours(await ask(model.adapter, request(model, tools=())))
    assert found == await by_pydantic_ai(server, family)
    official = await OFFICIAL[family](server)
    assert {**official, "usage": (*official["usage"], found["usage"][3])} == {
        name: value for name, value in found.items() if name in official
    }
    assert server.refusals == []
