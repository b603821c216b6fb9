"""A request in the OpenAI responses format. Input is a list of items; what one message becomes depends on it
and on those before alone, so a longer history begins with the same items."""

from collections.abc import Sequence
from typing import cast

from msgspec import Raw

from holdfast.core.parts import File, Notice, Part, Reasoning, Text, ToolCall, ToolResult
from holdfast.core.shapes import Json
from holdfast.providers.answer_size import answer_size
from holdfast.providers.call_ids import IdRule, WireIds, data_of, legal_name
from holdfast.providers.encoding import stable, stable_text
from holdfast.providers.interface import ModelRequest, NamedTool, PromptMessage
from holdfast.providers.openai_request import data_url
from holdfast.providers.without_tools import told_in_words
from holdfast.providers.wording import file_words, notice_words, output_text

_ENCRYPTED = "reasoning.encrypted_content"
_NAME_CHARACTERS = 64
_IDS = IdRule(most=64)
_PROVIDER_TOOLS: dict[str, dict[str, Json]] = {
    "web_search": {"type": "web_search"},
    "code_execution": {"type": "code_interpreter", "container": {"type": "auto"}},
}

_Object = dict[str, Json]


def input_items(request: ModelRequest, kind: str) -> list[bytes]:
    """The items of each message, encoded: a JSON list without its brackets."""
    ids = WireIds(kind, _IDS)
    shown = request.messages if request.model.tools else told_in_words(request.messages)
    return [stable(_items(message, request, ids, kind))[1:-1] for message in shown]


def request_body(request: ModelRequest, items: Sequence[bytes], previous: str | None) -> bytes:
    """`items`: what is sent of them; `previous` is the response after which they come."""
    model = request.model
    sent = b"[" + b",".join(piece for piece in items if piece) + b"]"
    tools = stable(_tools(request))
    fields: dict[str, object] = {**model.provider_options}
    fields |= {
        "model": model.model,
        "input": Raw(sent),
        "stream": True,
        # What is chained is kept by the provider; nothing else is.
        "store": model.chain,
        "max_output_tokens": answer_size(request, len(sent) + len(tools)),
    }
    if previous is not None:
        fields["previous_response_id"] = previous
    if request.system:
        # Not carried over from the response before: always sent.
        fields["instructions"] = "\n\n".join(request.system)
    if tools != b"[]":
        fields["tools"] = Raw(tools)
        if request.tool_choice != "auto" and request.tools:
            fields["tool_choice"] = _choice(request)
    for name in ("temperature", "top_p"):
        if (value := getattr(model, name)) is not None:
            fields[name] = value
    if request.cache_key is not None:
        fields["prompt_cache_key"] = request.cache_key
    if request.effort is not None or model.efforts:
        # Models that do not reason refuse these.
        fields.setdefault("reasoning", _reasoning(request.effort))
        fields["include"] = [_ENCRYPTED]
    return stable(fields)


def _reasoning(effort: str | None) -> _Object:
    if effort is None:
        return {"summary": "auto"}
    return {"effort": effort} if effort == "none" else {"effort": effort, "summary": "auto"}


def _tools(request: ModelRequest) -> list[_Object]:
    if not request.model.tools:
        return []
    own: list[_Object] = [
        {
            "type": "function",
            "name": legal_name(tool.name, _NAME_CHARACTERS),
            "description": tool.description,
            "parameters": tool.schema(),
            # Left out, it is taken as true, and schemas with optional fields are refused.
            "strict": False,
        }
        for tool in request.tools
    ]
    return [*own, *(_PROVIDER_TOOLS[name] for name in request.provider_tools)]


def _choice(request: ModelRequest) -> Json:
    match request.tool_choice:
        case NamedTool(name=name):
            return {"type": "function", "name": legal_name(name, _NAME_CHARACTERS)}
        case choice:
            return choice


def _items(message: PromptMessage, request: ModelRequest, ids: WireIds, kind: str) -> list[_Object]:
    match message.role:
        case "user":
            content = [chunk for part in message.parts if (chunk := _chunk(part, request)) is not None]
            return [{"type": "message", "role": "user", "content": content}] if content else []
        case "assistant":
            items = [item for part in message.parts if (item := _answer_item(part, ids, kind)) is not None]
            return _without_loose_reasoning(items)
        case "tool":
            return [
                {
                    "type": "function_call_output",
                    "call_id": ids.of_result(part.call_id),
                    "output": output_text(part),
                }
                for part in message.parts
                if isinstance(part, ToolResult)
            ]


def _chunk(part: Part, request: ModelRequest) -> _Object | None:
    match part:
        case Text(text=text):
            return {"type": "input_text", "text": text} if text.strip() else None
        case Notice():
            return {"type": "input_text", "text": notice_words(part)}
        case File():
            return _file(part, request)
        case _:
            return None


def _file(part: File, request: ModelRequest) -> _Object:
    content = request.files.get(part.file_id)
    inputs = request.model.inputs
    if content is not None and part.media_type.startswith("image/") and "image" in inputs:
        return {"type": "input_image", "image_url": data_url(part.media_type, content), "detail": "auto"}
    if content is not None and part.media_type == "application/pdf" and "pdf" in inputs:
        return {
            "type": "input_file",
            "filename": part.name,
            "file_data": data_url(part.media_type, content),
        }
    return {"type": "input_text", "text": file_words(part, content)}


def _answer_item(part: Part, ids: WireIds, kind: str) -> _Object | None:
    match part:
        case Text(text=text) if text.strip():
            item: _Object = {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": text}],
            }
            if phase := data_of(part.provider_data, kind).get("phase"):
                item["phase"] = phase
            return item
        case Reasoning():
            kept = data_of(part.provider_data, kind).get("item")
            # Nothing is kept on the other side: without its content the id says nothing.
            return kept if _is_encrypted(kept) else None  # pyright: ignore[reportReturnType]
        case ToolCall(provider_executed=True):
            kept = data_of(part.provider_data, kind).get("item")
            return cast(_Object, kept) if isinstance(kept, dict) else None
        case ToolCall():
            return {
                "type": "function_call",
                "call_id": ids.of_call(part),
                "name": legal_name(part.name, _NAME_CHARACTERS),
                "arguments": stable_text(part.input),
            }
        case _:
            return None


def _is_encrypted(item: Json) -> bool:
    return isinstance(item, dict) and bool(cast(_Object, item).get("encrypted_content"))


def _without_loose_reasoning(items: list[_Object]) -> list[_Object]:
    """Reasoning must be followed by what came of it: behind what was cut off nothing does."""
    while items and items[-1]["type"] == "reasoning":
        items.pop()
    return items
