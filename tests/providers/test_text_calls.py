"""Calls that models write into their text: recognised however they are cut, never shown, and nothing else is
taken for one."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.providers.text_calls import CallPiece, TextCalls
from tests.providers.calling import ask, model_at, request, text_of
from tests.providers.replies import Reply, Say, say
from tests.providers.server import ProviderServer

TOOLS = ("read_file", "execute")
READ = ("read_file", {"path": "a.txt"})
RUN = ("execute", {"command": "ls"})

# What a model writes, the text that people see, and the calls.
WRITTEN: dict[str, tuple[str, str, list[tuple[str, Any]]]] = {
    "hermes": (
        'I look.\n<tool_call>\n{"name": "read_file", "arguments": {"path": "a.txt"}}\n</tool_call>',
        "I look.\n",
        [READ],
    ),
    "hermes, two": (
        (
            '<tool_call>{"name": "read_file", "arguments": {"path": "a.txt"}}</tool_call>\n'
            '<tool_call>{"name": "execute", "arguments": {"command": "ls"}}</tool_call>'
        ),
        "",
        [READ, RUN],
    ),
    "hermes, both in one tag": (
        (
            '<tool_call>{"name": "read_file", "arguments": {"path": "a.txt"}}\n'
            '{"name": "execute", "arguments": {"command": "ls"}}</tool_call>'
        ),
        "",
        [READ, RUN],
    ),
    "hermes, never closed": (
        '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.txt"}}',
        "",
        [READ],
    ),
    "hermes, arguments as text": (
        '<tool_call>{"name": "read_file", "arguments": "{\\"path\\": \\"a.txt\\"}"}</tool_call>',
        "",
        [READ],
    ),
    "hermes, the tag inside an argument": (
        '<tool_call>{"name": "execute", "arguments": {"command": "echo </tool_call>"}}</tool_call>ok',
        "ok",
        [("execute", {"command": "echo </tool_call>"})],
    ),
    "hermes, single quotes": (
        "<tool_call>{'name': 'read_file', 'arguments': {'path': 'a.txt'}}</tool_call>",
        "",
        [READ],
    ),
    "qwen coder": (
        "<tool_call>\n<function=read_file>\n<parameter=path>\na.txt\n</parameter>\n</function>\n</tool_call>",
        "",
        [READ],
    ),
    "qwen coder without the outer tag": (
        "Now.\n<function=execute>\n<parameter=command>\nls\n</parameter>\n</function>",
        "Now.\n",
        [RUN],
    ),
    "qwen coder, other types": (
        (
            "<function=execute><parameter=command>ls</parameter><parameter=timeout_seconds>5</parameter>"
            "<parameter=background>true</parameter></function>"
        ),
        "",
        [("execute", {"command": "ls", "timeout_seconds": 5, "background": True})],
    ),
    "llama, function tag": ('<function=read_file>{"path": "a.txt"}</function>', "", [READ]),
    "llama, python tag": (
        '<|python_tag|>{"name": "read_file", "parameters": {"path": "a.txt"}}<|eom_id|>',
        "",
        [READ],
    ),
    "llama, python tag, two": (
        (
            '<|python_tag|>{"name": "read_file", "parameters": {"path": "a.txt"}}; '
            '{"name": "execute", "parameters": {"command": "ls"}}'
        ),
        "",
        [READ, RUN],
    ),
    "llama, bare": ('{"name": "read_file", "parameters": {"path": "a.txt"}}', "", [READ]),
    "llama, typed": (
        '{"type": "function", "name": "read_file", "parameters": {"path": "a.txt"}}',
        "",
        [READ],
    ),
    "llama, pythonic": ('[read_file(path="a.txt"), execute(command="ls")]', "", [READ, RUN]),
    "openai, bare": (
        '{"type": "function", "function": {"name": "read_file", "arguments": {"path": "a.txt"}}}',
        "",
        [READ],
    ),
    "bare, and text behind it": (
        (
            '{"name": "read_file", "parameters": {"path": "a.txt"}}\n{"name": "execute", "arguments": '
            '{"command": "ls"}}\nI wait.'
        ),
        "I wait.",
        [READ, RUN],
    ),
    "a bare list": ('[{"name": "read_file", "arguments": {"path": "a.txt"}}]', "", [READ]),
    "mistral": ('[TOOL_CALLS][{"name": "read_file", "arguments": {"path": "a.txt"}}]', "", [READ]),
    "mistral, later": ('[TOOL_CALLS]read_file[ARGS]{"path": "a.txt"}', "", [READ]),
    "mistral, two": (
        'Hi.[TOOL_CALLS]read_file[CALL_ID]a[ARGS]{"path": "a.txt"}[TOOL_CALLS]execute[ARGS]{"command":"ls"}',
        "Hi.",
        [READ, RUN],
    ),
    "deepseek r1": (
        (
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n"
            '```json\n{"path": "a.txt"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
        ),
        "",
        [READ],
    ),
    "deepseek v3.1, two": (
        (
            "So:<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>"
            'read_file<｜tool▁sep｜>{"path": "a.txt"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>'
            'execute<｜tool▁sep｜>{"command": "ls"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
        ),
        "So:",
        [READ, RUN],
    ),
    "deepseek v3.2": (
        (
            '<｜DSML｜function_calls>\n<｜DSML｜invoke name="read_file">\n'
            '<｜DSML｜parameter name="path" string="true">a.txt</｜DSML｜parameter>\n</｜DSML｜invoke>\n'
            "</｜DSML｜function_calls>"
        ),
        "",
        [READ],
    ),
    "invoke": (
        (
            '<function_calls><invoke name="read_file"><parameter name="path">a.txt</parameter></invoke>'
            "</function_calls>"
        ),
        "",
        [READ],
    ),
    "a fence": (
        'I will read it:\n```json\n{"name": "read_file", "arguments": {"path": "a.txt"}}\n```\nThen more.',
        "I will read it:\n\nThen more.",
        [READ],
    ),
    "a fence of its own kind": (
        '```tool_call\n{"tool": "read_file", "args": {"path": "a.txt"}}\n```',
        "",
        [READ],
    ),
    "a fence on one line": ('```json {"name": "read_file", "arguments": {"path": "a.txt"}} ```', "", [READ]),
    "an unknown tool in tags": ('<tool_call>{"name": "fly", "arguments": {}}</tool_call>', "", [("fly", {})]),
}
# What is no call, and is shown as it is.
PLAIN = {
    "prose": "Use the `<` sign, e.g. a < b, or [1] and ``code``.",
    "code": "Like this:\n```python\nprint(read_file)\n```\nDone.",
    "other json": '```json\n{"name": "Ada", "age": 36}\n```\nThat is all.',
    "json that people asked for": '{"name": "Ada", "born": 1815}',
    "a list that people asked for": "[1, 2, 3]",
    "a link": "[a page](https://example.org) and more",
    "an unknown tool in a fence": '```json\n{"name": "fly", "arguments": {}}\n```',
    "a package that names a tool": '```json\n{"name": "execute", "version": "1.0.0", "main": "x.js"}\n```',
    "tags that are not JSON": "<tool_call>I should call something</tool_call> now",
    "a tag that breaks off": "<tool_ca",
    "a fence that never closes": '```json\n{"hello": "world"',
    "nested fences": "```markdown\n# Title\n```\nand `x`",
    "long json": "```json\n" + json.dumps({"items": ["x" * 20] * 60}) + "\n```",
}


def read(*pieces: str) -> tuple[str, list[tuple[str, Any]]]:
    finder = TextCalls(TOOLS)
    found = [*(one for piece in pieces for one in finder.feed(piece)), *finder.end()]
    text = "".join(one for one in found if isinstance(one, str))
    calls = [(one.call.name, json.loads(one.call.input)) for one in found if isinstance(one, CallPiece)]
    return text, calls


@pytest.mark.parametrize("name", WRITTEN)
def test_calls_are_found_and_not_shown(name: str) -> None:
    written, text, calls = WRITTEN[name]
    assert read(written) == (text, calls) or (read(written)[0].strip(), read(written)[1]) == (
        text.strip(),
        calls,
    )


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 16])
def test_however_they_are_cut(name: str, size: int) -> None:
    written, text, calls = WRITTEN[name]
    shown, found = read(*(written[start : start + size] for start in range(0, len(written), size)))
    assert (shown.strip(), found) == (text.strip(), calls)


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_what_is_no_call_is_text(name: str, size: int) -> None:
    written = PLAIN[name]
    assert read(*(written[start : start + size] for start in range(0, len(written), size))) == (written, [])


_signs = st.text(st.sampled_from('<>[]{}`"tool_call=/ \nTOOL_CALLSjson:,'), max_size=60)


@given(
    st.lists(_signs | st.sampled_from([written for written, _, _ in WRITTEN.values()]), max_size=4), st.data()
)
def test_the_cut_changes_nothing(texts: list[str], data: st.DataObject) -> None:
    whole = "".join(texts)
    places = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    pieces = [whole[start:end] for start, end in zip([0, *places], [*places, len(whole)], strict=True)]
    assert read(*pieces) == read(whole)


def test_text_before_a_call_is_shown_at_once() -> None:
    finder = TextCalls(TOOLS)
    assert finder.feed("I will look at it") == ["I will look at it"]
    assert finder.feed(" now. <tool") == [" now. "]
    assert finder.feed("_call>") == []


async def test_a_local_models_call_is_run(server: ProviderServer) -> None:
    server.queue(say('Sure.\n<tool_call>\n{"name": "note", "arguments": {"n": 3}}\n</tool_call>', piece=4))
    async with model_at(server, "ollama") as model:
        answer = await ask(model.adapter, request(model))
    assert text_of(answer).strip() == "Sure."
    (call,) = [part for part in answer.parts if part.__class__.__name__ == "ToolCall"]
    assert getattr(call, "input", None) == {"n": 3}


async def test_thoughts_are_not_searched(server: ProviderServer) -> None:
    text = '<think>I could write <tool_call>{"name": "note", "arguments": {}}</tool_call></think>No.'
    server.queue(Reply(content=(Say(text),), piece=5))
    async with model_at(server, "vllm") as model:
        answer = await ask(model.adapter, request(model))
    assert text_of(answer) == "No."
    assert [part.__class__.__name__ for part in answer.parts] == ["Reasoning", "Text"]


@pytest.mark.parametrize(
    "family, wanted, found",
    [
        ("ollama", "auto", True),
        ("vllm", "auto", True),
        ("llamacpp", "auto", True),
        ("ollama", "off", False),
        ("compatible", "auto", False),
        ("compatible", "on", True),
        ("groq", "auto", False),
    ],
)
async def test_for_whom(server: ProviderServer, family: str, wanted: str, found: bool) -> None:
    server.queue(say('<tool_call>{"name": "note", "arguments": {}}</tool_call>'))
    async with model_at(server, family, text_tool_calls=wanted) as model:
        answer = await ask(model.adapter, request(model))
    assert (text_of(answer) == "") is found


async def test_without_tools_nothing_is_looked_for(server: ProviderServer) -> None:
    server.queue(say('<tool_call>{"name": "note", "arguments": {}}</tool_call>'))
    async with model_at(server, "ollama") as model:
        answer = await ask(model.adapter, request(model, tools=()))
    assert text_of(answer).startswith("<tool_call>")
