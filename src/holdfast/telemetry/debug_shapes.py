"""What a model was asked and what it answered, in our own format, as the debug record stores it: bounded,
without secrets and without the contents of files."""

from collections.abc import Sequence
from typing import cast

import msgspec
from msgspec import Raw

from holdfast.core.parts import Part, Reasoning, Text
from holdfast.core.shapes import Json, encode, encode_text
from holdfast.providers.assemble import ModelAnswer
from holdfast.providers.exchange_redaction import BODY_BYTES, TEXT_CHARACTERS, ExchangeRedactor
from holdfast.providers.interface import ModelRequest, PromptMessage


def request_shape(request: ModelRequest, redactor: ExchangeRedactor) -> str:
    """The newest messages, as many as fit; `left_out` says how many are before them."""
    kept: list[Raw] = []
    left = BODY_BYTES
    for message in reversed(request.messages):
        shape = _message_shape(message, redactor)
        left -= len(shape)
        if kept and left < 0:
            break
        kept.append(Raw(shape))
    rest: Json = {
        "model": request.model.model,
        "left_out": len(request.messages) - len(kept),
        "tools": [tool.name for tool in request.tools],
        "tool_choice": request.tool_choice
        if isinstance(request.tool_choice, str)
        else request.tool_choice.name,
        "provider_tools": list(request.provider_tools),
        "effort": request.effort,
        "max_output": request.max_output or request.model.max_output,
    }
    system = [Raw(_system_shape(text, redactor)) for text in request.system]
    fields = _fields(redactor.encoded(rest))
    return encode_text({**fields, "system": system, "messages": kept[::-1]})


def answer_shape(answer: ModelAnswer, redactor: ExchangeRedactor) -> str:
    shape: Json = {
        "parts": parts_shape(answer.parts, redactor),
        "stop_reason": answer.stop_reason,
        "response_id": answer.response_id,
        "model": answer.model,
    }
    return redactor.encoded(shape).decode()


def _message_shape(message: PromptMessage, redactor: ExchangeRedactor) -> bytes:
    def shape() -> Json:
        return {"role": message.role, "parts": parts_shape(message.parts, redactor)}

    return redactor.once(encode(message), shape)


def _system_shape(text: str, redactor: ExchangeRedactor) -> bytes:
    return redactor.once(text.encode("utf-8", "replace"), lambda: _text_shape("text", text, redactor))


def parts_shape(parts: Sequence[Part], redactor: ExchangeRedactor) -> list[Json]:
    return [_part_shape(part, redactor) for part in parts]


def _part_shape(part: Part, redactor: ExchangeRedactor) -> Json:
    match part:
        case Text(text=text):
            return _text_shape("text", text, redactor)
        case Reasoning(text=text):
            return _text_shape("reasoning", text, redactor)
        case _:
            shape = cast(dict[str, Json], msgspec.to_builtins(part))
            shape.pop("provider_data", None)
            return shape


def _text_shape(kind: str, text: str, redactor: ExchangeRedactor) -> Json:
    """Redacted before it is cut: half of a key is not known for one."""
    kept = text if len(text) <= TEXT_CHARACTERS else redactor.text(text)[:TEXT_CHARACTERS]
    return {"type": kind, "text": kept, "text_length": len(text)}


_fields = msgspec.json.Decoder(dict[str, Raw]).decode
