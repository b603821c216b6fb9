"""Reading JSON bodies: strictly typed, unknown fields refused, and nothing that the store or another client
could not carry."""

import asyncio
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
from litestar import Request
from msgspec import Meta

from holdfast.api.problems import BODY, Problem, invalid, of_decoding
from holdfast.core.parts import File, Parts, Text
from holdfast.core.shapes import Border, Json, check_json, encode

MAX_BODY_BYTES = 4 * 1024 * 1024
# Counted before parsing: a parser holds the event loop until it is done, and the many values of a few MiB
# also take long to check.
MOST_VALUES = 50_000
# How much is counted at a time. Other work of the process goes on in between.
_PIECE = 64 * 1024

# Invisible characters: spaces, controls, zero-width and bidirectional marks, fillers.
_INVISIBLE = re.compile(
    r"[\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]*"
)


class JsonRequest(Request[Any, Any, Any]):
    """Decodes the body strictly into the type that the handler declares."""

    async def json(self) -> Any:  # pyright: ignore[reportImplicitOverride] - the decorator is younger than 3.11
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Problem("unsupported_media_type", "The body must be application/json.")
        field = self.route_handler.parsed_data_field
        body = await self.body()
        await check_values(body)
        return decode(body, Any if field is None else field.annotation)


def decode(body: bytes, wanted: Any) -> Any:
    try:
        return msgspec.json.decode(body, type=wanted)
    except msgspec.DecodeError as error:
        raise of_decoding(error) from None
    except RecursionError:
        raise invalid(BODY, "nested too deeply") from None
    except UnicodeDecodeError:
        raise invalid(BODY, "not UTF-8") from None


class TextIn(Border, frozen=True, kw_only=True, tag="text", tag_field="type"):
    text: str


class FileIn(Border, frozen=True, kw_only=True, tag="file", tag_field="type"):
    file_id: str


Content = str | Annotated[list[TextIn | FileIn], Meta(min_length=1, max_length=100)]


def parts_of(content: Content, files: Mapping[str, File] = MappingProxyType({})) -> Parts:
    """What a person wrote, as parts. Content without anything visible is refused. `files` are those that the
    content may name."""
    parts: list[Text | File] = [Text(text=content)] if isinstance(content, str) else []
    for number, part in enumerate([] if isinstance(content, str) else content):
        if isinstance(part, TextIn):
            parts.append(Text(text=part.text))
        elif (file := files.get(part.file_id)) is not None:
            parts.append(file)
        else:
            raise invalid(f"content.{number}.file_id", f"there is no file {part.file_id[:64]!r}")
    if all(isinstance(part, Text) and _INVISIBLE.fullmatch(part.text) for part in parts):
        raise invalid("content", "it has no visible text and no file")
    return tuple(part for part in parts if isinstance(part, File) or part.text)


def checked_json(field: str, value: Json, *, most_bytes: int = MAX_BODY_BYTES) -> Json:
    try:
        check_json(value)
    except ValueError as error:
        raise invalid(field, str(error)) from None
    if most_bytes < MAX_BODY_BYTES and len(encode(value)) > most_bytes:
        raise invalid(field, f"larger than {most_bytes // 1024} KiB")
    return value


async def check_values(body: bytes) -> None:
    """Raises a problem if the body has too many values."""
    # A rough count first, which includes what is inside strings. If even that is low, the body is fine.
    if _signs(body) > MOST_VALUES and await asyncio.to_thread(count_values, body) > MOST_VALUES:
        raise invalid(BODY, f"it has more than {MOST_VALUES} values and keys")


def count_values(body: bytes, most: int = MOST_VALUES) -> int:
    """About how many keys, items and containers there are outside of strings. Counting stops past `most`. For
    invalid JSON the number means nothing; the parser refuses it later."""
    found, start, in_text = 0, 0, False
    while start < len(body) and found <= most:
        piece = body[start : start + _PIECE]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:
            # Keep the last backslash together with the character it escapes.
            piece = body[start : start + _PIECE + 1]
        parts = piece.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        found += sum(_signs(part) for part in parts[1 if in_text else 0 :: 2])
        in_text ^= len(parts) % 2 == 0
        start += len(piece)
    return found


def _signs(text: bytes) -> int:
    return text.count(b",") + text.count(b":") + text.count(b"[") + text.count(b"{")
