"""What all formats of an export share: a chat's messages as they are read, and values as text."""

from collections.abc import AsyncGenerator

import msgspec

from holdfast.core.messages import Message
from holdfast.core.shapes import Json, encode_text

History = AsyncGenerator[Message]


def written(value: Json) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.format(encode_text(value), indent=2)


def one_line(text: str) -> str:
    return " ".join(text.split())
