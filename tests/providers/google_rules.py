"""What Google's generateContent format refuses, in the words the real one uses."""

import re

from tests.providers.openai_rules import Object, Refused

_FIELDS = {
    *("contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings"),
    *("cachedContent", "labels"),
}
_SETTINGS = {
    *("maxOutputTokens", "temperature", "topP", "topK", "presencePenalty", "frequencyPenalty"),
    *("thinkingConfig", "stopSequences", "seed", "responseMimeType", "responseSchema", "candidateCount"),
    "responseModalities",
}
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.-]{0,63}")
NO_THOUGHTS = "skip_thought_signature_validator"


def refuse(text: str, status: int = 400, kind: str = "INVALID_ARGUMENT") -> Refused:
    return Refused(status, {"error": {"code": status, "message": text, "status": kind}})


def check(model: str, body: Object, path: str) -> None:
    if "key=" in path:
        raise refuse("a key in the address")
    for name in body:
        if name not in _FIELDS:
            raise refuse(f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.')
    for name in body.get("generationConfig", {}):
        if name not in _SETTINGS:
            text = f"Invalid JSON payload received. Unknown name \"{name}\" at 'generation_config'."
            raise refuse(text)
    contents: list[Object] = body.get("contents") or []
    if not contents:
        raise refuse("* GenerateContentRequest.contents: contents is not specified")
    modern = model.startswith(("gemini-3", "gemini-4"))
    _check_tools(body, modern=modern)
    _check_thinking(model, body)
    for number, content in enumerate(contents):
        _check_content(number, content)
    _check_calls(contents, modern=modern)


def _check_tools(body: Object, *, modern: bool) -> None:
    tools = body.get("tools", [])
    own = any("functionDeclarations" in tool for tool in tools)
    theirs = any("googleSearch" in tool or "codeExecution" in tool for tool in tools)
    if own and theirs and not modern:
        raise refuse("Tool use with function calling is unsupported")
    served = body.get("toolConfig", {}).get("includeServerSideToolInvocations")
    if served and not modern:
        raise refuse("Tool call context circulation is not enabled for this model.")
    for tool in tools:
        for declaration in tool.get("functionDeclarations", []):
            if not _NAME.fullmatch(declaration["name"]):
                text = "Invalid function name. Must start with a letter or an underscore."
                raise refuse(f"* GenerateContentRequest.tools[0].function_declarations[0].name: {text}")


def _check_thinking(model: str, body: Object) -> None:
    thinking = body.get("generationConfig", {}).get("thinkingConfig", {})
    if "thinkingLevel" in thinking and model.startswith("gemini-2.5"):
        raise refuse("Thinking level is not supported for this model.")
    if thinking and model.startswith(("gemini-2.0", "gemma")):
        raise refuse("Thinking is not enabled for this model")
    if thinking.get("thinkingBudget") == 0 and "2.5-pro" in model:
        raise refuse("Budget 0 is invalid. This model only works in thinking mode.")


def _check_content(number: int, content: Object) -> None:
    if content.get("role") not in ("user", "model"):
        raise refuse("Please use a valid role: user, model.")
    if not content.get("parts"):
        raise refuse(f"* GenerateContentRequest.contents[{number}].parts: contents.parts must not be empty.")
    for part in content["parts"]:
        if not set(part) - {"thoughtSignature", "thought"}:
            text = "required oneof field 'data' must have one initialized field"
            raise refuse(f"* GenerateContentRequest.contents[{number}].parts[0].data: {text}")


def _check_calls(contents: list[Object], *, modern: bool) -> None:
    if contents[0]["role"] != "user" and any("functionCall" in part for part in contents[0]["parts"]):
        raise refuse(
            "Please ensure that function call turn comes immediately after a user turn or after a function "
            "response turn."
        )
    waiting: list[str] = []
    for number, content in enumerate(contents):
        answered = [
            part["functionResponse"]["name"] for part in content["parts"] if "functionResponse" in part
        ]
        if answered != waiting:
            if answered and not waiting:
                text = (
                    "Please ensure that function response turn comes immediately after a function call turn."
                )
            else:
                text = (
                    "Please ensure that the number of function response parts is equal to the number of "
                    "function call parts of the function call turn."
                )
            raise refuse(text)
        calls = [part for part in content["parts"] if "functionCall" in part]
        waiting = [part["functionCall"]["name"] for part in calls]
        if calls and modern:
            signature = calls[0].get("thoughtSignature", "")
            if not signature:
                raise refuse(
                    "Function call is missing a thought_signature in functionCall parts. This is required "
                    f"for tools to work correctly: function call `{waiting[0]}`, position {number}."
                )
            if not signature.startswith("sig-") and signature != NO_THOUGHTS:
                raise refuse("Corrupted thought signature.")
    if waiting:
        raise refuse("Please ensure that function call turn is followed by a function response turn.")
