"""Requests as they would be sent, and whether their provider would take them."""

import json
from typing import Any

from holdfast.providers.anthropic import AnthropicFormat
from holdfast.providers.configs import ModelConfig
from holdfast.providers.families import FAMILIES
from holdfast.providers.google import GoogleFormat
from holdfast.providers.interface import ModelRequest, PromptMessage
from holdfast.providers.openai import OpenAIFormat
from holdfast.providers.responses import ResponsesFormat
from holdfast.providers.wire import WireFormat
from tests.providers import anthropic_rules, google_rules, openai_rules, responses_rules
from tests.providers.calling import NOTE
from tests.providers.histories import FILES

MODELS = {
    "anthropic": "claude-sonnet-5",
    "openrouter": "anthropic/claude-sonnet-5",
    "deepseek": "deepseek-flash",
    "google": "gemini-3.8-flash",
}
ALL = ("anthropic", "google", "responses", *FAMILIES)


def wire(family: str) -> WireFormat:
    match family:
        case "anthropic":
            return AnthropicFormat()
        case "google":
            return GoogleFormat()
        case "responses":
            return ResponsesFormat(FAMILIES["openai"])
        case _:
            return OpenAIFormat(FAMILIES[family])


def model(family: str, **more: Any) -> ModelConfig:
    given: dict[str, Any] = {"model": MODELS.get(family, "some-model"), "max_output": 4096, **more}
    return ModelConfig(name="default", provider="here", **given)


def make(family: str, messages: tuple[PromptMessage, ...], **more: Any) -> ModelRequest:
    fields: dict[str, Any] = {"model": model(family), "tools": (NOTE,), "files": FILES, **more}
    return ModelRequest(messages=messages, **fields)


def sent(family: str, messages: tuple[PromptMessage, ...], **more: Any) -> dict[str, Any]:
    return json.loads(wire(family).body(make(family, messages, **more)))


def check(family: str, request: ModelRequest) -> dict[str, Any]:
    """Raises what the provider would answer if it refused this."""
    body = json.loads(wire(family).body(request))
    if family == "anthropic":
        anthropic_rules.check(body, wire(family).headers(request, "key"))
    elif family == "google":
        google_rules.check(request.model.model, body, wire(family).path(request))
    elif family == "responses":
        responses_rules.check(body, (), ())
    else:
        openai_rules.check(family, body)
    return body
