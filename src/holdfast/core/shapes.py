"""The two base classes of all data. A Record is our own: it is read tolerantly, so that rows of an older or
newer version can be read. A Border is somebody else's input: unknown fields are refused. Both are frozen and
encode to JSON exactly."""

import math
from typing import cast

import msgspec

# Any JSON value. It stays opaque: only the code at the borders looks inside.
Json = object


class Record(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Our own data, stored or sent. It holds only data, so it is never part of a reference cycle and the
    garbage collector can skip it: a busy server has very many of them."""


class Border(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A caller's data."""


_encoder = msgspec.json.Encoder()
MAX_INTEGER = 2**63 - 1
MAX_DEPTH = 128


def encode(value: object) -> bytes:
    return _encoder.encode(value)


def encode_text(value: object) -> str:
    return _encoder.encode(value).decode()


def check_json(value: Json, depth: int = 0) -> None:
    """Refuses JSON that not every engine and client could carry: huge integers, NaN, very deep nesting."""
    if depth > MAX_DEPTH:
        raise ValueError(f"JSON is nested deeper than {MAX_DEPTH}")
    if type(value) is str:
        # Most values are of these types, and a match statement takes ten times as long.
        return
    match value:
        case bool() | None | str():
            return
        case int():
            if abs(value) > MAX_INTEGER:
                raise ValueError("an integer is larger than 64 bits")
        case float():
            if not math.isfinite(value):
                raise ValueError("NaN and Infinity are not JSON")
        case list():
            for item in cast(list[Json], value):
                check_json(item, depth + 1)
        case dict():
            for key, item in cast(dict[object, Json], value).items():
                if not isinstance(key, str):
                    raise ValueError("a key of an object is not text")
                check_json(item, depth + 1)
        case _:
            raise ValueError(f"{type(value).__name__} is not JSON")
