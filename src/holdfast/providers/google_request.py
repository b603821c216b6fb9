"""A request in Google's generateContent format. Calls have no ids there: results are matched by their order,
and only an id that the provider gave goes back."""

import base64
from typing import cast

from msgspec import Raw

from holdfast.core.parts import File, Notice, Part, Reasoning, Text, ToolCall, ToolResult
from holdfast.core.shapes import Json
from holdfast.providers.answer_size import answer_size
from holdfast.providers.call_ids import data_of, legal_name, provider_id
from holdfast.providers.encoding import stable
from holdfast.providers.gemini_models import gemini_traits, thinking_config
from holdfast.providers.interface import ModelRequest, NamedTool, PromptMessage
from holdfast.providers.without_tools import told_in_words
from holdfast.providers.wording import file_words, notice_words, output_text

KIND = "google"
# Stands for the signature of thoughts that there were none of: another model's call. Google documents it.
NO_THOUGHTS = "skip_thought_signature_validator"
_NAME_CHARACTERS = 64
_PROVIDER_TOOLS: dict[str, dict[str, Json]] = {
    "web_search": {"googleSearch": {}},
    "code_execution": {"codeExecution": {}},
}

_Object = dict[str, Json]
# Of each call its name and the id that the provider gave it, if it gave one.
_Calls = dict[str, tuple[str, str | None]]


def request_body(request: ModelRequest) -> bytes:
    model = request.model
    contents, tools = stable(_contents(request)), stable(_tools(request))
    settings: _Object = {"maxOutputTokens": answer_size(request, len(contents) + len(tools))}
    for name, ours in (
        ("temperature", "temperature"),
        ("topP", "top_p"),
        ("topK", "top_k"),
        ("presencePenalty", "presence_penalty"),
        ("frequencyPenalty", "frequency_penalty"),
    ):
        if (value := getattr(model, ours)) is not None:
            settings[name] = value
    if (thinking := thinking_config(model.model, request.effort)) is not None:
        settings["thinkingConfig"] = cast(Json, thinking)
    options = dict(model.provider_options)
    more = options.pop("generationConfig", None)
    if isinstance(more, dict):
        settings |= cast(_Object, more)
    fields: dict[str, object] = {**options, "contents": Raw(contents), "generationConfig": settings}
    if request.system:
        fields["systemInstruction"] = {"parts": [{"text": "\n\n".join(request.system)}]}
    if tools != b"[]":
        fields["tools"] = Raw(tools)
        if config := _tool_config(request):
            fields["toolConfig"] = config
    return stable(fields)


def _tools(request: ModelRequest) -> list[_Object]:
    if not request.model.tools:
        return []
    tools: list[_Object] = []
    if request.tools:
        declarations: list[Json] = [
            {
                "name": legal_name(tool.name, _NAME_CHARACTERS),
                "description": tool.description,
                "parametersJsonSchema": tool.schema(),
            }
            for tool in request.tools
        ]
        tools.append({"functionDeclarations": declarations})
    return [*tools, *(_PROVIDER_TOOLS[name] for name in request.provider_tools)]


def _tool_config(request: ModelRequest) -> _Object:
    config: _Object = {}
    if request.tools:
        match request.tool_choice:
            case "auto":
                pass
            case "none":
                config["functionCallingConfig"] = {"mode": "NONE"}
            case "required":
                config["functionCallingConfig"] = {"mode": "ANY"}
            case NamedTool(name=name):
                config["functionCallingConfig"] = {
                    "mode": "ANY",
                    "allowedFunctionNames": [legal_name(name, _NAME_CHARACTERS)],
                }
    if request.provider_tools and gemini_traits(request.model.model).modern:
        config["includeServerSideToolInvocations"] = True
    return config


def _contents(request: ModelRequest) -> list[_Object]:
    modern = gemini_traits(request.model.model).modern
    names: _Calls = {}
    contents: list[_Object] = []
    before: str | None = None
    for message in request.messages if request.model.tools else told_in_words(request.messages):
        parts = _parts(message, request, names, modern=modern)
        if not parts:
            continue
        if message.role == before == "user":
            cast(list[_Object], contents[-1]["parts"]).extend(parts)
            continue
        role = "model" if message.role == "assistant" else "user"
        contents.append({"role": role, "parts": cast(Json, parts)})
        before = message.role
    return contents


def _parts(message: PromptMessage, request: ModelRequest, names: _Calls, *, modern: bool) -> list[_Object]:
    match message.role:
        case "user":
            return [shown for part in message.parts if (shown := _user_part(part, request)) is not None]
        case "assistant":
            return _answer(message, names, modern=modern)
        case "tool":
            return [_result(part, names) for part in message.parts if isinstance(part, ToolResult)]


def _user_part(part: Part, request: ModelRequest) -> _Object | None:
    match part:
        case Text(text=text):
            return {"text": text} if text.strip() else None
        case Notice():
            return {"text": notice_words(part)}
        case File():
            content = request.files.get(part.file_id)
            if content is None or not _is_taken(part, request):
                return {"text": file_words(part, content)}
            data = base64.b64encode(content).decode()
            return {"inlineData": {"mimeType": part.media_type, "data": data}}
        case _:
            return None


def _is_taken(part: File, request: ModelRequest) -> bool:
    inputs = request.model.inputs
    if part.media_type.startswith("image/"):
        return "image" in inputs
    return part.media_type == "application/pdf" and "pdf" in inputs


def _answer(message: PromptMessage, names: _Calls, *, modern: bool) -> list[_Object]:
    parts: list[_Object] = []
    # The first call of an answer must carry a signature, the others need none.
    unsigned = modern
    for part in message.parts:
        data = data_of(getattr(part, "provider_data", None), KIND)
        signature = data.get("signature")
        match part:
            case Text(text=text) if text.strip():
                apart = bool(data.get("apart"))
                parts.append(_signed({"text": text}, None if apart else signature))
                if apart:
                    parts.append(_signed({"text": ""}, signature))
            case Reasoning(text=text) if signature:
                parts.append({"text": text, "thought": True, "thoughtSignature": signature})
            case ToolCall(provider_executed=True):
                kept = data.get("parts")
                parts += cast(list[_Object], kept) if isinstance(kept, list) else []
            case ToolCall():
                own = provider_id(part, KIND) or None
                name = legal_name(part.name, _NAME_CHARACTERS)
                names[part.call_id] = (name, own)
                call: _Object = {"name": name, "args": part.input if isinstance(part.input, dict) else {}}  # pyright: ignore[reportUnknownMemberType]
                if own:
                    call["id"] = own
                signature = signature or (NO_THOUGHTS if unsigned else None)
                parts.append(_signed({"functionCall": call}, signature))
                unsigned = False
            case _:
                pass
    return parts


def _signed(part: _Object, signature: Json) -> _Object:
    return {**part, "thoughtSignature": signature} if signature else part


def _result(part: ToolResult, names: _Calls) -> _Object:
    name, own = names.get(part.call_id, (legal_name(part.name, _NAME_CHARACTERS), None))
    key = "output" if part.outcome == "succeeded" else "error"
    result: _Object = {"name": name, "response": {key: output_text(part)}}
    if own:
        result["id"] = own
    return {"functionResponse": result}
