"""What the OpenAI chat format and its families refuse, in the words the real ones use."""

import re
from itertools import pairwise
from typing import Any

import msgspec

Object = dict[str, Any]


class Refused(Exception):
    def __init__(self, status: int, body: Object) -> None:
        super().__init__(str(body))
        self.status = status
        self.body = body


_FIELDS = {
    *("model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature"),
    *("top_p", "presence_penalty", "frequency_penalty", "tools", "tool_choice", "parallel_tool_calls"),
    *("reasoning_effort", "response_format", "stop", "seed", "user", "prompt_cache_key", "verbosity", "n"),
}
_EXTRA = {
    "deepseek": {"thinking"},
    "openrouter": {"usage", "reasoning", "provider", "top_k", "cache_control"},
    "groq": {"reasoning_format", "include_reasoning"},
    "vllm": {"top_k", "chat_template_kwargs"},
    "llamacpp": {"top_k"},
    "ollama": {"reasoning"},
    "mistral": {"prompt_mode", "safe_prompt"},
}
_MISSING = {
    "mistral": {"stream_options", "max_completion_tokens", "verbosity", "user", "seed"},
    "deepseek": {"max_completion_tokens", "prompt_cache_key"},
}
_MESSAGE_FIELDS = {"role", "content", "name", "tool_calls", "tool_call_id", "refusal"}
_MESSAGE_EXTRA = {
    "deepseek": {"reasoning_content"},
    "openrouter": {"reasoning", "reasoning_details"},
    "mistral": {"prefix"},
}
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def refuse(
    family: str, text: str, param: str | None = None, code: str | None = None, status: int = 400
) -> Refused:
    if family == "mistral":
        kind = "invalid_request_message_order" if code == "3230" else "invalid_request_error"
        return Refused(
            status, {"object": "error", "message": text, "type": kind, "param": param, "code": code}
        )
    return Refused(
        status, {"error": {"message": text, "type": "invalid_request_error", "param": param, "code": code}}
    )


def check(family: str, body: Object) -> None:
    """Raises `Refused` for what a provider of this family would not take."""
    _check_fields(family, body)
    messages: list[Object] = body.get("messages") or []
    if not messages:
        raise refuse(
            family, "Invalid 'messages': empty array. Expected an array with minimum length 1.", "messages"
        )
    for number, message in enumerate(messages):
        _check_message(family, number, message)
    _check_order(family, messages)
    if family in ("ollama", "vllm", "llamacpp", "compatible", "mistral"):
        _check_turns(family, messages)
    _check_model(family, body)
    if family == "mistral":
        _check_mistral(messages)
    if family == "deepseek":
        _check_deepseek(body, messages)


def _check_fields(family: str, body: Object) -> None:
    known = (_FIELDS | _EXTRA.get(family, set())) - _MISSING.get(family, set())
    for name in body:
        if name not in known:
            if family == "mistral":
                raise Refused(
                    422, {"detail": [{"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra"}]}
                )
            raise refuse(family, f"Unrecognized request argument supplied: {name}", name)
    if not isinstance(body.get("model"), str):
        raise refuse(family, "you must provide a model parameter")
    if family == "openai" and "max_tokens" in body:
        text = "Unsupported parameter: 'max_tokens' is not supported with this model."
        raise refuse(
            family, f"{text} Use 'max_completion_tokens' instead.", "max_tokens", "unsupported_parameter"
        )
    if "tool_choice" in body and not body.get("tools"):
        text = "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."
        raise refuse(family, text, "tool_choice")
    for number, tool in enumerate(body.get("tools", [])):
        if tool.get("type") != "function" or not _NAME.fullmatch(tool["function"].get("name", "")):
            raise refuse(family, f"Invalid 'tools[{number}].function.name'", f"tools[{number}]")


def _check_message(family: str, number: int, message: Object) -> None:
    where = f"messages[{number}]"
    for name in message:
        if name not in _MESSAGE_FIELDS | _MESSAGE_EXTRA.get(family, set()):
            raise refuse(family, f"'{where}': property '{name}' is unsupported", f"{where}.{name}")
    role, content = message.get("role"), message.get("content")
    if role not in ("system", "developer", "user", "assistant", "tool"):
        raise refuse(family, f"Invalid value: '{role}'.", f"{where}.role")
    calls: list[Object] | None = message.get("tool_calls")
    if calls is not None and not calls:
        raise refuse(family, f"Invalid '{where}.tool_calls': empty array.", f"{where}.tool_calls")
    if not content and not calls:
        raise refuse(
            family, f"Invalid value for 'content': expected a string, got {content!r}.", f"{where}.content"
        )
    if isinstance(content, str) and content and not content.strip():
        raise refuse(family, "Invalid value for 'content': it is blank.", f"{where}.content")
    for index, call in enumerate(calls or []):
        _check_call(family, f"{where}.tool_calls[{index}]", call)


def _check_call(family: str, where: str, call: Object) -> None:
    if len(call.get("id", "")) > 40:
        text = f"Invalid '{where}.id': string too long. Expected a string with maximum length 40"
        raise refuse(family, f"{text}, but got a string with length {len(call['id'])} instead.", where)
    if not call.get("id"):
        raise refuse(family, f"Missing required parameter: '{where}.id'.", where)
    if not _NAME.fullmatch(call["function"]["name"]):
        text = f"Invalid '{where}.function.name': string does not match pattern. "
        raise refuse(family, text + "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", where)
    try:
        arguments = msgspec.json.decode(call["function"]["arguments"])
    except (msgspec.DecodeError, TypeError):
        arguments = None
    if not isinstance(arguments, dict):
        raise refuse(family, f"Invalid '{where}.function.arguments'", where)


def _check_order(family: str, messages: list[Object]) -> None:
    waiting: list[str] = []
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                text = (
                    "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
                )
                raise refuse(family, text, f"messages.[{number}].role")
            waiting.remove(message["tool_call_id"])
            continue
        _check_answered(family, number, waiting)
        waiting = [call["id"] for call in _calls(message)]
        if len(set(waiting)) != len(waiting):
            raise refuse(family, "Duplicate value for 'tool_call_id'", f"messages.[{number}].tool_calls")
    _check_answered(family, len(messages), waiting)
    if messages[-1]["role"] == "assistant":
        raise refuse(family, "Expected last role User or Tool for serving but got assistant", "messages")


def _check_answered(family: str, number: int, waiting: list[str]) -> None:
    if waiting:
        text = "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
        text += " 'tool_call_id'. The following tool_call_ids did not have response messages: "
        text += ", ".join(waiting)
        raise refuse(family, text, f"messages.[{number}].role")


def _check_turns(family: str, messages: list[Object]) -> None:
    """As the templates of Gemma and Mistral do, which local servers apply."""
    for before, message in pairwise(messages):
        if before["role"] == message["role"] == "user":
            text = "Conversation roles must alternate user/assistant/user/assistant/..."
            raise refuse(family, text)


def _check_model(family: str, body: Object) -> None:
    """Models with limits of their own, known by name: `...-8k` has a context of 8192 tokens, `...-short`
    writes 1000 tokens at most, `...-plain` knows no tools."""
    model, asked = body["model"], body.get("max_tokens") or body.get("max_completion_tokens") or 0
    if model.endswith("-8k"):
        prompt = len(msgspec.json.encode(body["messages"])) // 4
        if prompt + asked > 8192:
            text = f"'max_tokens' or 'max_completion_tokens' is too large: {asked}. This model's maximum "
            text += f"context length is 8192 tokens and your request has {prompt} input tokens "
            text += f"({asked} > 8192 - {prompt})."
            raise refuse(family, text, "max_tokens")
    if model.endswith("-short") and asked > 1000:
        text = (
            f"max_tokens is too large: {asked}. This model supports at most 1000 completion tokens, whereas "
        )
        raise refuse(family, f"{text}you provided {asked}.", "max_tokens", "invalid_value")
    if model.endswith("-plain") and (body.get("tools") or any(_calls(one) for one in body["messages"])):
        raise refuse(family, f"registry.ollama.ai/library/{model} does not support tools")


def _check_mistral(messages: list[Object]) -> None:
    for before, message in pairwise(messages):
        if before["role"] == "tool" and message["role"] == "user":
            raise refuse("mistral", "Unexpected role 'user' after role 'tool'", code="3230")
    for message in messages:
        for call in _calls(message):
            if not re.fullmatch(r"[a-zA-Z0-9]{9}", call["id"]):
                text = f"Tool call id was {call['id']} but must be a-z, A-Z, 0-9, with a length of 9."
                raise refuse("mistral", text, code="3280")


def _check_deepseek(body: Object, messages: list[Object]) -> None:
    if body.get("thinking", {}).get("type") == "disabled":
        return
    called = False
    for message in messages:
        if message["role"] == "user":
            called = False
        if message["role"] == "assistant":
            called = called or bool(message.get("tool_calls"))
            if called and not message.get("reasoning_content"):
                text = "The `reasoning_content` in the thinking mode must be passed back to the API."
                raise refuse("deepseek", text, code="invalid_request_error")
            if not called and "reasoning_content" in message:
                raise refuse("deepseek", "reasoning_content without a tool call is of no use here")


def _calls(message: Object) -> list[Object]:
    return message.get("tool_calls") or []
