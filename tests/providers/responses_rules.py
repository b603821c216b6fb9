"""What the OpenAI responses format refuses, in the words the real one uses."""

import hashlib
import re
from collections.abc import Collection
from typing import Any

import msgspec

from tests.providers.openai_rules import Object, Refused, refuse

_FIELDS = {
    *("model", "input", "instructions", "stream", "store", "max_output_tokens", "temperature", "top_p"),
    *("tools", "tool_choice", "parallel_tool_calls", "reasoning", "include", "previous_response_id"),
    *("prompt_cache_key", "truncation", "metadata", "text", "user", "service_tier", "stream_options"),
}
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_TYPES = {
    *("message", "function_call", "function_call_output", "reasoning", "web_search_call"),
    "code_interpreter_call",
}


def sealed(text: str) -> str:
    """Reasoning as only this server reads it."""
    return "enc-" + hashlib.sha256(text.encode()).hexdigest()[:24] + "-" + text.encode().hex()


def _is_sealed(content: str) -> bool:
    _, _, rest = content.partition("enc-")
    try:
        return sealed(bytes.fromhex(rest[25:]).decode()) == content
    except ValueError:
        return False


def check(body: Object, known: Collection[str], open_calls: Collection[str]) -> None:
    """`known`: the responses that are kept; `open_calls`: those of the previous response without results."""
    for name in body:
        if name not in _FIELDS:
            raise _refuse(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
    if not isinstance(body.get("model"), str):
        raise _refuse("Missing required parameter: 'model'.", "model")
    previous = body.get("previous_response_id")
    if previous is not None and previous not in known:
        text = f"Previous response with id '{previous}' not found."
        raise _refuse(text, "previous_response_id", "previous_response_not_found")
    items = body.get("input")
    if not items and previous is None:
        raise _refuse("Missing required parameter: 'input'.", "input")
    if isinstance(items, str):
        return
    _check_tools(body)
    for number, item in enumerate(items or []):
        _check_item(number, item, store=body.get("store", True))
    _check_order(items or [], open_calls if previous is not None else ())


def _check_tools(body: Object) -> None:
    for number, tool in enumerate(body.get("tools", [])):
        if tool.get("type") == "function":
            if not _NAME.fullmatch(tool.get("name", "")):
                raise _refuse(f"Invalid 'tools[{number}].name'", f"tools[{number}].name")
            if tool.get("strict", True) and "additionalProperties" not in tool["parameters"]:
                text = "Invalid schema for function: 'additionalProperties' is required to be supplied."
                raise _refuse(text, f"tools[{number}].parameters", "invalid_function_parameters")
        elif tool.get("type") not in ("web_search", "code_interpreter"):
            raise _refuse(f"Invalid value: '{tool.get('type')}'.", f"tools[{number}].type")
    if "tool_choice" in body and not body.get("tools"):
        raise _refuse("Tool choice is only allowed when tools are specified.", "tool_choice")


def _check_item(number: int, item: Object, *, store: bool) -> None:
    kind = item.get("type", "message")
    if kind not in _TYPES:
        raise _refuse(f"Invalid value: '{kind}'.", f"input[{number}].type")
    if kind == "message":
        if item.get("role") not in ("user", "assistant", "system", "developer"):
            raise _refuse("Invalid value for 'role'.", f"input[{number}].role")
        content: Any = item.get("content")
        if not content:
            raise _refuse(f"Missing required parameter: 'input[{number}].content'.", f"input[{number}]")
        wanted = "output_text" if item["role"] == "assistant" else "input_text"
        for chunk in () if isinstance(content, str) else content:
            if chunk["type"] not in (wanted, "input_image", "input_file", "refusal"):
                text = f"Invalid value: '{chunk['type']}'. Supported values are: '{wanted}'."
                raise _refuse(text, f"input[{number}].content")
    if kind == "function_call":
        try:
            arguments = msgspec.json.decode(item["arguments"])
        except (msgspec.DecodeError, TypeError):
            arguments = None
        if not isinstance(arguments, dict) or len(item["call_id"]) > 64 or not item["call_id"]:
            raise _refuse(f"Invalid 'input[{number}].arguments' or call_id", f"input[{number}]")
    if kind == "reasoning":
        content = item.get("encrypted_content")
        if content is None and not store:
            text = f"Item with id '{item.get('id')}' not found. Items are not kept when `store` is false."
            raise _refuse(text, "input", status=404)
        if content is not None and not _is_sealed(content):
            text = "The encrypted content could not be verified."
            raise _refuse(text, "input", "invalid_encrypted_content")


def _check_order(items: list[Object], open_calls: Collection[str]) -> None:
    waiting = list(open_calls)
    for number, item in enumerate(items):
        match item.get("type", "message"):
            case "function_call":
                waiting.append(item["call_id"])
            case "function_call_output":
                if item["call_id"] not in waiting:
                    text = f"No tool call found for function call output with call_id {item['call_id']}."
                    raise _refuse(text, "input")
                waiting.remove(item["call_id"])
            case "reasoning":
                follows = items[number + 1].get("type", "message") if number + 1 < len(items) else ""
                role = items[number + 1].get("role", "") if number + 1 < len(items) else ""
                if not follows or role == "user" or follows == "function_call_output":
                    text = f"Item '{item['id']}' of type 'reasoning' was provided without its required "
                    raise _refuse(f"{text}following item.", "input")
            case _:
                if waiting and item.get("role") == "user":
                    raise _refuse(f"No tool output found for function call {waiting[0]}.", "input")
    if waiting:
        raise _refuse(f"No tool output found for function call {waiting[0]}.", "input")


def _refuse(text: str, param: str | None = None, code: str | None = None, status: int = 400) -> Refused:
    return refuse("openai", text, param, code, status)
