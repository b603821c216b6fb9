"""What was sent to a model, as a person reads it."""

import msgspec

from holdfast.core.parts import File, Notice, Part, Parts, Reasoning, Source, Text, ToolCall, ToolResult
from holdfast.core.shapes import Json, encode_text


def readable(parts: Parts) -> str:
    """One paragraph for each part: calls with their input, results with their outcome."""
    return "\n\n".join(text for part in parts if (text := _part(part)))


def _part(part: Part) -> str:
    match part:
        case Text(text=text) | Notice(text=text) | Reasoning(text=text):
            return text
        case ToolCall(name=name, input=given):
            return f"{name}({_value(given)})"
        case ToolResult(name=name, outcome=outcome, output=output):
            return f"{name}: {outcome}\n{_value(output)}".rstrip()
        case File(name=name):
            return name
        case Source(title=title, url=url):
            return title or url


def _value(value: Json) -> str:
    return value if isinstance(value, str) else "" if value is None else encode_text(value)


def decoded(text: str) -> str:
    """A text that was sent as JSON; anything else, and what was cut, as it is."""
    try:
        return msgspec.json.decode(text, type=str)
    except msgspec.MsgspecError:
        return text
