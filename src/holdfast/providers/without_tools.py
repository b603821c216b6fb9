"""A history for a model that knows no tools: calls and their results, told in words. Providers refuse calls
and results in requests to such models."""

from collections.abc import Iterable

from holdfast.core.parts import Part, Text, ToolCall, ToolResult
from holdfast.providers.encoding import stable_text
from holdfast.providers.interface import PromptMessage
from holdfast.providers.wording import output_text


def told_in_words(messages: Iterable[PromptMessage]) -> tuple[PromptMessage, ...]:
    return tuple(_told(message) for message in messages)


def _told(message: PromptMessage) -> PromptMessage:
    if not any(isinstance(part, (ToolCall, ToolResult)) for part in message.parts):
        return message
    role = "user" if message.role == "tool" else message.role
    return PromptMessage(role=role, parts=tuple(_words(part) for part in message.parts))


def _words(part: Part) -> Part:
    match part:
        case ToolCall(name=name, input=given):
            return Text(text=f"[I called the tool {name} with {stable_text(given)}]")
        case ToolResult(name=name):
            return Text(text=f"[The tool {name} answered: {output_text(part)}]")
        case _:
            return part
