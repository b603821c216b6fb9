"""Whole turns in every wire format, chains of responses over turns and edits, calls in the text, and tools
that the provider runs."""

from typing import Any

import pytest

from holdfast.chats.commands import Edit, Interrupt
from holdfast.core.parts import Source, Text, ToolCall
from holdfast.providers.configs import ModelConfig, ProviderConfig
from holdfast.providers.registry import complete
from tests.providers.calling import KEY
from tests.providers.replies import Call, Reply, Say, Search, Think, call, say
from tests.worker.engine import OWNER, Engine, text_of

FAMILIES = ("anthropic", "compatible", "responses", "google", "ollama")
MODELS = {"anthropic": "claude-sonnet-5", "google": "gemini-3.8-flash"}


def configure(engine: Engine, family: str, **more: Any) -> None:
    """The default model, in this format."""
    kind = "openai" if family in ("responses", "compatible") else family
    provider = ProviderConfig(
        name="here",
        kind=kind,
        base_url=engine.server.base_url(family),
        api_key=KEY,
        api="responses" if family == "responses" else "chat",
    )
    given: dict[str, Any] = {"model": MODELS.get(family, "test-model"), "context_limit": 100_000, **more}
    model = ModelConfig(name="default", provider="here", **given)
    engine.providers.replace(complete([provider], [model], {}))


@pytest.mark.parametrize("family", FAMILIES)
async def test_a_turn_with_a_call(engine: Engine, family: str) -> None:
    configure(engine, family)
    engine.server.queue(
        Reply(
            content=(Think("**Adding**\nIt is easy."), Call("add", {"a": 2, "b": 3})),
            usage={"input": 50, "output": 9},
        ),
        say("Five."),
        say("Indeed."),
    )
    engine.start()
    chat_id = await engine.create("What is 2 + 3?")
    await engine.idle(chat_id)
    await engine.send(chat_id, "Sure?")
    await engine.idle(chat_id)
    assert [one for one in await engine.texts(chat_id) if one[0] == "assistant"] == [
        ("assistant", "Five."),
        ("assistant", "Indeed."),
    ]
    (result,) = await engine.results(chat_id)
    assert (result.name, result.output) == ("add", 5)
    assert engine.server.refusals == []
    step = (await engine.steps(chat_id))[0]
    assert (step.usage.input, step.usage.output) == (50, 9)


def previous(engine: Engine) -> list[str | None]:
    return [asked.body.get("previous_response_id") for asked in engine.asked]


async def test_a_chain_over_steps_and_turns(engine: Engine) -> None:
    configure(engine, "responses", chain=True)
    engine.server.queue(call("add", {"a": 2, "b": 3}), say("Five."), say("Indeed."))
    engine.start()
    chat_id = await engine.create("What is 2 + 3?")
    await engine.idle(chat_id)
    await engine.send(chat_id, "Sure?")
    await engine.idle(chat_id)
    assert previous(engine) == [None, "resp_000000", "resp_000001"]
    assert [item["type"] for item in engine.asked[1].body["input"]] == ["function_call_output"]
    assert engine.server.refusals == []


async def test_an_edit_breaks_the_chain(engine: Engine) -> None:
    configure(engine, "responses", chain=True)
    engine.server.queue(say("One."), say("Two."), say("Three."), say("Four."))
    engine.start()
    chat_id = await engine.create("First")
    await engine.idle(chat_id)
    await engine.send(chat_id, "Second")
    await engine.idle(chat_id)
    second = next(message for message in await engine.history(chat_id) if text_of(message) == "Second")
    await engine.do(chat_id, Edit(message_id=second.id, parts=(Text(text="Other"),), created_by=OWNER))
    await engine.idle(chat_id)
    await engine.send(chat_id, "Fourth")
    await engine.idle(chat_id)
    assert previous(engine) == [None, "resp_000000", None, "resp_000002"]
    assert engine.server.refusals == []


async def test_a_response_that_is_gone_costs_no_retry(engine: Engine) -> None:
    configure(engine, "responses", chain=True)
    engine.server.queue(say("One."), call("add", {"a": 1, "b": 1}), say("Two."), say("Three."))
    engine.start()
    chat_id = await engine.create("First")
    await engine.idle(chat_id)
    engine.server.kept_responses.clear()
    await engine.send(chat_id, "Second")
    await engine.idle(chat_id)
    assert previous(engine) == [None, "resp_000000", None, None]
    await engine.send(chat_id, "Third")
    await engine.idle(chat_id)
    assert previous(engine)[-1] == "resp_000003"
    assert [step.failures for step in await engine.steps(chat_id)] == [()] * 4
    assert [step.attempts for step in await engine.steps(chat_id)] == [1] * 4


async def test_an_interrupted_answer_does_not_break_what_follows(engine: Engine) -> None:
    configure(engine, "responses", chain=True)
    engine.server.queue(say("One."), say("Two " * 400, delay_seconds=0.05), say("Three."))
    engine.start()
    chat_id = await engine.create("First")
    await engine.idle(chat_id)
    async with engine.watch(chat_id) as live:
        await engine.send(chat_id, "Second")
        await live.until(lambda seen: "Two" in seen.text)
        await engine.do(chat_id, Interrupt())
        await engine.idle(chat_id)
    await engine.send(chat_id, "Third")
    await engine.idle(chat_id)
    assert engine.server.refusals == []
    assert (await engine.texts(chat_id))[-1] == ("assistant", "Three.")


async def test_a_call_in_the_text_is_run_and_not_shown(engine: Engine) -> None:
    configure(engine, "ollama")
    written = 'I add.\n<tool_call>\n{"name": "add", "arguments": {"a": 2, "b": 3}}\n</tool_call>'
    engine.server.queue(say(written, piece=5), say("Five."))
    engine.start()
    chat_id = await engine.create("What is 2 + 3?")
    async with engine.watch(chat_id) as live:
        await engine.idle(chat_id)
    assert "tool_call" not in live.text
    (result,) = await engine.results(chat_id)
    assert result.output == 5
    assert [text.strip() for role, text in await engine.texts(chat_id) if role == "assistant"] == [
        "I add.",
        "Five.",
    ]


@pytest.mark.parametrize("family", ["anthropic", "responses", "google"])
async def test_tools_of_the_provider(engine: Engine, family: str) -> None:
    configure(engine, family, provider_tools=("web_search",))
    engine.server.queue(
        Reply(content=(Search("tides", "https://tides.example/", "Tides"), Say("High at six."))), say("Yes.")
    )
    engine.start()
    chat_id = await engine.create("When is high tide?")
    await engine.idle(chat_id)
    await engine.send(chat_id, "Sure?")
    await engine.idle(chat_id)
    parts = [part for message in await engine.history(chat_id) for part in message.parts]
    (ran,) = [part for part in parts if isinstance(part, ToolCall)]
    assert (ran.name, ran.provider_executed) == ("web_search", True)
    if family != "anthropic":
        # Anthropic names its sources where they are cited.
        assert [part.url for part in parts if isinstance(part, Source)] == ["https://tides.example/"]
    # Nothing was run here, and nothing waits for a result.
    assert await engine.calls(chat_id) == []
    assert engine.server.refusals == []


async def test_a_chat_switches_them_off(engine: Engine) -> None:
    configure(engine, "responses", provider_tools=("web_search",))
    engine.server.queue(say("Yes."))
    engine.start()
    chat_id = await engine.create("Hello", provider_tools=())
    await engine.idle(chat_id)
    kinds = {tool["type"] for tool in engine.asked[0].body["tools"]}
    assert kinds == {"function"}


async def test_a_model_that_cannot_says_so(engine: Engine) -> None:
    configure(engine, "ollama")
    engine.start()
    chat_id = await engine.create("Hello", provider_tools=("web_search",))
    view = await engine.failed(chat_id)
    assert view.chat.last_error is not None
    assert view.chat.last_error.kind == "config"
    assert "does not run web_search" in view.chat.last_error.message
    assert engine.asked == []


async def test_without_the_web_the_provider_does_not_search_either(engine: Engine) -> None:
    configure(engine, "responses", provider_tools=("web_search",))
    engine.server.queue(say("Yes."))
    engine.start()
    chat_id = await engine.create("Hello", web=False)
    await engine.idle(chat_id)
    kinds = {tool["type"] for tool in engine.asked[0].body["tools"]}
    assert kinds == {"function"}
