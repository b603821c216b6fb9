"""Text that every part of the system can carry. NUL (refused by PostgreSQL) and lone surrogates (not allowed
in UTF-8) become U+FFFD once, before anything is decided, so that both engines store the same text and
watchers see what is stored."""

from typing import Any, TypeVar, cast

import msgspec

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

T = TypeVar("T")


def clean(text: str) -> str:
    if "\0" in text:
        text = text.replace("\0", REPLACEMENT)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean_deep(value: T) -> T:
    """`clean` for every string inside records, lists and mappings. Values that need no change are returned as
    they are."""
    try:
        # Encoding detects both problems far faster than a walk, and nearly always finds neither.
        if b"\\u0000" not in _encode(value):
            return value
    except UnicodeEncodeError:
        pass
    return cast(T, _clean(value))


_encode = msgspec.json.Encoder().encode


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, msgspec.Struct):
        changed: dict[str, Any] = {}
        for name in value.__struct_fields__:
            before = getattr(value, name)
            after = _clean(before)
            if after is not before:
                changed[name] = after
        return msgspec.structs.replace(value, **changed) if changed else value
    if isinstance(value, (list, tuple)):
        items: list[Any] = [_clean(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
        same = all(a is b for a, b in zip(items, value, strict=True))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return value if same else type(value)(items)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value


def one_line(text: str, limit: int) -> str:
    """The text on one line of at most `limit` characters, for titles and summaries."""
    line = " ".join(clean(text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
