"""Quirks of models that people run themselves or reach through a compatible address: reasoning in the text,
the first version of calls, signatures that must go back, templates that want user and assistant in turns."""

from typing import Any

import msgspec

from holdfast.core.parts import Notice, Part, Reasoning, Text, ToolCall
from holdfast.providers.assemble import Assembler
from holdfast.providers.failures import Endpoint
from holdfast.providers.openai import OpenAIReading
from holdfast.providers.redact import Redactor
from tests.providers.calling import assistant, numbered_ids, results, user
from tests.providers.histories import answered, called
from tests.providers.sending import check, make, model, sent


def parts_of(*deltas: dict[str, Any]) -> tuple[Part, ...]:
    endpoint = Endpoint(provider="here", url="http://here", key_place="KEY", redactor=Redactor())
    reading = OpenAIReading("compatible", "m", endpoint)
    assembler = Assembler(numbered_ids())
    choices: list[dict[str, Any]] = [{"delta": delta} for delta in deltas]
    choices.append({"delta": {}, "finish_reason": "stop"})
    for choice in choices:
        for event in reading.read(msgspec.json.encode({"choices": [choice]})):
            assembler.add(event)
    for event in reading.end():
        assembler.add(event)
    return assembler.answer().parts


def test_reasoning_in_the_text_becomes_reasoning() -> None:
    deltas = [{"content": piece} for piece in ("<th", "ink>Hm", "m.</think", ">\n\n", "Here it is.")]
    reasoning, text = parts_of(*deltas)
    assert isinstance(reasoning, Reasoning)
    assert reasoning.text == "Hmm."
    assert isinstance(text, Text)
    assert text.text == "Here it is."


def test_a_tag_that_never_comes_is_text() -> None:
    (text,) = parts_of({"content": "<"}, {"content": "think about it"})
    assert isinstance(text, Text)
    assert text.text == "<think about it"


def test_tags_after_reasoning_of_its_own_are_text() -> None:
    reasoning, text = parts_of({"reasoning_content": "Hmm."}, {"content": "<think>is a tag</think>"})
    assert isinstance(reasoning, Reasoning)
    assert isinstance(text, Text)
    assert text.text == "<think>is a tag</think>"


def test_a_call_after_reasoning_in_the_text() -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "note", "arguments": "{}"}}
    reasoning, made = parts_of({"content": "<think>I call.</think>"}, {"tool_calls": [call]})
    assert isinstance(reasoning, Reasoning)
    assert isinstance(made, ToolCall)


def test_the_first_version_of_calls_is_read() -> None:
    (call,) = parts_of(
        {"function_call": {"name": "note", "arguments": ""}},
        {"function_call": {"arguments": '{"n":'}},
        {"function_call": {"arguments": " 1}"}},
    )
    assert isinstance(call, ToolCall)
    assert (call.name, call.input) == ("note", {"n": 1})


def test_the_signature_of_a_call_goes_back_with_it() -> None:
    extra = {"google": {"thought_signature": "c2lnbmVk"}}
    delta = {"index": 0, "id": "c1", "function": {"name": "note", "arguments": "{}"}, "extra_content": extra}
    (call,) = parts_of({"tool_calls": [delta]})
    assert isinstance(call, ToolCall)
    history = (user("Go"), assistant(call), results(answered("our_1", "note", "ok")))
    (sent_back,) = sent("compatible", history)["messages"][1]["tool_calls"]
    assert sent_back["extra_content"] == extra
    (elsewhere,) = sent("openai", history)["messages"][1]["tool_calls"]
    assert "extra_content" not in elsewhere


def test_what_the_user_says_in_a_row_is_one_message() -> None:
    notice = Notice(code="instructions", text="Read AGENTS.md.")
    history = (user(notice), user("Hello"), user("Are you there?"))
    (message,) = check("llamacpp", make("llamacpp", history))["messages"]
    assert message["content"] == "[notice: Read AGENTS.md.]\n\nHello\n\nAre you there?"


def test_a_model_without_tools_is_told_of_earlier_calls() -> None:
    call = called("our_1", "note", {"n": 1}, "openai", "c1")
    history = (user("Go"), assistant(call), results(answered("our_1", "note", "done")), user("And?"))
    plain = model("ollama", model="gemma-plain", tools=False)
    body = check("ollama", make("ollama", history, model=plain))
    assert "tools" not in body
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][1]["content"] == '[I called the tool note with {"n":1}]'
    assert "done" in body["messages"][2]["content"]
