"""Answers put together: ids of our own, limits, and what is kept of an answer that was interrupted."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from holdfast.core.ids import CallId, is_call_id
from holdfast.core.parts import Reasoning, Text, ToolCall, ToolCallDelta
from holdfast.core.usage import Usage
from holdfast.providers.assemble import AnswerLimits, Assembler
from holdfast.providers.input_repair import invalid_input
from holdfast.providers.interface import (
    Event,
    Finished,
    ReasoningDelta,
    ReasoningEnd,
    ReportedUsage,
    TextDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolCallText,
)
from tests.providers.calling import ask, assistant, model_at, numbered_ids, request, results
from tests.providers.histories import answered
from tests.providers.replies import Call, Reply, Say, call, many_calls, same_id_twice, say
from tests.providers.server import ProviderServer

STOP = Finished("stop", "r1", "m")


def assembled(*events: Event, limits: AnswerLimits | None = None) -> Assembler:
    assembler = Assembler(numbered_ids(), limits)
    for event in events:
        assembler.add(event)
    return assembler


def test_deltas_of_one_kind_are_one_part() -> None:
    answer = assembled(
        ReasoningDelta("a"),
        ReasoningDelta("b"),
        ReasoningEnd({"kind": "x"}),
        TextDelta("c"),
        TextDelta("d"),
        ReportedUsage(Usage(input=3)),
        STOP,
    ).answer()
    assert answer.parts == (Reasoning(text="ab", title="ab", provider_data={"kind": "x"}), Text(text="cd"))
    assert (answer.usage.input, answer.response_id, answer.model) == (3, "r1", "m")


def test_reasoning_is_dated_where_there_is_a_clock() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    ticks = (start + timedelta(seconds=number) for number in range(9))
    assembler = Assembler(numbered_ids(), now=lambda: next(ticks))
    for event in (ReasoningDelta("a"), ReasoningDelta("b"), TextDelta("c"), ReasoningDelta("d"), STOP):
        assembler.add(event)
    first, _, second = assembler.answer().parts
    assert first == Reasoning(
        text="ab", title="ab", started_at=start, finished_at=start + timedelta(seconds=1)
    )
    assert isinstance(second, Reasoning)
    assert second.finished_at == start + timedelta(seconds=3)


def test_live_parts_of_a_call_name_it_from_the_start() -> None:
    assembler = Assembler(numbered_ids())
    named = ToolCallDelta(call_id=CallId("our_1"), name="note", text="")
    assert assembler.add(ToolCallStart(0, "note", "p", "x")) == named
    assert assembler.add(ToolCallText(0, "{")) == structs.replace(named, text="{")


@pytest.mark.parametrize("family", ["anthropic", "openai", "ollama"])
async def test_the_same_id_twice_is_two_calls(server: ProviderServer, family: str) -> None:
    server.queue(same_id_twice(), say("Done."))
    async with model_at(server, family) as model:
        answer = await ask(model.adapter, request(model))
        calls = [part for part in answer.parts if isinstance(part, ToolCall)]
        if family != "ollama":
            # There an index and an id that repeat can only be the same call.
            assert [call.call_id for call in calls] == ["our_1", "our_2"]
        history = (
            assistant(*answer.parts),
            results(*(answered(call.call_id, call.name, "ok") for call in calls)),
        )
        await ask(model.adapter, request(model, *request(model).messages, *history))
    assert server.refusals == []


@pytest.mark.parametrize("family", ["anthropic", "openai"])
async def test_five_hundred_calls_at_once(server: ProviderServer, family: str) -> None:
    server.queue(many_calls(500))
    async with model_at(server, family) as model:
        answer = await ask(model.adapter, request(model))
    calls = [part for part in answer.parts if isinstance(part, ToolCall)]
    assert [call.input for call in calls] == [{"n": n} for n in range(500)]
    assert len({call.call_id for call in calls}) == 500
    assert all(is_call_id(call.call_id) for call in calls)


async def test_more_calls_than_the_limit_end_the_answer(server: ProviderServer) -> None:
    server.queue(many_calls(50))
    async with model_at(server, "openai") as model:
        answer = await ask(model.adapter, request(model), limits=AnswerLimits(calls=10))
    assert len(answer.parts) == 10
    assert answer.stop_reason == "length"


async def test_an_answer_that_never_ends_is_cut(server: ProviderServer) -> None:
    server.queue(say("word " * 20_000, piece=1000))
    async with model_at(server, "anthropic") as model:
        answer = await ask(model.adapter, request(model), limits=AnswerLimits(characters=5000))
    (text,) = answer.parts
    assert isinstance(text, Text)
    assert len(text.text) <= 5000
    assert answer.stop_reason == "length"


def test_too_many_parts_end_the_answer() -> None:
    events = [event for _ in range(50) for event in (TextDelta("a"), ReasoningDelta("b"))]
    assembler = assembled(*events, limits=AnswerLimits(parts=10))
    assert assembler.full
    assert len(assembler.answer().parts) == 10


@pytest.mark.parametrize("family", ["anthropic", "openai"])
@pytest.mark.parametrize("written", ['{"path": "a', "not json", "[1]", '{"n": 1e999}'])
async def test_input_that_cannot_be_read_is_kept_and_marked(
    server: ProviderServer, family: str, written: str
) -> None:
    server.queue(call("note", written), say("Sorry."))
    async with model_at(server, family) as model:
        answer = await ask(model.adapter, request(model))
        (made,) = answer.parts
        assert isinstance(made, ToolCall)
        assert invalid_input(made)
        assert made.input == {"invalid_json": written}
        history = (assistant(made), results(answered("our_1", "note", "not JSON", outcome="failed")))
        await ask(model.adapter, request(model, *request(model).messages, *history))
    assert server.refusals == []


@pytest.mark.parametrize("family, stop", [("anthropic", "max_tokens"), ("openai", "length")])
async def test_a_call_cut_at_the_limit_is_not_completed(
    server: ProviderServer, family: str, stop: str
) -> None:
    server.queue(
        Reply(content=(Call("note", {"n": 1}), Call("edit", '{"edits": [{"path": "a"}')), stop=stop),
    )
    async with model_at(server, family) as model:
        answer = await ask(model.adapter, request(model))
    first, second = answer.parts
    assert isinstance(first, ToolCall)
    assert isinstance(second, ToolCall)
    assert invalid_input(first) is None
    assert "limit" in (invalid_input(second) or "")
    assert answer.stop_reason == "length"


async def test_a_name_of_thirty_kilobytes(server: ProviderServer) -> None:
    server.queue(call("x" * 30_000), say("Done."))
    async with model_at(server, "openai") as model:
        answer = await ask(model.adapter, request(model))
        (made,) = answer.parts
        assert isinstance(made, ToolCall)
        assert len(made.name) == 200
        history = (assistant(made), results(answered("our_1", made.name, "no such tool")))
        await ask(model.adapter, request(model, *request(model).messages, *history))
    assert server.refusals == []


# Interrupts


def test_an_interrupted_answer_keeps_text_and_whole_calls() -> None:
    answer = assembled(
        ReasoningDelta("Hm"),
        TextDelta("I will"),
        ToolCallStart(0, "a", "p", "x"),
        ToolCallText(0, '{"n": 1}'),
        ToolCallEnd(0),
        ToolCallStart(1, "b", "q", "x"),
        ToolCallText(1, '{"n": 2}'),
    ).partial()
    reasoning, text, made = answer.parts
    assert reasoning == Reasoning(text="Hm", title="Hm")
    assert text == Text(text="I will")
    assert isinstance(made, ToolCall)
    assert made.name == "a"


def test_an_interrupted_call_that_only_seemed_whole_is_dropped() -> None:
    """Pieces of two calls in turn: the second began, but the first was not over."""
    answer = assembled(
        ToolCallStart(0, "a", "p", "x"),
        ToolCallText(0, '{"n": "half'),
        ToolCallEnd(0),
        ToolCallStart(1, "b", "q", "x"),
    ).partial()
    assert answer.parts == ()


async def test_text_that_is_not_interrupted_by_whitespace_parts(server: ProviderServer) -> None:
    server.queue(Reply(content=(Say("\n\n"), Call("note"), Say("Done."))))
    async with model_at(server, "anthropic") as model:
        answer = await ask(model.adapter, request(model))
    assert [type(part) for part in answer.parts] == [ToolCall, Text]
