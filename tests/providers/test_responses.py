"""The OpenAI responses format: items, reasoning that goes back, and chains of responses with all that breaks
them."""

from typing import Any

import msgspec
import pytest

from holdfast.core.errors import AttemptFailed
from holdfast.core.parts import Part, Reasoning, Source, Text, ToolCall, ToolResult
from holdfast.providers.assemble import Assembler, ModelAnswer
from holdfast.providers.failures import Endpoint
from holdfast.providers.interface import PromptMessage
from holdfast.providers.redact import Redactor
from holdfast.providers.registry import Model
from holdfast.providers.responses import ResponsesReading
from tests.providers.calling import ask, assistant, model_at, numbered_ids, request, results, text_of, user
from tests.providers.histories import answered
from tests.providers.replies import (
    Call,
    ErrorEvent,
    Redacted,
    Refuse,
    Reply,
    RunCode,
    Say,
    Search,
    Think,
    fails,
    say,
)
from tests.providers.server import ProviderServer


async def test_everything_an_answer_may_hold(server: ProviderServer) -> None:
    server.queue(
        Reply(
            content=(
                Think("**Plan**\n\nLook."),
                Say("Both:"),
                Call("note", {"n": 1}),
                Call("note", {"n": 2}),
            ),
            usage={"input": 90, "output": 30, "cache_read": 60, "reasoning": 9},
            piece=3,
        )
    )
    async with model_at(server, "responses", efforts=("low", "high")) as model:
        answer = await ask(model.adapter, request(model, effort="high", system=("Be brief.",)))
    reasoning, text, first, second = answer.parts
    assert isinstance(reasoning, Reasoning)
    assert (reasoning.title, reasoning.text) == ("Plan", "**Plan**\n\nLook.")
    assert isinstance(text, Text)
    assert [call.input for call in (first, second) if isinstance(call, ToolCall)] == [{"n": 1}, {"n": 2}]
    assert answer.stop_reason == "tool_calls"
    usage = answer.usage
    assert (usage.input, usage.output, usage.cache_read, usage.reasoning) == (90, 30, 60, 9)
    body = server.log[0].body
    assert body["instructions"] == "Be brief."
    assert body["store"] is False
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["reasoning"] == {"effort": "high", "summary": "auto"}


async def test_reasoning_goes_back_word_for_word(server: ProviderServer) -> None:
    server.queue(Reply(content=(Redacted("hidden"), Think("Aloud."), Call("note", {}))), say("Done."))
    async with model_at(server, "responses") as model:
        answer = await ask(model.adapter, request(model))
        call = next(part for part in answer.parts if isinstance(part, ToolCall))
        more = results(answered(call.call_id, "note", "ok"))
        await ask(model.adapter, request(model, user("Hello"), assistant(*answer.parts), more))
    items = server.log[1].body["input"]
    assert [item["type"] for item in items] == [
        *("message", "reasoning", "reasoning", "function_call", "function_call_output")
    ]
    assert all(item["encrypted_content"].startswith("enc-") for item in items[1:3])
    assert server.refusals == []


async def test_reasoning_of_another_provider_stays_here(server: ProviderServer) -> None:
    foreign = Reasoning(text="Mine.", provider_data={"kind": "azure-responses", "item": {"id": "rs_1"}})
    async with model_at(server, "responses") as model:
        await ask(model.adapter, request(model, user("Hi"), assistant(foreign, "Hello"), user("And?")))
    assert [item["type"] for item in server.log[0].body["input"]] == ["message"] * 3


@pytest.mark.parametrize(
    "reply, stop",
    [
        (say("Half an", stop="length"), "length"),
        (say("Half an", stop="content_filter"), "content_filter"),
        (Reply(content=(Refuse("I cannot help with that."),)), "content_filter"),
        (say("Whole."), "stop"),
    ],
)
async def test_why_it_stopped(server: ProviderServer, reply: Reply, stop: str) -> None:
    server.queue(reply)
    async with model_at(server, "responses") as model:
        answer = await ask(model.adapter, request(model))
    assert answer.stop_reason == stop
    assert text_of(answer)


async def test_tools_that_the_provider_runs(server: ProviderServer) -> None:
    server.queue(
        Reply(content=(Search("tides", "https://tides.example/", "Tides"), RunCode("print(2)", "2\n"))),
        say("Yes."),
    )
    async with model_at(server, "responses") as model:
        asked = request(model, provider_tools=("web_search", "code_execution"))
        answer = await ask(model.adapter, asked)
        kinds = [type(part) for part in answer.parts]
        assert kinds == [ToolCall, ToolResult, Text, Source, ToolCall, ToolResult]
        ran = [part for part in answer.parts if isinstance(part, ToolCall)]
        assert [(call.name, call.provider_executed) for call in ran] == [
            ("web_search", True),
            ("code_execution", True),
        ]
        await ask(model.adapter, request(model, user("Hello"), assistant(*answer.parts), user("Sure?")))
    assert [tool["type"] for tool in server.log[0].body["tools"]] == [
        "function",
        "web_search",
        "code_interpreter",
    ]
    again = [item["type"] for item in server.log[1].body["input"]]
    assert again == ["message", "web_search_call", "message", "code_interpreter_call", "message"]
    assert server.refusals == []


# Chains


class Conversation:
    """A chat as the worker would have it: what was said, and the answers to it."""

    def __init__(self, model: Model, key: str = "chat-1") -> None:
        self.model = model
        self.key = key
        self.turn = 0
        self.messages: list[PromptMessage] = []

    async def say(self, text: str) -> ModelAnswer:
        self.turn += 1
        self.messages.append(user(text))
        return await self.step()

    async def answer_calls(self) -> ModelAnswer:
        calls = [part for part in self.messages[-1].parts if isinstance(part, ToolCall)]
        self.messages.append(results(*(answered(call.call_id, call.name, "ok") for call in calls)))
        return await self.step()

    async def step(self) -> ModelAnswer:
        answer = await ask(
            self.model.adapter,
            request(self.model, *self.messages, cache_key=self.key, turn=self.turn),
            new_call_id=_ids,
        )
        self.messages.append(PromptMessage(role="assistant", parts=answer.parts))
        return answer


_ids = numbered_ids()


def previous(server: ProviderServer) -> list[str | None]:
    return [asked.body.get("previous_response_id") for asked in server.log]


def sizes(server: ProviderServer) -> list[int]:
    return [len(asked.body["input"]) for asked in server.log]


async def test_a_chain_sends_only_what_is_new(server: ProviderServer) -> None:
    server.queue(
        Reply(content=(Think("Hm."), Say("Look:"), Call("note", {"n": 1}))), say("Done."), say("Bye.")
    )
    async with model_at(server, "responses", chain=True) as model:
        chat = Conversation(model)
        await chat.say("Hello")
        await chat.answer_calls()
        await chat.say("Thanks")
    assert previous(server) == [None, "resp_000000", "resp_000001"]
    assert sizes(server) == [1, 1, 1]
    assert all(asked.body["store"] is True for asked in server.log)
    assert server.refusals == []


async def test_an_unknown_response_is_answered_by_the_whole_conversation(server: ProviderServer) -> None:
    server.queue(say("One."), Reply(content=(Call("note", {}),)), say("Three."), say("Four."), say("Five."))
    async with model_at(server, "responses", chain=True) as model:
        chat = Conversation(model)
        await chat.say("First")
        server.kept_responses.clear()
        await chat.say("Second")
        assert previous(server) == [None, "resp_000000", None]
        assert sizes(server)[-1] == 3
        # Until the next turn it is not tried again, though there is a response to go on from.
        await chat.answer_calls()
        assert previous(server)[-1] is None
        await chat.say("Third")
        assert previous(server)[-1] == "resp_000003"
    assert [asked.outcome for asked in server.log] == ["answered", "refused", *["answered"] * 3]


async def test_an_unknown_response_inside_the_stream(server: ProviderServer) -> None:
    lost = ErrorEvent(
        "previous_response_not_found", "Previous response with id 'resp_000000' not found.", after=0
    )
    server.queue(say("One."), fails(lost), say("Two."))
    async with model_at(server, "responses", chain=True) as model:
        chat = Conversation(model)
        await chat.say("First")
        assert text_of(await chat.say("Second")) == "Two."
    assert previous(server) == [None, "resp_000000", None]


async def test_only_once(server: ProviderServer) -> None:
    """A provider that complains about a response it was not asked for is not asked for ever."""
    lost = ErrorEvent("server_error", "Previous response with id 'x' not found.", after=0)
    server.queue(say("One."), fails(lost), fails(lost))
    async with model_at(server, "responses", chain=True) as model:
        chat = Conversation(model)
        await chat.say("First")
        with pytest.raises(AttemptFailed):
            await chat.say("Second")
    assert len(server.log) == 3


@pytest.mark.parametrize("how", ["edit", "compaction", "fork", "model", "interrupted"])
async def test_what_breaks_a_chain(server: ProviderServer, how: str) -> None:
    server.queue(say("One."), say("Two."), say("Three."))
    async with model_at(server, "responses", chain=True) as model:
        chat = Conversation(model)
        await chat.say("First")
        match how:
            case "edit":
                chat.messages = []
            case "compaction":
                chat.messages = [user("A summary of what was said.")]
            case "fork":
                chat.key = "chat-2"
            case "model":
                other = msgspec.structs.replace(model.config, model="other-model")
                chat.model = msgspec.structs.replace(model, config=other)
            case _:
                chat.messages[-1] = assistant("On")
        await chat.say("Second")
    assert previous(server) == [None, None]
    assert server.refusals == []


async def test_titles_and_summaries_are_not_chained(server: ProviderServer) -> None:
    server.queue(say("One."), say("Two."))
    async with model_at(server, "responses", chain=True) as model:
        chat = Conversation(model)
        await chat.say("First")
        messages = (*chat.messages, user("Sum it up."))
        await ask(
            model.adapter,
            request(model, *messages, cache_key="chat-1", turn=1, tools=(), purpose="compaction"),
        )
    assert previous(server) == [None, None]


# Streams that are not as they should be


def read(*events: dict[str, Any]) -> ModelAnswer:
    endpoint = Endpoint(provider="here", url="http://here", key_place="KEY", redactor=Redactor())
    reading = ResponsesReading("openai-responses", "m", endpoint)
    assembler = Assembler(numbered_ids())
    for event in events:
        for made in reading.read(msgspec.json.encode(event)):
            assembler.add(made)
    for made in reading.end():
        assembler.add(made)
    return assembler.answer()


CALL: dict[str, Any] = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "note",
    "arguments": "",
}
DONE: dict[str, Any] = {"type": "response.completed", "response": {"id": "r", "output": []}}


def delta(text: str, index: int = 0) -> dict[str, Any]:
    return {"type": "response.function_call_arguments.delta", "output_index": index, "delta": text}


def added(item: dict[str, Any], index: int = 0) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def ended(item: dict[str, Any], index: int = 0) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def inputs(answer: ModelAnswer) -> list[tuple[str, Any]]:
    return [(part.name, part.input) for part in answer.parts if isinstance(part, ToolCall)]


WHOLE = {**CALL, "arguments": '{"n":12}'}


@pytest.mark.parametrize(
    "events",
    [
        pytest.param((added(CALL), delta('{"n":1'), delta("2}"), ended(WHOLE)), id="as it should be"),
        pytest.param((delta('{"n":1'), added(CALL), delta("2}"), ended(WHOLE)), id="input before its call"),
        pytest.param((added(CALL), delta("2}"), delta('{"n":1'), ended(WHOLE)), id="pieces out of order"),
        pytest.param((added(CALL), ended(WHOLE)), id="no pieces"),
        pytest.param((ended(WHOLE),), id="never begun"),
        pytest.param((added(CALL), delta('{"n":12}')), id="never ended"),
        pytest.param(
            (added(CALL), added(CALL), delta('{"n":12}'), ended(WHOLE), ended(WHOLE)), id="all twice"
        ),
        pytest.param((added(CALL), ended(WHOLE), delta("}}")), id="more after its end"),
        pytest.param((added(CALL), ended({**CALL, "arguments": {"n": 12}})), id="arguments as an object"),
    ],
)
def test_a_call_however_it_comes(events: tuple[dict[str, Any], ...]) -> None:
    assert inputs(read(*events, DONE)) == [("note", {"n": 12})]


def test_an_answer_that_only_the_last_event_holds() -> None:
    message = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Hello"}]}
    answer = read({"type": "response.completed", "response": {"id": "r", "output": [message, WHOLE]}})
    assert text_of(answer) == "Hello"
    assert inputs(answer) == [("note", {"n": 12})]


def test_two_calls_whose_pieces_are_mixed() -> None:
    second = {**CALL, "id": "fc_2", "call_id": "call_2", "name": "look"}
    answer = read(
        added(CALL),
        added(second, 1),
        delta('{"n":', 0),
        delta('{"m":', 1),
        delta("1}", 0),
        delta("2}", 1),
        DONE,
    )
    assert inputs(answer) == [("note", {"n": 1}), ("look", {"m": 2})]


def test_a_call_that_was_cut_is_not_run_as_if_it_were_whole() -> None:
    cut: dict[str, Any] = {"id": "r", "output": [], "incomplete_details": {"reason": "max_output_tokens"}}
    answer = read(added(CALL), delta('{"n":1'), {"type": "response.incomplete", "response": cut})
    ((_, given),) = inputs(answer)
    assert given == {"invalid_json": '{"n":1'}


def test_several_summaries_are_paragraphs() -> None:
    def summary(text: str, index: int) -> dict[str, Any]:
        kind = "response.reasoning_summary_text.delta"
        return {"type": kind, "output_index": 0, "summary_index": index, "delta": text}

    item: dict[str, Any] = {"type": "reasoning", "id": "rs", "summary": []}
    answer = read(added(item), summary("One", 0), summary(".", 0), summary("Two.", 1), ended(item), DONE)
    parts: tuple[Part, ...] = answer.parts
    assert [part.text for part in parts if isinstance(part, Reasoning)] == ["One.\n\nTwo."]


def test_the_phase_of_a_text_goes_back_with_it() -> None:
    message: dict[str, Any] = {"type": "message", "id": "m", "phase": "commentary", "content": []}
    said = {"type": "response.output_text.delta", "output_index": 0, "delta": "I look."}
    (text,) = read(added(message), said, ended(message), DONE).parts
    assert isinstance(text, Text)
    assert text.provider_data == {"kind": "openai-responses", "phase": "commentary"}


@pytest.mark.parametrize(
    "event, kind",
    [
        ({"type": "error", "code": "rate_limit_exceeded", "message": "slow down"}, "rate_limit"),
        ({"type": "error", "error": {"type": "server_error", "message": "oops"}}, "server"),
        (
            {"type": "response.failed", "response": {"error": {"code": "server_error", "message": "x"}}},
            "server",
        ),
        ({"type": "response.cancelled", "response": {}}, "server"),
        ({"choices": [{"delta": {"content": "Hi"}}]}, "config"),
    ],
)
def test_failures_inside_the_stream(event: dict[str, Any], kind: str) -> None:
    with pytest.raises(AttemptFailed) as raised:
        read(event)
    assert raised.value.failure.kind == kind
