"""A request in the OpenAI chat format, for every family that speaks it. Keys are ordered, so the same history
always gives the same bytes and a longer one begins with them."""

import base64
import re
from collections.abc import Sequence
from typing import cast

from msgspec import Raw

from holdfast.core.parts import File, Notice, Reasoning, Text, ToolCall, ToolResult
from holdfast.core.shapes import Json
from holdfast.providers.answer_size import answer_size
from holdfast.providers.call_ids import WireIds, data_of, legal_name
from holdfast.providers.encoding import stable, stable_text
from holdfast.providers.families import ProviderFamily
from holdfast.providers.interface import ModelRequest, NamedTool, PromptMessage
from holdfast.providers.without_tools import told_in_words
from holdfast.providers.wording import file_words, notice_words, output_text

# What stands for reasoning that is asked for but was never recorded (another model's turn): present, and not
# empty.
_NO_REASONING = " "
# Said by nobody, between results and a user message, where the format demands that the model speaks.
_FILLER = "OK."

_OPENAI_MODEL = re.compile(r"(?:openai/)?(?:gpt-\d|o\d)")

_Object = dict[str, Json]


def request_body(request: ModelRequest, family: ProviderFamily) -> bytes:
    return stable(_fields(request, family))


def _fields(request: ModelRequest, family: ProviderFamily) -> dict[str, object]:
    model = request.model
    # Encoded once, to be measured and sent.
    messages, tools = stable(_messages(request, family)), stable(_tools(request, family))
    fields: dict[str, object] = {
        "model": model.model,
        "messages": Raw(messages),
        "stream": True,
        _output_field(model.model, family): answer_size(request, len(messages) + len(tools)),
        **family.extra,
    }
    if family.stream_options:
        fields["stream_options"] = {"include_usage": True}
    if request.tools and model.tools:
        fields["tools"] = Raw(tools)
        if request.tool_choice != "auto":
            fields["tool_choice"] = _choice(request, family)
    for name in ("temperature", "top_p", "presence_penalty", "frequency_penalty"):
        if (value := getattr(model, name)) is not None:
            fields[name] = value
    if model.top_k is not None and family.top_k:
        fields["top_k"] = model.top_k
    if request.cache_key is not None and family.cache_key:
        fields["prompt_cache_key"] = request.cache_key
    if family.kind == "openrouter" and model.model.startswith("anthropic/"):
        # Everyone else behind it caches by itself.
        fields["cache_control"] = {"type": "ephemeral"}
    for tool in request.provider_tools:
        fields.update(family.provider_tools[tool])
    fields.update(_effort(request.effort, family))
    fields.update(model.provider_options)
    return fields


def _tools(request: ModelRequest, family: ProviderFamily) -> list[_Object]:
    if not request.model.tools:
        return []
    return [
        {
            "type": "function",
            "function": {
                "name": legal_name(tool.name, family.name_characters),
                "description": tool.description,
                "parameters": tool.schema(),
            },
        }
        for tool in request.tools
    ]


def _output_field(model: str, family: ProviderFamily) -> str:
    """Behind an address nobody knows may be OpenAI itself, whose models refuse the field all others have."""
    if family.kind == "compatible" and _OPENAI_MODEL.match(model):
        return "max_completion_tokens"
    return family.output_field


def _choice(request: ModelRequest, family: ProviderFamily) -> Json:
    match request.tool_choice:
        case NamedTool(name=name):
            return {"type": "function", "function": {"name": legal_name(name, family.name_characters)}}
        case "required":
            return family.required_choice
        case choice:
            return choice


def _effort(effort: str | None, family: ProviderFamily) -> _Object:
    if effort is None:
        return {}
    named = family.effort_names.get(effort, effort)
    match family.effort_style:
        case "reasoning_effort":
            return {"reasoning_effort": named}
        case "reasoning":
            return {"reasoning": {"effort": named}}
        case "thinking":
            if effort == "none":
                return {"thinking": {"type": "disabled"}}
            return {"thinking": {"type": "enabled"}, "reasoning_effort": named}


def _messages(request: ModelRequest, family: ProviderFamily) -> list[_Object]:
    ids = WireIds(family.kind, family.ids)
    messages: list[_Object] = []
    if request.system:
        messages.append({"role": "system", "content": "\n\n".join(request.system)})
    # Whether tools were called since the last user message.
    called = False
    for message in request.messages if request.model.tools else told_in_words(request.messages):
        match message.role:
            case "user":
                called = False
                content = _user_content(message, request, family)
                if content and not family.user_after_tool and messages and messages[-1]["role"] == "tool":
                    messages.append({"role": "assistant", "content": _FILLER})
                if content and messages and messages[-1]["role"] == "user":
                    # The templates of many models demand that user and assistant take turns.
                    messages[-1]["content"] = _joined(messages[-1]["content"], content)
                elif content:
                    messages.append({"role": "user", "content": content})
            case "assistant":
                called = called or any(_is_ours(part) for part in message.parts)
                if (entry := _assistant(message, ids, family, called=called)) is not None:
                    messages.append(entry)
            case "tool":
                messages.extend(
                    {
                        "role": "tool",
                        "tool_call_id": ids.of_result(part.call_id),
                        "content": output_text(part),
                    }
                    for part in message.parts
                    if isinstance(part, ToolResult)
                )
    return messages


def _joined(before: Json, after: str | list[_Object]) -> Json:
    if isinstance(before, str) and isinstance(after, str):
        return f"{before}\n\n{after}"
    return [*_chunks(before), *_chunks(after)]


def _chunks(content: Json) -> list[Json]:
    return cast(list[Json], content) if isinstance(content, list) else [{"type": "text", "text": content}]


def _is_ours(part: object) -> bool:
    return isinstance(part, ToolCall) and not part.provider_executed


def _user_content(
    message: PromptMessage, request: ModelRequest, family: ProviderFamily
) -> str | list[_Object]:
    """A plain text where that is all there is: every server takes that, not every one takes chunks."""
    texts: list[str] = []
    chunks: list[_Object] = []
    for part in message.parts:
        match part:
            case Text(text=text) if text.strip():
                texts.append(text)
                chunks.append({"type": "text", "text": text})
            case Notice():
                texts.append(notice_words(part))
                chunks.append({"type": "text", "text": notice_words(part)})
            case File():
                shown = _file(part, request, family)
                if shown is None:
                    texts.append(file_words(part, request.files.get(part.file_id)))
                    chunks.append({"type": "text", "text": texts[-1]})
                else:
                    chunks.append(shown)
            case _:
                pass
    return "\n\n".join(texts) if len(texts) == len(chunks) else chunks


def _file(part: File, request: ModelRequest, family: ProviderFamily) -> _Object | None:
    content = request.files.get(part.file_id)
    if content is None:
        return None
    if part.media_type.startswith("image/") and "image" in request.model.inputs:
        return {"type": "image_url", "image_url": {"url": data_url(part.media_type, content)}}
    if part.media_type == "application/pdf" and "pdf" in request.model.inputs and family.documents:
        return {
            "type": "file",
            "file": {"filename": part.name, "file_data": data_url(part.media_type, content)},
        }
    return None


def data_url(media_type: str, content: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"


def _assistant(
    message: PromptMessage, ids: WireIds, family: ProviderFamily, *, called: bool
) -> _Object | None:
    text = "\n\n".join(part.text for part in message.parts if isinstance(part, Text) and part.text.strip())
    calls = [
        _call(part, ids, family) for part in message.parts if isinstance(part, ToolCall) and _is_ours(part)
    ]
    if not text and not calls:
        # All it held was for people, or for another provider.
        return None
    entry: _Object = {"role": "assistant", "content": text or None}
    if calls:
        entry["tool_calls"] = calls
    reasoning = [part for part in message.parts if isinstance(part, Reasoning)]
    match family.reasoning_back:
        case "content" if called:
            own = "".join(part.text for part in reasoning if data_of(part.provider_data, family.kind))
            entry["reasoning_content"] = own or _NO_REASONING
        case "details":
            if details := _details(reasoning, family.kind):
                entry["reasoning_details"] = details
        case "chunks":
            own = "".join(part.text for part in reasoning if data_of(part.provider_data, family.kind))
            if own:
                thinking: _Object = {"type": "thinking", "thinking": [{"type": "text", "text": own}]}
                entry["content"] = [thinking, {"type": "text", "text": text}] if text else [thinking]
        case _:
            pass
    return entry


def _call(part: ToolCall, ids: WireIds, family: ProviderFamily) -> _Object:
    call: _Object = {
        "id": ids.of_call(part),
        "type": "function",
        "function": {
            "name": legal_name(part.name, family.name_characters),
            "arguments": stable_text(part.input),
        },
    }
    if extra := data_of(part.provider_data, family.kind).get("extra_content"):
        call["extra_content"] = extra  # Gemini refuses a call without the signature that came with it
    return call


def _details(reasoning: Sequence[Reasoning], kind: str) -> list[Json]:
    details: list[Json] = []
    for part in reasoning:
        found = data_of(part.provider_data, kind).get("details")
        if isinstance(found, list):
            details.extend(found)  # pyright: ignore[reportUnknownArgumentType]
    return details
