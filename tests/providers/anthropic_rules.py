"""What the Anthropic messages format refuses, in the words the real one uses."""

import hashlib
import re
from collections.abc import Iterator

from tests.providers.openai_rules import Object, Refused

_FIELDS = {
    *(
        "model",
        "max_tokens",
        "messages",
        "system",
        "stream",
        "tools",
        "tool_choice",
        "thinking",
        "temperature",
    ),
    *("top_p", "top_k", "stop_sequences", "metadata", "cache_control", "output_config", "service_tier"),
}
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_ID = re.compile(r"[a-zA-Z0-9_-]+")
# These think as they see fit: no budget, no sampling.
_ADAPTIVE = ("claude-opus-4-7", "claude-opus-4-8", "claude-opus-5", "claude-sonnet-5", "claude-haiku-5")
_BOUND = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5")


def refuse(text: str, status: int = 400, kind: str = "invalid_request_error") -> Refused:
    return Refused(
        status, {"type": "error", "error": {"type": kind, "message": text}, "request_id": "req_test"}
    )


def signature_of(text: str) -> str:
    """What the server signs its thinking with, so that it knows it again."""
    return "sig-" + hashlib.sha256(text.encode()).hexdigest()[:24]


def check(body: Object, headers: dict[str, str]) -> None:
    for name in body:
        if name not in _FIELDS:
            raise refuse(f"{name}: Extra inputs are not permitted")
    for name in ("model", "max_tokens", "messages"):
        if name not in body:
            raise refuse(f"{name}: Field required")
    if "anthropic-version" not in headers:
        raise refuse("anthropic-version: header is required")
    _check_options(body, headers)
    _check_marks(body)
    messages = body["messages"]
    if not messages:
        raise refuse("messages: at least one message is required")
    if messages[0]["role"] != "user":
        raise refuse('messages: first message must use the "user" role')
    for number, message in enumerate(messages):
        _check_message(number, message)
    _check_calls(messages)
    if messages[-1]["role"] == "assistant":
        raise refuse(
            "This model does not support assistant message prefill. It must end with a user message."
        )
    if body.get("thinking", {}).get("type") == "enabled":
        _check_thinking_first(messages)


def _check_options(body: Object, headers: dict[str, str]) -> None:
    model, thinking = str(body["model"]), body.get("thinking", {})
    adaptive = model.startswith(_ADAPTIVE)
    for name in ("temperature", "top_p", "top_k"):
        if name in body and adaptive:
            raise refuse(f"`{name}` is not supported by this model")
        if name in body and thinking.get("type") == "enabled" and body[name] != 1:
            raise refuse(f"`{name}` may only be set to 1 when thinking is enabled")
    if thinking.get("type") == "enabled":
        if adaptive:
            raise refuse(
                '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".'
            )
        if not 1024 <= thinking["budget_tokens"] < body["max_tokens"]:
            raise refuse("`max_tokens` must be greater than `thinking.budget_tokens`")
    if "block_binding" in thinking and "thinking-binding-controls" not in headers.get("anthropic-beta", ""):
        raise refuse("thinking.adaptive.block_binding: Extra inputs are not permitted")
    if body.get("tool_choice", {}).get("type") in ("any", "tool") and model.startswith(_BOUND[:2]):
        raise refuse("tool_choice: forcing a tool is not supported by this model")
    for number, tool in enumerate(body.get("tools", [])):
        if not _NAME.fullmatch(tool["name"]):
            raise refuse(
                f"tools.{number}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            )
        if str(tool.get("type", "custom")) not in (
            "custom",
            "web_search_20250305",
            "code_execution_20250825",
        ):
            raise refuse(f"tools.{number}: Input tag '{tool['type']}' found using 'type' does not match")
        if "type" not in tool and tool.get("input_schema", {}).get("type") != "object":
            raise refuse(f"tools.{number}.custom.input_schema.type: Input should be 'object'")


def _check_marks(body: Object) -> None:
    marks = sum("cache_control" in block for block in _all_blocks(body)) + ("cache_control" in body)
    if marks > 4:
        raise refuse(f"A maximum of 4 blocks with cache_control may be provided. Found {marks}.")


def _all_blocks(body: Object) -> Iterator[Object]:
    yield from body.get("tools", [])
    yield from body["system"] if isinstance(body.get("system"), list) else []
    for message in body["messages"]:
        yield from message["content"] if isinstance(message["content"], list) else []


def _check_message(number: int, message: Object) -> None:
    role, content = message["role"], message["content"]
    if role not in ("user", "assistant"):
        raise refuse(f"messages.{number}.role: Input should be 'user' or 'assistant'")
    if not content:
        raise refuse(f"messages.{number}: {role} messages must have non-empty content")
    results_over = False
    blocks: list[Object] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for index, block in enumerate(blocks):
        where = f"messages.{number}.content.{index}"
        _check_block(where, role, block)
        if block["type"] == "tool_result" and results_over:
            raise refuse(f"{where}: `tool_result` blocks must come first in their message")
        results_over = results_over or block["type"] != "tool_result"


def _check_block(where: str, role: str, block: Object) -> None:
    kind = block["type"]
    match kind:
        case "text":
            if not block["text"]:
                raise refuse("messages: text content blocks must be non-empty")
            if not block["text"].strip():
                raise refuse("messages: text content blocks must contain non-whitespace text")
        case "tool_use" if role == "assistant":
            if not _ID.fullmatch(block["id"]):
                raise refuse(f"{where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
            if not _NAME.fullmatch(block["name"]):
                raise refuse(f"{where}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
            if not isinstance(block["input"], dict):
                raise refuse(f"{where}.tool_use.input: Input should be a valid dictionary")
        case "thinking" if role == "assistant":
            if "signature" not in block:
                raise refuse(f"{where}.thinking.signature: Field required")
            if block["signature"] != signature_of(block["thinking"]):
                raise refuse(f"{where}: Invalid `signature` in `thinking` block")
        case "redacted_thinking" | "server_tool_use" | "web_search_tool_result" if role == "assistant":
            pass
        case "tool_result" | "image" | "document" if role == "user":
            pass
        case _:
            raise refuse(f"{where}.type: '{kind}' is not permitted here")


def _blocks(message: Object, kind: str) -> list[Object]:
    content: list[Object] | str = message["content"]
    return [block for block in content if block["type"] == kind] if isinstance(content, list) else []


def _check_calls(messages: list[Object]) -> None:
    seen: set[str] = set()
    for number, message in enumerate(messages):
        ids = [block["id"] for block in _blocks(message, "tool_use")]
        for call_id in ids:
            if call_id in seen:
                raise refuse(f"messages.{number}: `tool_use` ids must be unique")
            seen.add(call_id)
        following: Object = messages[number + 1] if number + 1 < len(messages) else {"content": []}
        results = [block["tool_use_id"] for block in _blocks(following, "tool_result")]
        if missing := [call_id for call_id in ids if call_id not in results]:
            text = f"messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately"
            text += f" after: {', '.join(missing)}. Each `tool_use` block must have a corresponding"
            raise refuse(f"{text} `tool_result` block in the next message.")
        for index, result in enumerate(results):
            if result not in ids:
                text = (
                    f"messages.{number + 1}.content.{index}: unexpected `tool_use_id` found in `tool_result`"
                )
                text += f" blocks: {result}. Each `tool_result` block must have a corresponding `tool_use`"
                raise refuse(f"{text} block in the previous message.")
            if results.count(result) > 1:
                text = "each tool_use must have a single result. Found multiple `tool_result` blocks with id"
                raise refuse(f"{text}: {result}")
    if _blocks(messages[0], "tool_result"):
        raise refuse("messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks")


def _check_thinking_first(messages: list[Object]) -> None:
    if not _blocks(messages[-1], "tool_result"):
        return
    last = messages[-2]["content"][0]["type"]
    if last not in ("thinking", "redacted_thinking"):
        text = f"messages.{len(messages) - 2}.content.0.type: Expected `thinking` or `redacted_thinking`, but"
        text += f" found `{last}`. When `thinking` is enabled, a final `assistant` message must start with a"
        raise refuse(f"{text} thinking block.")
