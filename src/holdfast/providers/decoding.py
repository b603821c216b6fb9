"""Reads what providers send without trusting it: broken UTF-8, lone surrogates and odd types cost a slow
second look, never an unexpected exception."""

import json
from typing import Generic, TypeVar

import msgspec

from holdfast.core.text import clean_deep

T = TypeVar("T")


class Decoder(Generic[T]):
    def __init__(self, shape: type[T]) -> None:
        self._shape = shape
        self._decode = msgspec.json.Decoder(shape).decode

    def decode(self, payload: bytes) -> T | None:
        """None when it is no JSON of this shape at all."""
        try:
            return self._decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self._again(payload)

    def _again(self, payload: bytes) -> T | None:
        try:
            value = clean_deep(json.loads(payload.decode("utf-8", "replace")))
            return msgspec.convert(value, self._shape, strict=False)
        except (ValueError, RecursionError):
            # A msgspec.ValidationError is a ValueError.
            return None
