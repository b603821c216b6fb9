"""Cuts what is too large for one event: long texts end early, long lists and objects stop, our own fields
stay. The result says so (`truncated`); REST has the whole."""

from typing import Any, cast

import msgspec

from holdfast.core.shapes import encode

LONGEST_TEXT = 64 * 1024
# However little room is left, this much of a text stays: ids are never cut.
SHORTEST_TEXT = 64
# The depth of our own lists (queue items, waiting calls) and fields (of a part of a message).
OUR_LISTS = 2
OUR_FIELDS = 4
ELLIPSIS = "…"
# Roughly the size of a number or a word.
_SCALAR = 24


def cut_to_fit(data: bytes, limit: int) -> bytes:
    """JSON of an object, as JSON of at most this many bytes. Its cost depends on what is left, not on the
    original size."""
    whole: dict[str, Any] = msgspec.json.decode(data)
    room = limit
    while True:
        # Escaped text takes more bytes than counted here.
        room = room * 3 // 4
        cut = encode({**_Scissors(room).cut(whole, 0), "truncated": True})
        if len(cut) <= limit:
            return cut


class _Scissors:
    def __init__(self, room: int) -> None:
        self._room = room

    def cut(self, value: Any, depth: int) -> Any:
        match value:
            case str():
                return self._cut_text(value)
            case list():
                return self._cut_list(cast(list[Any], value), depth + 1)
            case dict():
                return self._cut_object(cast(dict[str, Any], value), depth + 1)
            case _:
                self._room -= _SCALAR
                return value

    def _cut_text(self, text: str) -> str:
        if len(text) > (longest := max(SHORTEST_TEXT, min(LONGEST_TEXT, self._room))):
            text = text[:longest] + ELLIPSIS
        self._room -= len(text) if text.isascii() else len(text.encode())
        return text

    def _cut_list(self, items: list[Any], depth: int) -> list[Any]:
        kept: list[Any] = []
        for item in items:
            if self._room <= 0 and depth > OUR_LISTS:
                break
            kept.append(self.cut(item, depth))
        return kept

    def _cut_object(self, fields: dict[str, Any], depth: int) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for name, item in fields.items():
            if self._room <= 0 and depth > OUR_FIELDS:
                break
            self._room -= len(name) + _SCALAR
            kept[self._cut_text(name)] = self.cut(item, depth)
        return kept
