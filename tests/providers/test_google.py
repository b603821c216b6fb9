"""Google's format: calls without ids, signatures that go back, thinking by budget or level, and blocks."""

from typing import Any

import msgspec
import pytest

from holdfast.core.errors import AttemptFailed
from holdfast.core.parts import File, Reasoning, Source, Text, ToolCall, ToolResult
from holdfast.providers.gemini_models import thinking_config
from tests.providers.calling import KEY, ask, assistant, model_at, request, results, text_of, user
from tests.providers.histories import FILES, PDF, PNG, answered, called
from tests.providers.replies import Call, Raw, Reply, RunCode, Say, Search, Status, Think, fails, say
from tests.providers.server import ProviderServer


async def test_everything_an_answer_may_hold(server: ProviderServer) -> None:
    server.queue(
        Reply(
            content=(Think("**Plan**\nLook."), Say("Both:"), Call("note", {"n": 1}), Call("note", {"n": 2})),
            usage={"input": 90, "output": 30, "cache_read": 60, "reasoning": 9},
        )
    )
    async with model_at(server, "google") as model:
        answer = await ask(model.adapter, request(model, effort="high", system=("Be brief.",)))
    reasoning, text, first, second = answer.parts
    assert isinstance(reasoning, Reasoning)
    assert reasoning.title == "Plan"
    assert isinstance(text, Text)
    assert [call.input for call in (first, second) if isinstance(call, ToolCall)] == [{"n": 1}, {"n": 2}]
    assert answer.stop_reason == "tool_calls"
    usage = answer.usage
    assert (usage.input, usage.output, usage.cache_read, usage.reasoning) == (90, 30, 60, 9)


async def test_the_key_travels_in_a_header_alone(server: ProviderServer) -> None:
    server.queue(say("Hi"))
    async with model_at(server, "google") as model:
        await ask(model.adapter, request(model))
    (asked,) = server.log
    assert asked.path == "/google/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse"
    assert asked.headers["x-goog-api-key"] == KEY
    assert KEY not in asked.path


async def test_signatures_go_back_with_their_parts(server: ProviderServer) -> None:
    server.queue(
        Reply(content=(Think("Hm."), Call("note", {"n": 1}), Call("note", {"n": 2}))),
        Reply(content=(Think("So."), Say("Done."))),
        say("Bye."),
    )
    async with model_at(server, "google") as model:
        messages = [user("Go")]
        for _ in range(3):
            answer = await ask(model.adapter, request(model, *messages))
            messages.append(assistant(*answer.parts))
            calls = [part for part in answer.parts if isinstance(part, ToolCall)]
            more = [answered(call.call_id, call.name, "ok") for call in calls]
            messages.append(results(*more) if more else user("And?"))
    assert server.refusals == []
    _, model_turn, answers, text_turn, _ = server.log[2].body["contents"]
    assert [part["functionCall"]["args"] for part in model_turn["parts"]] == [{"n": 1}, {"n": 2}]
    assert ["thoughtSignature" in part for part in model_turn["parts"]] == [True, False]
    assert [part["functionResponse"]["response"] for part in answers["parts"]] == [{"output": "ok"}] * 2
    assert "id" not in model_turn["parts"][0]["functionCall"]
    # The signature of a text came by itself, and goes back by itself.
    assert [part["text"] for part in text_turn["parts"]] == ["Done.", ""]
    assert "thoughtSignature" in text_turn["parts"][1]


async def test_another_models_calls_are_taken(server: ProviderServer) -> None:
    server.queue(say("Fine."))
    call = called("our_1", "note", {"n": 1}, "anthropic", "toolu_1")
    history = (user("Go"), assistant(call), results(answered("our_1", "note", {"x": 1}, outcome="failed")))
    async with model_at(server, "google") as model:
        await ask(model.adapter, request(model, *history))
    assert server.refusals == []
    _, asked, given = server.log[0].body["contents"]
    assert asked["parts"][0]["thoughtSignature"] == "skip_thought_signature_validator"
    assert given["parts"][0]["functionResponse"] == {"name": "note", "response": {"error": '{"x":1}'}}


async def test_an_id_that_was_given_goes_back(server: ProviderServer) -> None:
    server.queue(Reply(content=(Call("note", {}, "fc-7"),)), say("Fine."))
    async with model_at(server, "google") as model:
        answer = await ask(model.adapter, request(model))
        (call,) = answer.parts
        assert isinstance(call, ToolCall)
        history = (user("Go"), assistant(call), results(answered(call.call_id, "note", "ok")))
        await ask(model.adapter, request(model, *history))
    _, asked, given = server.log[1].body["contents"]
    assert asked["parts"][0]["functionCall"]["id"] == "fc-7"
    assert given["parts"][0]["functionResponse"]["id"] == "fc-7"


async def test_pictures_and_documents(server: ProviderServer) -> None:
    server.queue(say("I see."))
    files = (
        File(file_id=PNG, media_type="image/png", name="shot.png", size=4),
        File(file_id=PDF, media_type="application/pdf", name="a.pdf", size=8),
    )
    async with model_at(server, "google") as model:
        await ask(model.adapter, request(model, user("Look", *files), files=FILES))
    parts = server.log[0].body["contents"][0]["parts"]
    assert [part["inlineData"]["mimeType"] for part in parts[1:]] == ["image/png", "application/pdf"]


@pytest.mark.parametrize(
    "model, effort, expected",
    [
        ("gemini-2.5-flash", "low", {"includeThoughts": True, "thinkingBudget": 2048}),
        ("gemini-2.5-flash", "none", {"thinkingBudget": 0}),
        ("gemini-2.5-pro", "none", {"thinkingBudget": 128}),
        ("gemini-2.5-pro", "high", {"includeThoughts": True, "thinkingBudget": 24_576}),
        ("gemini-2.5-flash", None, {"includeThoughts": True}),
        ("gemini-2.0-flash", "high", None),
        ("gemma-3-27b-it", "high", None),
        ("gemini-3-pro-preview", "medium", {"includeThoughts": True, "thinkingLevel": "low"}),
        ("gemini-3.8-flash", "minimal", {"includeThoughts": True, "thinkingLevel": "low"}),
        ("gemini-3.5-flash", "none", {"thinkingLevel": "minimal"}),
        ("gemini-9-new", "max", {"includeThoughts": True, "thinkingLevel": "high"}),
    ],
)
def test_efforts(model: str, effort: str | None, expected: dict[str, Any] | None) -> None:
    assert thinking_config(model, effort) == expected


def event(**fields: Any) -> str:
    return f"data: {msgspec.json.encode(fields).decode()}\r\n\r\n"


async def test_a_blocked_prompt(server: ProviderServer) -> None:
    server.queue(fails(Raw(event(promptFeedback={"blockReason": "PROHIBITED_CONTENT"}))))
    async with model_at(server, "google") as model:
        with pytest.raises(AttemptFailed) as raised:
            await ask(model.adapter, request(model))
    failure = raised.value.failure
    assert (failure.kind, failure.retryable) == ("content_filter", False)
    assert "PROHIBITED_CONTENT" in failure.message


@pytest.mark.parametrize(
    "reason, stop",
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("SPII", "content_filter"),
        ("BLOCKLIST", "content_filter"),
        ("SOMETHING_NEW", "stop"),
        ("OTHER", "stop"),
    ],
)
async def test_why_it_stopped(server: ProviderServer, reason: str, stop: str) -> None:
    server.queue(say("So far", stop=reason))
    async with model_at(server, "google") as model:
        answer = await ask(model.adapter, request(model))
    assert (answer.stop_reason, text_of(answer)) == (stop, "So far")


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "OTHER"])
async def test_an_answer_that_the_provider_gave_up_is_tried_again(
    server: ProviderServer, reason: str
) -> None:
    server.queue(Reply(stop=reason))
    async with model_at(server, "google") as model:
        with pytest.raises(AttemptFailed) as raised:
            await ask(model.adapter, request(model))
    assert raised.value.failure.kind == "server"


async def test_tools_that_the_provider_runs(server: ProviderServer) -> None:
    server.queue(
        Reply(content=(RunCode("print(2)", "2\n"), Search("tides", "https://tides.example/", "Tides"))),
        say("Yes."),
    )
    async with model_at(server, "google") as model:
        asked = request(model, provider_tools=("web_search", "code_execution"))
        answer = await ask(model.adapter, asked)
        kinds = [type(part) for part in answer.parts]
        assert kinds == [ToolCall, ToolResult, Text, ToolCall, ToolResult, Source]
        await ask(model.adapter, request(model, user("Hello"), assistant(*answer.parts), user("Sure?")))
    body = server.log[0].body
    assert [next(iter(tool)) for tool in body["tools"]] == [
        "functionDeclarations",
        "googleSearch",
        "codeExecution",
    ]
    assert body["toolConfig"] == {"includeServerSideToolInvocations": True}
    again = [next(iter(part)) for part in server.log[1].body["contents"][1]["parts"]]
    assert again == ["executableCode", "codeExecutionResult", "text"]
    assert server.refusals == []


async def test_a_model_that_cannot_have_both_kinds_of_tools(server: ProviderServer) -> None:
    async with model_at(server, "google", model="gemini-2.5-flash") as model:
        with pytest.raises(AttemptFailed) as raised:
            await ask(model.adapter, request(model, provider_tools=("web_search",)))
    assert raised.value.failure.kind == "config"
    assert "does not run web_search" in raised.value.failure.message
    assert server.log == []


async def test_a_quota_by_the_minute_is_waited_for(server: ProviderServer) -> None:
    text = (
        "You exceeded your current quota, please check your plan and billing details. Please retry in 12.5s."
    )
    body = msgspec.json.encode({"error": {"code": 429, "message": text, "status": "RESOURCE_EXHAUSTED"}})
    server.queue(fails(Status(429, body.decode())))
    async with model_at(server, "google") as model:
        with pytest.raises(AttemptFailed) as raised:
            await ask(model.adapter, request(model))
    assert raised.value.failure.kind == "rate_limit"
    assert raised.value.retry_after_seconds == 12.5
