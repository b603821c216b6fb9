"""How streams differ from what they should be, by family, as data: the chunks as they come, and the answer
that is meant. Each was seen at some server, gateway or release of one."""

from typing import Any

import msgspec

Chunk = dict[str, Any]


class Quirk(msgspec.Struct, frozen=True, kw_only=True):
    family: str
    chunks: tuple[Chunk | str, ...]
    text: str = ""
    reasoning: str = ""
    calls: tuple[tuple[str, Any], ...] = ()
    # input and output
    usage: tuple[int, int] | None = None
    stop: str | None = None
    # The kind of failure, where there is one.
    fails: str | None = None
    done: bool = True


def delta(finish: str | None = None, **fields: Any) -> Chunk:
    return {"id": "c", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def say(text: str) -> Chunk:
    return delta(content=text)


def call(index: int | None, own: str | None, name: str | None, arguments: Any, **more: Any) -> Chunk:
    one: Chunk = {"index": index, "id": own, "function": {"name": name, "arguments": arguments}, **more}
    return delta(tool_calls=[{key: value for key, value in one.items() if value is not None}])


STOP = delta("stop")
CALLED = delta("tool_calls")
COUNTS = {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14}
NOTE = (("note", {"n": 1}),)
TWO = (("note", {"n": 1}), ("note", {"n": 2}))

QUIRKS: dict[str, Quirk] = {
    # Reasoning
    "deepseek: reasoning_content": Quirk(
        family="deepseek",
        chunks=(delta(reasoning_content="Hm"), say("Yes"), STOP),
        reasoning="Hm",
        text="Yes",
    ),
    "openrouter: reasoning and details with the same text": Quirk(
        family="openrouter",
        chunks=(
            delta(reasoning="Hm", reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "Hm"}]),
            say("Yes"),
            STOP,
        ),
        reasoning="Hm",
        text="Yes",
    ),
    "groq: reasoning": Quirk(
        family="groq", chunks=(delta(reasoning="Hm"), say("Yes"), STOP), reasoning="Hm", text="Yes"
    ),
    "vllm: both names with the same text": Quirk(
        family="vllm",
        chunks=(delta(reasoning="Hm", reasoning_content="Hm"), say("Yes"), STOP),
        reasoning="Hm",
        text="Yes",
    ),
    "mistral: thinking in chunks of the content": Quirk(
        family="mistral",
        chunks=(
            delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}]),
            delta(content=[{"type": "text", "text": "Yes"}]),
            STOP,
        ),
        reasoning="Hm",
        text="Yes",
    ),
    "ollama: think tags in the text": Quirk(
        family="ollama", chunks=(say("<thi"), say("nk>Hm</think>\n\nYes"), STOP), reasoning="Hm", text="Yes"
    ),
    "llamacpp: reasoning and content in one chunk": Quirk(
        family="llamacpp",
        chunks=(delta(reasoning_content="Hm", content="Yes"), STOP),
        reasoning="Hm",
        text="Yes",
    ),
    "deepseek: content null beside reasoning": Quirk(
        family="deepseek",
        chunks=(delta(content=None, reasoning_content="Hm"), say("Yes"), STOP),
        reasoning="Hm",
        text="Yes",
    ),
    "deepseek: reasoning empty beside content": Quirk(
        family="deepseek", chunks=(delta(content="Yes", reasoning_content=""), STOP), text="Yes"
    ),
    "compatible: reasoning again after text": Quirk(
        family="compatible",
        chunks=(delta(reasoning="A"), say("One"), delta(reasoning="B"), say("Two"), STOP),
        reasoning="AB",
        text="OneTwo",
    ),
    # Usage
    "openai: usage in a chunk without choices": Quirk(
        family="openai",
        chunks=(say("Yes"), STOP, {"choices": [], "usage": COUNTS}),
        text="Yes",
        usage=(10, 4),
    ),
    "vllm: usage in every chunk": Quirk(
        family="vllm",
        chunks=(
            {**say("Yes"), "usage": {"prompt_tokens": 10, "completion_tokens": 1}},
            {**STOP, "usage": COUNTS},
        ),
        text="Yes",
        usage=(10, 4),
    ),
    "compatible: no usage ever": Quirk(
        family="compatible", chunks=(say("Yes"), STOP), text="Yes", usage=(0, 0)
    ),
    "groq: usage under x_groq": Quirk(
        family="groq", chunks=(say("Yes"), {**STOP, "x_groq": {"usage": COUNTS}}), text="Yes", usage=(10, 4)
    ),
    "compatible: total_tokens alone": Quirk(
        family="compatible",
        chunks=(say("Yes"), {**STOP, "usage": {"total_tokens": 99}}),
        text="Yes",
        usage=(99, 0),
    ),
    "compatible: total and completion": Quirk(
        family="compatible",
        chunks=(say("Yes"), {**STOP, "usage": {"total_tokens": 99, "completion_tokens": 9}}),
        text="Yes",
        usage=(90, 9),
    ),
    "compatible: zeros after the real counts": Quirk(
        family="compatible",
        chunks=(say("Yes"), {**STOP, "usage": COUNTS}, {"choices": [], "usage": dict.fromkeys(COUNTS, 0)}),
        text="Yes",
        usage=(10, 4),
    ),
    "compatible: usage null in every chunk": Quirk(
        family="compatible",
        chunks=({**say("Yes"), "usage": None}, {**STOP, "usage": COUNTS}),
        text="Yes",
        usage=(10, 4),
    ),
    "compatible: negative counts": Quirk(
        family="compatible",
        chunks=(say("Yes"), {**STOP, "usage": {"prompt_tokens": -5, "completion_tokens": -1}}),
        text="Yes",
        usage=(0, 0),
    ),
    "compatible: absurd counts": Quirk(
        family="compatible",
        chunks=(say("Yes"), {**STOP, "usage": {"prompt_tokens": 10**18, "completion_tokens": 1e300}}),
        text="Yes",
        usage=(0, 0),
    ),
    "compatible: counts as text": Quirk(
        family="compatible",
        chunks=(say("Yes"), {**STOP, "usage": {"prompt_tokens": "10", "completion_tokens": None}}),
        text="Yes",
        usage=(0, 0),
    ),
    "openai: usage with choices null": Quirk(
        family="openai",
        chunks=(say("Yes"), STOP, {"choices": None, "usage": COUNTS}),
        text="Yes",
        usage=(10, 4),
    ),
    # Ends
    "compatible: no finish_reason, but [DONE]": Quirk(
        family="compatible", chunks=(say("Yes"),), text="Yes", stop="stop"
    ),
    "compatible: a finish_reason, no [DONE]": Quirk(
        family="compatible", chunks=(say("Yes"), STOP), text="Yes", stop="stop", done=False
    ),
    "compatible: neither": Quirk(family="compatible", chunks=(say("Yes"),), fails="transport", done=False),
    "compatible: stop although there are calls": Quirk(
        family="compatible", chunks=(call(0, "a", "note", '{"n":1}'), STOP), calls=NOTE
    ),
    "compatible: a reason nobody knows": Quirk(
        family="compatible", chunks=(say("Yes"), delta("eos_token")), text="Yes", stop="stop"
    ),
    "compatible: text after the end": Quirk(
        family="compatible", chunks=(say("Yes"), STOP, say(" and No"), STOP), text="Yes"
    ),
    "deepseek: insufficient_system_resource": Quirk(
        family="deepseek", chunks=(say("Ye"), delta("insufficient_system_resource")), fails="overloaded"
    ),
    "openai: a refusal": Quirk(
        family="openai", chunks=(delta(refusal="I cannot."), STOP), text="I cannot.", stop="content_filter"
    ),
    # Errors
    "openrouter: an error in mid-stream": Quirk(
        family="openrouter",
        chunks=(say("Ye"), {"error": {"code": 502, "message": "Provider disconnected"}, "choices": []}),
        fails="server",
    ),
    "openrouter: an error beside a finish_reason": Quirk(
        family="openrouter",
        chunks=(say("Ye"), {**delta("error"), "error": {"code": 429, "message": "Rate limited"}}),
        fails="rate_limit",
    ),
    "groq: an error under x_groq": Quirk(
        family="groq",
        chunks=(say("Ye"), {"x_groq": {"error": "over capacity"}, "choices": []}),
        fails="overloaded",
    ),
    "llamacpp: an error as the only event": Quirk(
        family="llamacpp",
        chunks=(
            {"error": {"code": 400, "type": "exceed_context_size_error", "message": "context size exceeded"}},
        ),
        fails="config",
    ),
    "compatible: an error as plain text": Quirk(
        family="compatible", chunks=({"error": "the model crashed"},), fails="server"
    ),
    "compatible: no JSON": Quirk(family="compatible", chunks=("oops, not JSON",), fails="server"),
    "compatible: events of the responses format": Quirk(
        family="compatible", chunks=({"type": "response.created", "response": {}},), fails="config"
    ),
    "compatible: events of Anthropic's format": Quirk(
        family="compatible", chunks=({"type": "message_start", "message": {}},), fails="config"
    ),
    # Calls
    "openai: pieces of the input": Quirk(
        family="openai",
        chunks=(call(0, "a", "note", ""), call(0, None, None, '{"n"'), call(0, None, None, ":1}"), CALLED),
        calls=NOTE,
    ),
    "compatible: no index": Quirk(
        family="compatible",
        chunks=(call(None, "a", "note", '{"n":1}'), call(None, "b", "note", '{"n":2}'), CALLED),
        calls=TWO,
    ),
    "compatible: neither index nor id": Quirk(
        family="compatible",
        chunks=(call(None, None, "note", '{"n":1}'), call(None, None, "note", '{"n":2}'), CALLED),
        calls=TWO,
    ),
    "compatible: neither index nor id, the name in every piece": Quirk(
        family="compatible",
        chunks=(call(None, None, "note", '{"n"'), call(None, None, "note", ":1}"), CALLED),
        calls=NOTE,
    ),
    "compatible: id and name in every piece": Quirk(
        family="compatible",
        chunks=(call(0, "a", "note", '{"n"'), call(0, "a", "note", ":1}"), CALLED),
        calls=NOTE,
    ),
    "ollama: every call has the index 0": Quirk(
        family="ollama",
        chunks=(call(0, "a", "note", '{"n":1}'), call(0, "b", "note", '{"n":2}'), CALLED),
        calls=TWO,
    ),
    "compatible: ids reused": Quirk(
        family="compatible",
        chunks=(call(0, "a", "note", '{"n":1}'), call(1, "a", "note", '{"n":2}'), CALLED),
        calls=TWO,
    ),
    "compatible: the index begins at 1": Quirk(
        family="compatible", chunks=(call(1, "a", "note", '{"n":1}'), CALLED), calls=NOTE
    ),
    "compatible: arguments as an object": Quirk(
        family="compatible", chunks=(call(0, "a", "note", {"n": 1}), CALLED), calls=NOTE
    ),
    "compatible: arguments encoded twice": Quirk(
        family="compatible", chunks=(call(0, "a", "note", '"{\\"n\\": 1}"'), CALLED), calls=NOTE
    ),
    "compatible: arguments null": Quirk(
        family="compatible", chunks=(call(0, "a", "note", None), CALLED), calls=(("note", {}),)
    ),
    "compatible: the name later than the id": Quirk(
        family="compatible",
        chunks=(call(0, "a", None, ""), call(0, None, "note", ""), call(0, None, None, '{"n":1}'), CALLED),
        calls=NOTE,
    ),
    "compatible: pieces of two calls mixed": Quirk(
        family="compatible",
        chunks=(
            call(0, "a", "note", '{"n"'),
            call(1, "b", "note", '{"n"'),
            call(0, None, None, ":1}"),
            call(1, None, None, ":2}"),
            CALLED,
        ),
        calls=TWO,
    ),
    "compatible: a call of the first version": Quirk(
        family="compatible",
        chunks=(
            delta(function_call={"name": "note", "arguments": '{"n"'}),
            delta(function_call={"arguments": ":1}"}),
            delta("function_call"),
        ),
        calls=NOTE,
    ),
    "compatible: two calls in one chunk": Quirk(
        family="compatible",
        chunks=(
            delta(
                tool_calls=[
                    {"index": 0, "id": "a", "function": {"name": "note", "arguments": '{"n":1}'}},
                    {"index": 1, "id": "b", "function": {"name": "note", "arguments": '{"n":2}'}},
                ]
            ),
            CALLED,
        ),
        calls=TWO,
    ),
    "compatible: a trailing comma and a fence in the input": Quirk(
        family="compatible", chunks=(call(0, "a", "note", '```json\n{"n": 1,}\n```'), CALLED), calls=NOTE
    ),
    "ollama: a call in the text": Quirk(
        family="ollama",
        chunks=(say('<tool_call>{"name": "note", "arguments": {"n": 1}}'), say("</tool_call>"), STOP),
        calls=NOTE,
    ),
    # Chunks
    "openai: a second choice": Quirk(
        family="openai",
        chunks=(
            {
                "choices": [
                    {"index": 0, "delta": {"content": "Yes"}},
                    {"index": 1, "delta": {"content": "No"}},
                ]
            },
            STOP,
        ),
        text="Yes",
    ),
    "azure: a first chunk with the filter's results": Quirk(
        family="azure",
        chunks=({"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}, say("Yes"), STOP),
        text="Yes",
    ),
    "openai: padding against eavesdroppers": Quirk(
        family="openai", chunks=({**say("Yes"), "obfuscation": "xyz123"}, STOP), text="Yes"
    ),
    "compatible: delta null at the end": Quirk(
        family="compatible",
        chunks=(say("Yes"), {"choices": [{"index": 0, "delta": None, "finish_reason": "stop"}]}),
        text="Yes",
    ),
    "compatible: lone surrogates": Quirk(
        family="compatible",
        chunks=('{"choices":[{"index":0,"delta":{"content":"Y\\ud83d"}}]}', STOP),
        text="Y\N{REPLACEMENT CHARACTER}",
    ),
    "compatible: NUL in the text": Quirk(
        family="compatible", chunks=(say("Y\0"), STOP), text="Y\N{REPLACEMENT CHARACTER}"
    ),
    "compatible: an empty content at first": Quirk(
        family="compatible", chunks=(delta(role="assistant", content=""), say("Yes"), STOP), text="Yes"
    ),
    "openrouter: sources as annotations": Quirk(
        family="openrouter",
        chunks=(
            delta(
                content="Yes", annotations=[{"type": "url_citation", "url_citation": {"url": "https://x/"}}]
            ),
            STOP,
        ),
        text="Yes",
    ),
}
