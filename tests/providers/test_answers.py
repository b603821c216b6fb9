"""Whole answers of every family over real HTTP, and the strange but legal ways in which they stream."""

from typing import Any

import msgspec
import pytest

from holdfast.core.errors import AttemptFailed
from holdfast.core.parts import (
    LivePart,
    Reasoning,
    Source,
    Text,
    ToolCall,
    ToolCallDelta,
    ToolResult,
)
from holdfast.providers.assemble import Assembler
from holdfast.providers.failures import Endpoint
from holdfast.providers.interface import Finished, TextDelta
from holdfast.providers.openai import OpenAIReading
from holdfast.providers.redact import Redactor
from tests.providers.calling import ask, assistant, model_at, numbered_ids, request, results, text_of, user
from tests.providers.histories import answered
from tests.providers.replies import Call, Raw, Redacted, Reply, Say, Search, Think, call, say
from tests.providers.server import ProviderServer

FAMILIES = [
    "anthropic",
    "openai",
    "deepseek",
    "openrouter",
    "groq",
    "mistral",
    "ollama",
    "vllm",
    "compatible",
]


@pytest.mark.parametrize("family", FAMILIES)
async def test_an_answer_with_everything(server: ProviderServer, family: str) -> None:
    content = (
        Think("Let me see."),
        Say("Looking it up: ünïcode ✓"),
        Call("note", {"n": 1}),
        Call("note", {"n": 2}),
    )
    counts = {"input": 1000, "output": 50, "cache_read": 800, "reasoning": 20}
    server.queue(Reply(content=content, usage=counts, piece=3))
    live: list[LivePart] = []
    async with model_at(server, family) as model:
        answer = await ask(model.adapter, request(model, system=("Be brief.",)), live=live)
    reasoning, text, first, second = answer.parts
    assert isinstance(reasoning, Reasoning)
    assert reasoning.text == "Let me see."
    assert isinstance(text, Text)
    assert text.text == "Looking it up: ünïcode ✓"
    assert isinstance(first, ToolCall)
    assert isinstance(second, ToolCall)
    assert (first.call_id, first.name, first.input) == ("our_1", "note", {"n": 1})
    assert (second.call_id, second.input) == ("our_2", {"n": 2})
    assert answer.stop_reason == "tool_calls"
    assert answer.response_id
    assert answer.usage.input == 1000
    assert answer.usage.cache_read == 800
    assert answer.usage.reasoning == 20
    assert answer.usage.total == 1050
    assert answer.usage.context_used == 1000
    assert "".join(part.text for part in live if isinstance(part, Text)) == text.text
    assert "".join(part.text for part in live if isinstance(part, Reasoning)) == reasoning.text
    pieces = [part.text for part in live if isinstance(part, ToolCallDelta) and part.call_id == "our_2"]
    assert "".join(pieces) == '{"n":2}'
    assert server.refusals == []


@pytest.mark.parametrize("family", FAMILIES)
async def test_a_conversation_with_tools_goes_on(server: ProviderServer, family: str) -> None:
    """What a provider said goes back to it as it wants it: the server refuses anything else."""
    server.queue(Reply(content=(Think("Hm."), Redacted(), Call("note", {"n": 1}))), say("Done."), say("Bye."))
    async with model_at(server, family) as model:
        first = await ask(model.adapter, request(model, user("Go"), effort="high"))
        history = [user("Go"), assistant(*first.parts), results(answered("our_1", "note", "ok"))]
        second = await ask(model.adapter, request(model, *history, effort="high"))
        history += [assistant(*second.parts), user("Thanks")]
        third = await ask(model.adapter, request(model, *history, effort="high"))
    assert (text_of(second), text_of(third)) == ("Done.", "Bye.")
    assert server.refusals == []


async def test_anthropic_thinking_goes_back_with_its_signature_and_sealed_parts(
    server: ProviderServer,
) -> None:
    server.queue(Reply(content=(Think("Hm."), Redacted("sealed"), Call("note"))), say("Done."))
    async with model_at(server, "anthropic") as model:
        first = await ask(model.adapter, request(model, effort="high"))
        history = (user("Hello"), assistant(*first.parts), results(answered("our_1", "note", "ok")))
        await ask(model.adapter, request(model, *history, effort="high"))
    blocks = server.log[1].body["messages"][1]["content"]
    assert [block["type"] for block in blocks] == ["thinking", "redacted_thinking", "tool_use"]
    assert blocks[0]["signature"].startswith("sig-")
    assert blocks[1]["data"] == "sealed"


async def test_anthropic_input_includes_what_was_cached(server: ProviderServer) -> None:
    server.queue(say("Hi", usage={"input": 100, "output": 5, "cache_read": 60, "cache_write": 30}))
    async with model_at(server, "anthropic") as model:
        answer = await ask(model.adapter, request(model))
    usage = answer.usage
    assert (usage.input, usage.cache_read, usage.cache_write, usage.total) == (100, 60, 30, 105)


async def test_a_search_that_the_provider_ran(server: ProviderServer) -> None:
    server.queue(
        Reply(content=(Search("kelp", "https://kelp.example/", "Kelp"), Say("It holds fast."))), say("Yes.")
    )
    async with model_at(server, "anthropic") as model:
        answer = await ask(model.adapter, request(model))
        found, result, text = answer.parts
        assert isinstance(found, ToolCall)
        assert found.provider_executed
        assert found.input == {"query": "kelp"}
        assert isinstance(result, ToolResult)
        assert result.call_id == found.call_id
        assert text == Text(text="It holds fast.")
        assert answer.stop_reason == "stop"
        await ask(model.adapter, request(model, user("Hello"), assistant(*answer.parts), user("Really?")))
    assert server.refusals == []


async def test_openrouter_says_what_it_cost(server: ProviderServer) -> None:
    server.queue(say("Hi"))
    async with model_at(server, "openrouter") as model:
        assert (await ask(model.adapter, request(model))).cost_usd == 0.00125


@pytest.mark.parametrize("family", ["anthropic", "openai"])
@pytest.mark.parametrize(
    "content, kinds",
    [
        ((), []),
        ((Think("Only thinking."),), [Reasoning]),
        ((Say("   \n"),), []),
        ((Call("no_such_tool", {"x": 1}),), [ToolCall]),
    ],
)
async def test_thin_answers(server: ProviderServer, family: str, content: Any, kinds: list[type]) -> None:
    server.queue(Reply(content=content))
    async with model_at(server, family) as model:
        answer = await ask(model.adapter, request(model))
    assert [type(part) for part in answer.parts] == kinds


@pytest.mark.parametrize("family", ["anthropic", "openai"])
async def test_absurd_counts_are_not_believed(server: ProviderServer, family: str) -> None:
    absurd: list[dict[str, Any]] = [
        {"input": -5, "output": -1},
        {"input": 10**18, "output": 10**18},
        {"input": None, "output": None},
        {"input": "many", "output": 3.5},
        {"input": 10, "output": 5, "cache_read": 99, "reasoning": 77},
    ]
    for counts in absurd:
        server.queue(say("Hi", usage=counts))
    seen: list[tuple[int, ...]] = []
    async with model_at(server, family) as model:
        for _ in absurd:
            usage = (await ask(model.adapter, request(model))).usage
            assert 0 <= usage.cache_read <= usage.input
            assert 0 <= usage.reasoning <= usage.output
            seen.append((usage.input, usage.output))
    assert all(tokens <= 1 for counts in seen[:3] for tokens in counts)


@pytest.mark.parametrize(
    "family, stop, expected",
    [
        ("openai", "length", "length"),
        ("openai", "content_filter", "content_filter"),
        ("openai", "eos_token", "stop"),
        ("anthropic", "max_tokens", "length"),
        ("anthropic", "refusal", "content_filter"),
        ("anthropic", "pause_turn", "pause"),
        ("anthropic", "model_context_window_exceeded", "length"),
        ("anthropic", "something_new", "stop"),
    ],
)
async def test_why_it_stopped(server: ProviderServer, family: str, stop: str, expected: str) -> None:
    server.queue(say("Hi", stop=stop))
    async with model_at(server, family) as model:
        assert (await ask(model.adapter, request(model))).stop_reason == expected


async def test_connections_are_kept_for_the_next_call(server: ProviderServer) -> None:
    async with model_at(server, "anthropic") as model:
        for _ in range(5):
            server.queue(say("Hi"))
            await ask(model.adapter, request(model))
    assert server.connections == 1


# Streams as they come from servers that took liberties with the format


def reading() -> OpenAIReading:
    endpoint = Endpoint(provider="here", url="http://here", key_place="KEY", redactor=Redactor())
    return OpenAIReading("compatible", "m", endpoint)


def read(*deltas: dict[str, Any], finish: str | None = "stop", end: bool = True) -> list[ToolCall | Text]:
    one = reading()
    assembler = Assembler(numbered_ids())
    for delta in (*deltas, {}):
        chunk = {"choices": [{"delta": delta, "finish_reason": finish if delta == {} else None}]}
        for event in one.read(msgspec.json.encode(chunk)):
            assembler.add(event)
    for event in one.end() if end else ():
        assembler.add(event)
    return [part for part in assembler.answer().parts if isinstance(part, (ToolCall, Text))]


def tool_call(**fields: Any) -> dict[str, Any]:
    return {"tool_calls": [fields]}


def inputs(parts: list[ToolCall | Text]) -> list[Any]:
    return [part.input for part in parts if isinstance(part, ToolCall)]


def test_calls_without_index_or_id() -> None:
    parts = read(
        tool_call(function={"name": "a", "arguments": '{"x":'}),
        tool_call(function={"arguments": "1}"}),
        tool_call(function={"name": "b", "arguments": "{}"}),
    )
    assert inputs(parts) == [{"x": 1}, {}]


def test_calls_that_all_have_the_index_zero() -> None:
    parts = read(
        tool_call(index=0, id="p", function={"name": "a", "arguments": '{"x":1}'}),
        tool_call(index=0, id="q", function={"name": "a", "arguments": '{"x":2}'}),
    )
    assert inputs(parts) == [{"x": 1}, {"x": 2}]


def test_name_and_id_repeated_in_each_piece() -> None:
    parts = read(
        tool_call(index=0, id="p", function={"name": "a", "arguments": '{"x"'}),
        tool_call(index=0, id="p", function={"name": "a", "arguments": ":1}"}),
    )
    assert inputs(parts) == [{"x": 1}]


def test_pieces_of_two_calls_in_turn() -> None:
    parts = read(
        tool_call(index=0, id="p", function={"name": "a", "arguments": '{"x"'}),
        tool_call(index=1, id="q", function={"name": "b", "arguments": '{"y"'}),
        tool_call(index=0, function={"arguments": ":1}"}),
        tool_call(index=1, function={"arguments": ":2}"}),
    )
    assert inputs(parts) == [{"x": 1}, {"y": 2}]


def test_arguments_as_an_object() -> None:
    parts = read(tool_call(index=0, id="p", function={"name": "a", "arguments": {"x": 1}}))
    assert inputs(parts) == [{"x": 1}]


def test_an_answer_without_arguments_is_an_empty_object() -> None:
    assert inputs(read(tool_call(index=0, id="p", function={"name": "a"}))) == [{}]


def test_the_same_reasoning_under_two_names_counts_once() -> None:
    one = reading()
    chunk = {"choices": [{"delta": {"reasoning": "x", "reasoning_content": "x"}}]}
    assert len(one.read(msgspec.json.encode(chunk))) == 1


def test_lone_surrogates_and_nul_become_replacement_characters() -> None:
    one = reading()
    assert one.read(b'{"choices":[{"delta":{"content":"a\\ud800b"}}]}') == [TextDelta("a\ufffdb")]
    assert read({"content": "a\0b"}) == [Text(text="a\ufffdb")]


def test_done_without_a_reason_is_an_end() -> None:
    one = reading()
    one.read(b'{"choices":[{"delta":{"content":"a"}}]}')
    one.read(b"[DONE]")
    assert one.done
    assert one.end() == [Finished("stop", None, None)]


async def test_the_user_can_script_the_server_in_the_message(server: ProviderServer) -> None:
    async with model_at(server, "anthropic") as model:
        first = await ask(
            model.adapter, request(model, user('think: hm\ncall: note {"n": 4}\nsay: got {result}'))
        )
        history = (
            user('think: hm\ncall: note {"n": 4}\nsay: got {result}'),
            assistant(*first.parts),
            results(answered("our_1", "note", "pearl")),
        )
        second = await ask(model.adapter, request(model, *history))
    assert inputs([part for part in first.parts if isinstance(part, ToolCall)]) == [{"n": 4}]
    assert text_of(second) == "got pearl"


async def test_sources_come_with_the_text(server: ProviderServer) -> None:
    raw = "".join(
        f"data: {event}\n\n"
        for event in (
            '{"type":"message_start","message":{"id":"m","model":"c","usage":{"input_tokens":1,"output_tokens":1}}}',
            '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
            '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Kelp."}}',
            '{"type":"content_block_delta","index":0,"delta":{"citation":{"url":"https://kelp.example/","title":"Kelp"}}}',
            '{"type":"content_block_stop","index":0}',
            '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}',
            '{"type":"message_stop"}',
        )
    )
    server.queue(Reply(fault=Raw(raw)), call("note"))
    async with model_at(server, "anthropic") as model:
        answer = await ask(model.adapter, request(model))
    assert answer.parts == (Text(text="Kelp."), Source(url="https://kelp.example/", title="Kelp"))


OPENAI_LATE = (
    '{"id":"r","choices":[{"delta":{"content":"Kelp."}}]}',
    '{"id":"r","choices":[{"delta":{"content":" Yes."},"finish_reason":"stop"}]}',
    '{"id":"r","choices":[{"delta":{"content":" And more."}}]}',
    '{"id":"r","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}',
    "[DONE]",
)
ANTHROPIC_LATE = (
    '{"type":"message_start","message":{"id":"m","model":"c","usage":{"input_tokens":7,"output_tokens":1}}}',
    '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Kelp. Yes."}}',
    '{"type":"content_block_stop","index":0}',
    '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}',
    '{"type":"content_block_start","index":1,"content_block":{"type":"text","text":" And"}}',
    '{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":" more."}}',
    '{"type":"message_stop"}',
)


@pytest.mark.parametrize("family, events", [("compatible", OPENAI_LATE), ("anthropic", ANTHROPIC_LATE)])
async def test_what_comes_after_the_end_is_not_part_of_the_answer(
    server: ProviderServer, family: str, events: tuple[str, ...]
) -> None:
    server.queue(Reply(fault=Raw("".join(f"data: {event}\n\n" for event in events))))
    async with model_at(server, family) as model:
        answer = await ask(model.adapter, request(model))
    assert answer.parts == (Text(text="Kelp. Yes."),)
    assert (answer.usage.input, answer.usage.output) == (7, 3)


async def test_an_answer_without_its_last_event_is_a_failed_attempt(server: ProviderServer) -> None:
    events = ANTHROPIC_LATE[:5]
    server.queue(Reply(fault=Raw("".join(f"data: {event}\n\n" for event in events))))
    async with model_at(server, "anthropic") as model:
        with pytest.raises(AttemptFailed) as failed:
            await ask(model.adapter, request(model))
    assert failed.value.failure.kind == "transport"
    assert failed.value.failure.retryable
