"""A request in the Anthropic messages format. The tools, the system text and the newest block are marked for
the cache; marks stand outside the messages, so that a longer history still begins with the same bytes."""

import base64
from collections.abc import Mapping, Sequence
from typing import cast

from msgspec import Raw

from holdfast.core.parts import File, Notice, Part, Reasoning, Text, ToolCall, ToolResult
from holdfast.core.shapes import Json
from holdfast.providers.answer_size import answer_size
from holdfast.providers.call_ids import IdRule, WireIds, data_of, legal_name
from holdfast.providers.claude_models import BUDGETS, LEAST_BUDGET, Traits, effort_for, traits_of
from holdfast.providers.encoding import stable
from holdfast.providers.interface import ModelRequest, NamedTool, PromptMessage
from holdfast.providers.wording import file_words, notice_words, output_text

KIND = "anthropic"
# Asked for with the tools that run code on the provider's side.
CODE_BETA = "code-execution-2025-08-25"
_CACHE: Mapping[str, Json] = {"type": "ephemeral"}
# The provider looks this many blocks back for something it has cached; a step that added more needs a mark of
# its own where the step before it ended.
_LOOKBACK_BLOCKS = 18
_NAME_CHARACTERS = 128
# Drop thinking that no longer fits (tools or instructions changed) instead of refusing the request.
_DROP_STALE: Mapping[str, Json] = {"prefix_mismatch_behavior": "drop_block"}
BINDING_BETA = "thinking-binding-controls-2026-08-01"

_Object = dict[str, Json]
_PROVIDER_TOOLS: dict[str, _Object] = {
    "web_search": {"type": "web_search_20250305", "name": "web_search"},
    "code_execution": {"type": "code_execution_20250825", "name": "code_execution"},
}


def request_body(request: ModelRequest) -> bytes:
    model = request.model
    traits = traits_of(model.model)
    messages = _messages(request)
    system = _marked([{"type": "text", "text": text} for text in request.system if text.strip()])
    own: list[_Object] = [
        {
            "name": legal_name(tool.name, _NAME_CHARACTERS),
            "description": tool.description,
            "input_schema": tool.schema(),
        }
        for tool in request.tools
    ]
    tools = _marked([*own, *(dict(_PROVIDER_TOOLS[name]) for name in request.provider_tools)])
    # Encoded once, to be measured and sent.
    prompt = [stable(messages), stable(system), stable(tools)]
    max_tokens = answer_size(request, sum(len(piece) for piece in prompt))
    fields: dict[str, object] = {
        "model": model.model,
        "max_tokens": max_tokens,
        "messages": Raw(prompt[0]),
        "stream": True,
        "cache_control": _CACHE,
    }
    if request.system:
        fields["system"] = Raw(prompt[1])
    if tools:
        fields["tools"] = Raw(prompt[2])
        if request.tools and (choice := _choice(request, traits)) is not None:
            fields["tool_choice"] = choice
    thinking = _thinking(request, traits, messages, max_tokens)
    if thinking is not None:
        fields["thinking"] = thinking
    if (effort := effort_for(traits, request.effort)) is not None:
        fields["output_config"] = {"effort": effort}
    fields.update(_sampling(request, traits, thinks_by_budget=_is_budget(thinking)))
    fields.update(model.provider_options)
    return stable(fields)


def wants_binding_beta(request: ModelRequest) -> bool:
    return traits_of(request.model.model).bound


def _marked(blocks: list[_Object]) -> list[_Object]:
    if blocks:
        blocks[-1]["cache_control"] = _CACHE
    return blocks


def _choice(request: ModelRequest, traits: Traits) -> Json:
    match request.tool_choice:
        case "auto":
            return None
        case "none":
            return {"type": "none"}
        case "required":
            return {"type": "any"} if traits.forced_calls else None
        case NamedTool(name=name):
            return (
                {"type": "tool", "name": legal_name(name, _NAME_CHARACTERS)} if traits.forced_calls else None
            )


def _sampling(request: ModelRequest, traits: Traits, *, thinks_by_budget: bool) -> _Object:
    model = request.model
    if not traits.sampling or thinks_by_budget:
        return {}
    given: _Object = {"temperature": model.temperature, "top_p": model.top_p, "top_k": model.top_k}
    return {name: value for name, value in given.items() if value is not None}


def _is_budget(thinking: Json) -> bool:
    return isinstance(thinking, dict) and cast(_Object, thinking).get("type") == "enabled"


def _thinking(request: ModelRequest, traits: Traits, messages: Sequence[_Object], max_tokens: int) -> Json:
    effort = request.effort
    if effort == "none":
        return None if traits.off == "omit" else {"type": traits.off}
    if traits.thinking == "adaptive":
        if effort is None and not traits.bound:
            return None
        thinking: _Object = {"type": "adaptive", "display": "summarized"}
        if traits.bound:
            thinking["block_binding"] = _DROP_STALE
        return thinking
    if effort is None or request.tool_choice == "required" or isinstance(request.tool_choice, NamedTool):
        return None
    budget = min(BUDGETS.get(effort, BUDGETS["high"]), max_tokens - LEAST_BUDGET)
    if budget < LEAST_BUDGET or not _may_think(messages):
        return None
    return {"type": "enabled", "budget_tokens": budget}


def _may_think(messages: Sequence[_Object]) -> bool:
    """With a budget, an answer that goes on after tool results must have begun with thinking. Another model's
    calls, or ones whose thinking was cut off, have none: then the rest of the turn goes without."""
    answered = bool(messages) and any(block["type"] == "tool_result" for block in _blocks(messages[-1]))
    if not answered:
        return True
    last = next((message for message in reversed(messages) if message["role"] == "assistant"), None)
    return last is not None and _blocks(last)[0]["type"] in ("thinking", "redacted_thinking")


def _blocks(message: _Object) -> list[_Object]:
    return cast(list[_Object], message["content"])


def _messages(request: ModelRequest) -> list[_Object]:
    ids = WireIds(KIND, IdRule(most=64))
    messages: list[_Object] = []
    for message in request.messages:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _content(message, request, ids)
        if not blocks:
            continue
        if messages and messages[-1]["role"] == role:
            # Results and what the user said after them are one message here, results first.
            _blocks(messages[-1]).extend(blocks)
        else:
            messages.append({"role": role, "content": blocks})
    _mark_previous(messages)
    return messages


def _mark_previous(messages: list[_Object]) -> None:
    """The end of the request before this one, if this one's newest block is too far from it to be found."""
    if len(messages) < 3 or messages[-2]["role"] != "assistant":
        return
    if len(_blocks(messages[-2])) + len(_blocks(messages[-1])) > _LOOKBACK_BLOCKS:
        _blocks(messages[-3])[-1]["cache_control"] = _CACHE


def _content(message: PromptMessage, request: ModelRequest, ids: WireIds) -> list[_Object]:
    match message.role:
        case "user":
            return [block for part in message.parts if (block := _user_block(part, request)) is not None]
        case "assistant":
            return [block for part in message.parts for block in _assistant_blocks(part, ids)]
        case "tool":
            return [_result(part, ids) for part in message.parts if isinstance(part, ToolResult)]


def _user_block(part: Part, request: ModelRequest) -> _Object | None:
    match part:
        case Text(text=text):
            return {"type": "text", "text": text} if text.strip() else None
        case Notice():
            return {"type": "text", "text": notice_words(part)}
        case File():
            content = request.files.get(part.file_id)
            shape = _file_shape(part, request)
            if content is None or shape is None:
                return {"type": "text", "text": file_words(part, content)}
            data = base64.b64encode(content).decode()
            return {"type": shape, "source": {"type": "base64", "media_type": part.media_type, "data": data}}
        case _:
            return None


def _file_shape(part: File, request: ModelRequest) -> str | None:
    if (
        part.media_type in ("image/png", "image/jpeg", "image/gif", "image/webp")
        and "image" in request.model.inputs
    ):
        return "image"
    if part.media_type == "application/pdf" and "pdf" in request.model.inputs:
        return "document"
    return None


def _assistant_blocks(part: Part, ids: WireIds) -> list[_Object]:
    match part:
        case Text(text=text):
            return [{"type": "text", "text": text}] if text.strip() else []
        case Reasoning(text=text):
            data = data_of(part.provider_data, KIND)
            if "redacted" in data:
                return [{"type": "redacted_thinking", "data": data["redacted"]}]
            # Thinking without its signature (cut off, or another model's) would be refused.
            return (
                [{"type": "thinking", "thinking": text, "signature": data["signature"]}]
                if "signature" in data
                else []
            )
        case ToolCall(provider_executed=True):
            blocks = data_of(part.provider_data, KIND).get("blocks")
            return cast(list[_Object], blocks) if isinstance(blocks, list) else []
        case ToolCall():
            return [
                {
                    "type": "tool_use",
                    "id": ids.of_call(part),
                    "name": legal_name(part.name, _NAME_CHARACTERS),
                    "input": part.input if isinstance(part.input, dict) else {},  # pyright: ignore[reportUnknownMemberType]
                }
            ]
        case _:
            return []


def _result(part: ToolResult, ids: WireIds) -> _Object:
    block: _Object = {
        "type": "tool_result",
        "tool_use_id": ids.of_result(part.call_id),
        "content": output_text(part),
    }
    if part.outcome != "succeeded":
        block["is_error"] = True
    return block
