"""Our requests in the words of pydantic-ai. Only loaded with the library itself."""

from typing import Any, cast

import msgspec
from pydantic import TypeAdapter, ValidationError
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    NativeToolCallPart,
    NativeToolReturnPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.native_tools import AbstractNativeTool, CodeExecutionTool, WebSearchTool
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from holdfast.core.parts import File, Notice, Part, Reasoning, Text, ToolCall, ToolResult
from holdfast.core.shapes import Json
from holdfast.providers import interface as ours
from holdfast.providers.answer_size import answer_size
from holdfast.providers.call_ids import IdRule, WireIds, data_of, legal_name
from holdfast.providers.encoding import stable
from holdfast.providers.kinds import PYDANTIC_AI
from holdfast.providers.without_tools import told_in_words
from holdfast.providers.wording import file_words, notice_words, output_text

_RESPONSE_PARTS: TypeAdapter[ModelResponsePart] = TypeAdapter(ModelResponsePart)
_RETURN_PARTS = TypeAdapter(NativeToolReturnPart[Any])
_NATIVE: dict[str, AbstractNativeTool] = {
    "web_search": WebSearchTool(),
    "code_execution": CodeExecutionTool(),
}


def messages_of(request: ours.ModelRequest) -> list[ModelMessage]:
    ids = WireIds(PYDANTIC_AI, IdRule(most=64))
    messages: list[ModelMessage] = []
    if request.system:
        messages.append(ModelRequest(parts=[SystemPromptPart(content="\n\n".join(request.system))]))
    shown = request.messages if request.model.tools else told_in_words(request.messages)
    for message in shown:
        match message.role:
            case "user":
                content = [one for part in message.parts if (one := _content(part, request)) is not None]
                if content:
                    messages.append(ModelRequest(parts=[UserPromptPart(content=content)]))
            case "assistant":
                if parts := [one for part in message.parts for one in _answer(part, ids)]:
                    messages.append(ModelResponse(parts=parts, provider_name=_provider_of(message.parts)))
            case "tool":
                results = [part for part in message.parts if isinstance(part, ToolResult)]
                messages.append(ModelRequest(parts=[_result(part, ids) for part in results]))
    return messages


def parameters_of(request: ours.ModelRequest) -> ModelRequestParameters:
    if not request.model.tools:
        return ModelRequestParameters()
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=legal_name(tool.name), description=tool.description, parameters_json_schema=tool.schema()
            )
            for tool in request.tools
        ],
        native_tools=[_NATIVE[name] for name in request.provider_tools],
    )


def settings_of(request: ours.ModelRequest, silence_seconds: float) -> ModelSettings:
    model = request.model
    settings: dict[str, Any] = {
        "max_tokens": answer_size(request, len(stable([request.messages, request.tools, request.system]))),
        # There is one layer of retries, and it is the engine's.
        "max_retries": 0,
        "timeout": silence_seconds,
    }
    for name in ("temperature", "top_p", "top_k", "presence_penalty", "frequency_penalty"):
        if (value := getattr(model, name)) is not None:
            settings[name] = value
    if request.effort is not None:
        settings["thinking"] = False if request.effort == "none" else request.effort
    if request.tools and model.tools and request.tool_choice != "auto":
        choice = request.tool_choice
        settings["tool_choice"] = [legal_name(choice.name)] if isinstance(choice, ours.NamedTool) else choice
    if model.provider_options:
        settings["extra_body"] = model.provider_options
    if request.trace_parent is not None:
        settings["extra_headers"] = {"traceparent": request.trace_parent}
    return cast(ModelSettings, settings)


def kept(part: ModelResponsePart, provider: str | None) -> dict[str, Json]:
    """What goes back with a part, as it is stored."""
    dumped = cast(dict[str, Json], _RESPONSE_PARTS.dump_python(part, mode="json", exclude_none=True))
    for name in ("content", "args", "timestamp"):
        dumped.pop(name, None)
    return {"kind": PYDANTIC_AI, "provider": provider, "part": dumped}


def kept_pair(call: NativeToolCallPart[Any], result: NativeToolReturnPart[Any], provider: str | None) -> Json:
    return {
        "kind": PYDANTIC_AI,
        "provider": provider,
        "call": _RESPONSE_PARTS.dump_python(call, mode="json", exclude_none=True),
        "result": _RETURN_PARTS.dump_python(result, mode="json", exclude_none=True),
    }


def _content(part: Part, request: ours.ModelRequest) -> str | BinaryContent | None:
    match part:
        case Text(text=text):
            return text if text.strip() else None
        case Notice():
            return notice_words(part)
        case File():
            content = request.files.get(part.file_id)
            wanted = "pdf" if part.media_type == "application/pdf" else part.media_type.partition("/")[0]
            if content is not None and wanted in ("image", "pdf") and wanted in request.model.inputs:
                return BinaryContent(data=content, media_type=part.media_type)
            return file_words(part, content)
        case _:
            return None


def _answer(part: Part, ids: WireIds) -> list[ModelResponsePart]:
    data = data_of(getattr(part, "provider_data", msgspec.UNSET), PYDANTIC_AI)
    known = data.get("part")
    more = cast(dict[str, Json], known) if isinstance(known, dict) else {}
    match part:
        case Text(text=text) if text.strip():
            return [_restored({**more, "part_kind": "text", "content": text}) or TextPart(content=text)]
        case Reasoning(text=text) if more:
            restored = _restored({**more, "part_kind": "thinking", "content": text})
            return [restored] if isinstance(restored, ThinkingPart) else []
        case ToolCall(provider_executed=True):
            pair = [_restored(data.get("call")), _restored(data.get("result"))]
            return [one for one in pair if one is not None] if all(pair) else []
        case ToolCall():
            call_id, name = ids.of_call(part), legal_name(part.name)
            fields: dict[str, Json] = {
                **more,
                "part_kind": "tool-call",
                "tool_name": name,
                "args": part.input,
                "tool_call_id": call_id,
            }
            plain = ToolCallPart(tool_name=name, args=cast(dict[str, Any], part.input), tool_call_id=call_id)
            return [_restored(fields) or plain]
        case _:
            return []


def _restored(fields: Json) -> ModelResponsePart | None:
    if not isinstance(fields, dict):
        return None
    try:
        return _RESPONSE_PARTS.validate_python(fields)
    except ValidationError:
        # Stored by another version of the library.
        return None


def _provider_of(parts: tuple[Part, ...]) -> str | None:
    for part in parts:
        found = data_of(getattr(part, "provider_data", msgspec.UNSET), PYDANTIC_AI).get("provider")
        if isinstance(found, str):
            return found
    return None


def _result(part: ToolResult, ids: WireIds) -> ToolReturnPart[Any]:
    return ToolReturnPart(
        tool_name=legal_name(part.name),
        content=output_text(part),
        tool_call_id=ids.of_result(part.call_id),
        outcome="success" if part.outcome == "succeeded" else "failed",
    )
