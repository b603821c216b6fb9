"""What is sent: full requests of every family, the same bytes for the same history, and nothing that the
provider would refuse, whoever wrote the history."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.core.parts import File, ToolCall
from holdfast.providers.interface import NamedTool, PromptMessage, ToolSpec
from tests.providers.calling import NOTE, assistant, results, user
from tests.providers.histories import PDF, answered, called, legal_histories, rich_history
from tests.providers.sending import ALL, check, make, model, sent, wire


@pytest.mark.parametrize("family", ["groq", "ollama", "vllm", "llamacpp", "compatible"])
def test_the_plain_families_differ_in_little(family: str) -> None:
    body = sent(family, (user("Hello"),), system=("You are a test.", "Be brief."), effort="high")
    limit = "max_completion_tokens" if family == "groq" else "max_tokens"
    assert body == {
        "model": "some-model",
        "messages": [
            {"role": "system", "content": "You are a test.\n\nBe brief."},
            {"role": "user", "content": "Hello"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "note",
                    "description": "Writes a note.",
                    "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}},
                },
            }
        ],
        "reasoning_effort": "high",
        limit: 4096,
    }


@settings(max_examples=40)
@given(
    messages=legal_histories(),
    effort=st.sampled_from([None, "none", "low", "high", "max"]),
    claude=st.sampled_from(["claude-haiku-4-5", "claude-opus-5-5", "claude-sonnet-5-5", "claude-opus-4-7"]),
)
def test_any_history_is_legal_for_any_provider(
    messages: tuple[PromptMessage, ...], effort: str | None, claude: str
) -> None:
    if messages[-1].role == "assistant":
        messages = (*messages, user("And now?"))
    for family in ALL:
        chosen = model(family, model=claude if family == "anthropic" else "m", temperature=0.3)
        check(family, make(family, messages, effort=effort, model=chosen, max_output=3000))


@settings(max_examples=25)
@given(messages=legal_histories(most=4))
def test_a_longer_history_begins_with_the_same_bytes(messages: tuple[PromptMessage, ...]) -> None:
    for family in ALL:
        whole = encoded_messages(family, messages)
        for length in range(1, len(messages)):
            if messages[length - 1].role == "assistant" or messages[length].role != "assistant":
                continue
            shorter = encoded_messages(family, messages[:length])
            if encoded_messages(family, messages[: length + 1]) != shorter:  # the answer is one that is sent
                assert whole.startswith(shorter), (family, length)


def encoded_messages(family: str, messages: tuple[PromptMessage, ...]) -> bytes:
    """The messages as they stand in the request, up to where another one, or another block, may follow."""

    body = wire(family).body(make(family, messages))
    fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    name = {"google": "contents", "responses": "input"}.get(family, "messages")
    return bytes(fields[name]).removesuffix(b"]").removesuffix(b'],"role":"user"}')


@pytest.mark.parametrize("family", ALL)
def test_the_order_of_keys_does_not_matter(family: str) -> None:
    def body(first: dict[str, Any], schema: dict[str, Any]) -> bytes:
        tool = ToolSpec(name="note", description="d", input_schema=schema)
        call = called("our_1", "note", first, "demo", "x")
        history = (user("Go"), assistant(call), results(answered("our_1", "note", first)))
        return wire(family).body(make(family, history, tools=(tool,)))

    one = body({"b": 1, "a": {"d": 1, "c": 2}}, {"type": "object", "properties": {}})
    other = body({"a": {"c": 2, "d": 1}, "b": 1}, {"properties": {}, "type": "object"})
    assert one == other


@pytest.mark.parametrize("schema", [None, {}, {"properties": {"a": {}}}, {"type": "string"}, [1]])
def test_a_schema_is_always_that_of_an_object(schema: Any) -> None:
    tool = ToolSpec(name="t", description="", input_schema=schema)
    for family in ALL:
        check(family, make(family, (user("Hi"),), tools=(tool,)))
    assert sent("anthropic", (user("Hi"),), tools=(tool,))["tools"][0]["input_schema"]["type"] == "object"


# Ids and names


def test_a_provider_gets_its_own_ids_back_and_others_legal_ones() -> None:
    history = rich_history("anthropic")
    own = sent("anthropic", history)["messages"][1]["content"]
    assert [block["id"] for block in own if block["type"] == "tool_use"] == ["prov1-id-1", "prov1-id-2"]
    other = sent("openai", history)["messages"]
    assert [call["id"] for call in other[1]["tool_calls"]] == ["our_1", "our_2"]
    assert [message["tool_call_id"] for message in other if message["role"] == "tool"] == ["our_1", "our_2"]
    short = sent("mistral", history)["messages"]
    ids = [call["id"] for call in short[1]["tool_calls"]]
    assert [message["tool_call_id"] for message in short if message["role"] == "tool"] == ids
    assert all(len(wire_id) == 9 and wire_id.isalnum() for wire_id in ids)
    assert len(set(ids)) == 2


def test_servers_that_count_calls_from_zero_get_ids_that_differ() -> None:
    history: list[PromptMessage] = [user("Go")]
    for number in range(3):
        history.append(assistant(called(f"our_{number}", "note", {}, "ollama", "call_0")))
        history.append(results(answered(f"our_{number}", "note", "ok")))
    messages = sent("ollama", tuple(history))["messages"]
    ids = [call["id"] for message in messages for call in message.get("tool_calls", [])]
    assert ids == ["call_0", "our_1", "our_2"]
    assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == ids


def test_names_that_models_invent_go_back_in_a_legal_form() -> None:
    history = (
        user("Go"),
        assistant(
            called("our_1", "web search\n" + "x" * 300, {}, "openai", "c1"),
            called("our_2", "", {}, "openai", "c2"),
        ),
        results(answered("our_1", "?", "unknown tool"), answered("our_2", "?", "unknown tool")),
    )
    names = [call["function"]["name"] for call in sent("openai", history)["messages"][1]["tool_calls"]]
    assert names == ["web_search_" + "x" * 53, "unknown"]


# Reasoning


def test_deepseek_gets_its_reasoning_back_only_where_tools_were_called() -> None:
    messages = sent("deepseek", rich_history("deepseek"))["messages"]
    assert [message.get("reasoning_content") for message in messages if message["role"] == "assistant"] == [
        "Look first.",
        None,
    ]


def test_deepseek_gets_something_where_another_model_called_tools() -> None:
    messages = check("deepseek", make("deepseek", rich_history("anthropic")))["messages"]
    assert messages[1]["reasoning_content"] == " "


@pytest.mark.parametrize("family", [family for family in ALL if family != "anthropic"])
def test_reasoning_of_others_is_never_sent(family: str) -> None:
    assert "Look first." not in json.dumps(sent(family, rich_history("anthropic")))


def test_thinking_without_a_signature_is_left_out() -> None:
    history = rich_history("deepseek")
    types = [block["type"] for block in sent("anthropic", history)["messages"][1]["content"]]
    assert types == ["text", "tool_use", "tool_use"]


# Thinking and effort of Claude


@pytest.mark.parametrize(
    "name, effort, thinking, config",
    [
        ("claude-sonnet-5", None, None, None),
        ("claude-sonnet-5", "none", {"type": "disabled"}, None),
        ("claude-sonnet-5", "minimal", {"type": "adaptive", "display": "summarized"}, {"effort": "low"}),
        ("claude-opus-4-8", "xhigh", {"type": "adaptive", "display": "summarized"}, {"effort": "xhigh"}),
        ("claude-opus-4-6", "xhigh", {"type": "adaptive", "display": "summarized"}, {"effort": "high"}),
        ("claude-opus-4-5", "max", {"type": "enabled", "budget_tokens": 3072}, {"effort": "high"}),
        ("claude-haiku-4-5", "minimal", {"type": "enabled", "budget_tokens": 1024}, None),
        ("claude-haiku-4-5", "none", None, None),
        ("claude-sonnet-5-5", "none", {"type": "between_tools"}, None),
        ("kimi-k3", "none", {"type": "disabled"}, None),
        (
            "claude-opus-5-5",
            None,
            {
                "type": "adaptive",
                "display": "summarized",
                "block_binding": {"prefix_mismatch_behavior": "drop_block"},
            },
            None,
        ),
    ],
)
def test_effort_for_claude(name: str, effort: str | None, thinking: Any, config: Any) -> None:
    request = make("anthropic", (user("Hi"),), model=model("anthropic", model=name), effort=effort)
    body = check("anthropic", request)
    assert (body.get("thinking"), body.get("output_config")) == (thinking, config)


def test_a_budget_waits_for_a_turn_that_can_begin_with_thinking() -> None:
    chosen = model("anthropic", model="claude-haiku-4-5")
    own, foreign = rich_history("anthropic")[:3], rich_history("deepseek")[:3]
    assert "thinking" in check("anthropic", make("anthropic", own, model=chosen, effort="low"))
    assert "thinking" not in check("anthropic", make("anthropic", foreign, model=chosen, effort="low"))


@pytest.mark.parametrize(
    "name, kept", [("claude-sonnet-4-5", True), ("claude-sonnet-4-6", True), ("claude-opus-4-7", False)]
)
def test_sampling_is_only_sent_to_models_that_take_it(name: str, kept: bool) -> None:
    chosen = model("anthropic", model=name, temperature=0.2, top_k=5)
    assert ("temperature" in sent("anthropic", (user("Hi"),), model=chosen)) is kept


# Cache marks


def test_the_cache_is_marked_behind_tools_and_system_and_at_the_end() -> None:
    body = sent("anthropic", rich_history("anthropic"), system=("a", "b"), tools=(NOTE, NOTE))
    assert ["cache_control" in block for block in body["tools"]] == [False, True]
    assert ["cache_control" in block for block in body["system"]] == [False, True]
    assert body["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in json.dumps(body["messages"])


def test_a_step_of_many_blocks_marks_where_the_last_one_ended() -> None:
    calls = [called(f"our_{number}", "note", {}, "anthropic", f"toolu_{number}") for number in range(12)]
    history = (
        user("Go"),
        assistant(*calls),
        results(*(answered(call.call_id, "note", "ok") for call in calls)),
    )
    request = make("anthropic", history, system=("s",))
    assert check("anthropic", request)["messages"][0]["content"][-1]["cache_control"] == {"type": "ephemeral"}


# Choices, files, options


@pytest.mark.parametrize(
    "family, choice, expected",
    [
        ("anthropic", "required", {"type": "any"}),
        ("anthropic", "none", {"type": "none"}),
        ("anthropic", NamedTool(name="note"), {"type": "tool", "name": "note"}),
        ("openai", "required", "required"),
        ("openai", "none", "none"),
        ("openai", NamedTool(name="note"), {"type": "function", "function": {"name": "note"}}),
        ("mistral", "required", "any"),
        ("openai", "auto", None),
        ("anthropic", "auto", None),
    ],
)
def test_tool_choice(family: str, choice: Any, expected: Any) -> None:
    assert sent(family, (user("Hi"),), tool_choice=choice).get("tool_choice") == expected


def test_no_choice_without_tools() -> None:
    for family in ALL:
        body = check(family, make(family, (user("Hi"),), tools=(), tool_choice="none"))
        assert "tool_choice" not in body
        assert "tools" not in body


def test_files_are_shown_to_models_that_can_see_them() -> None:
    chosen = model("anthropic", inputs=("text", "image", "pdf"))
    pdf = File(file_id=PDF, media_type="application/pdf", name="p.pdf", size=8)
    history = (*rich_history("anthropic")[:1], assistant("Hm."), user("And this?", pdf))
    messages = sent("anthropic", history, model=chosen)["messages"]
    assert [block["type"] for block in messages[0]["content"]] == ["text", "image", "text"]
    assert messages[0]["content"][1]["source"] == {
        "type": "base64",
        "media_type": "image/png",
        "data": "iVBORw==",
    }
    assert messages[0]["content"][2]["text"] == "[file t.csv (text/csv, 8 bytes)]\na,b\n1,2\n\n[end of t.csv]"
    assert messages[2]["content"][1]["type"] == "document"


def test_files_that_a_model_cannot_see_are_described() -> None:
    content = sent("openai", rich_history("openai")[:1])["messages"][0]["content"]
    assert "[file shot.png (image/png, 4 bytes): this model cannot read such files]" in content
    gone = sent("openai", rich_history("openai")[:1], files={})["messages"][0]["content"]
    assert "[file t.csv (text/csv, 8 bytes): no longer available]" in gone


def test_options_of_the_config_win() -> None:
    chosen = model("openai", provider_options={"seed": 7, "max_completion_tokens": 9})
    body = sent("openai", (user("Hi"),), model=chosen)
    assert (body["seed"], body["max_completion_tokens"]) == (7, 9)


def test_a_call_may_ask_for_less_than_the_config_but_not_for_more() -> None:
    for asked, expected in ((10, 10), (10_000, 4096), (None, 4096)):
        assert sent("anthropic", (user("Hi"),), max_output=asked)["max_tokens"] == expected


def test_an_unknown_address_may_be_openai_itself() -> None:
    chosen = model("compatible", model="gpt-5.6-terra")
    assert "max_completion_tokens" in sent("compatible", (user("Hi"),), model=chosen)


def test_calls_that_the_provider_ran_go_back_word_for_word_and_to_nobody_else() -> None:
    blocks: list[dict[str, Any]] = [
        {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": []},
    ]
    data: dict[str, Any] = {"kind": "anthropic", "id": "srv1", "blocks": blocks}
    call = ToolCall(
        call_id=called("our_1", "", {}, "", "").call_id,
        name="web_search",
        input={"query": "x"},
        provider_executed=True,
        provider_data=data,
    )
    history = (user("Go"), assistant(call, answered("our_1", "web_search", []), "Found."), user("More?"))
    body = check("anthropic", make("anthropic", history))
    assert body["messages"][1]["content"] == [*blocks, {"type": "text", "text": "Found."}]
    assert check("openai", make("openai", history))["messages"][1] == {
        "role": "assistant",
        "content": "Found.",
    }
