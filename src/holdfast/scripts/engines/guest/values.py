"""Values as JSON: a copy. What JSON has no word for becomes the nearest thing, and one warning says so; only
what is too large is refused."""

import dataclasses
import decimal
import enum
import fractions
import math
from collections import deque
from collections.abc import Callable, ItemsView, KeysView, Mapping, ValuesView
from typing import Any

from surroundings import DATETIME

MAX_TOLD = 5
_LISTS = (list, tuple, set, frozenset, range, deque, KeysView, ValuesView, ItemsView)


class Packing:
    def __init__(self, limits: Mapping[str, Any], warn: Callable[[str], None]) -> None:
        self._bytes = int(limits["value_bytes"])
        self._depth = int(limits["value_depth"])
        self._warn = warn

    def packed(self, value: object, what: str) -> Any:
        copy = _Copy(what, self._bytes, self._depth)
        made = copy.of(value, what)
        told = copy.changed
        if told:
            more = f"; and {len(told) - MAX_TOLD} more" if len(told) > MAX_TOLD else ""
            self._warn("Not everything is JSON: " + "; ".join(told[:MAX_TOLD]) + more + ".")
        return made


class ResultTooLarge(TypeError):
    pass


class _Copy:
    def __init__(self, what: str, most_bytes: int, depth: int) -> None:
        self._what = what
        self._most = most_bytes
        self._left = most_bytes
        self._depth = depth
        self._above: list[object] = []
        self.changed: list[str] = []

    def of(self, value: object, path: str) -> Any:
        self._take(8 + (len(value) if isinstance(value, str) else 0))
        if isinstance(value, enum.Enum):
            return self.of(value.value, path)
        match value:
            case None | bool() | str():
                return value
            case int():
                return self._whole(value, path)
            case float():
                if math.isfinite(value):
                    return value
                return self._instead(f"{path} is {value}: None", None)
            case dict():
                return self._within(value, path, self._members)
            case _ if isinstance(value, _LISTS):
                return self._within(value, path, self._items)
            case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
                fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
                return self._within(value, path, lambda _, path: self._members(fields, path))
            case DATETIME.date() | DATETIME.time():
                return self._instead(f"{path} is a {type(value).__name__}: its text", value.isoformat())
            case decimal.Decimal() | fractions.Fraction():
                return self._instead(f"{path} is a {type(value).__name__}: its text", str(value))
            case _ if hasattr(value, "__await__"):
                return self._instead(f"{path} was not awaited: None", None)
            case _:
                return self._instead(f"{path} is a {type(value).__name__}: None", None)

    def _take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ResultTooLarge(f"{self._what} must be JSON: it is larger than {self._most} bytes")

    def _instead(self, told: str, value: Any) -> Any:
        self.changed.append(told)
        return value

    def _whole(self, value: int, path: str) -> Any:
        if abs(value) < 2**63:
            return int(value)
        if value.bit_length() > 10_000:
            return self._instead(f"{path} is a number beyond 64 bits: None", None)
        return self._instead(f"{path} is a number beyond 64 bits: text", str(value))

    def _within(self, value: Any, path: str, copy: Callable[[Any, str], Any]) -> Any:
        if any(outer is value for outer in self._above):
            return self._instead(f"{path} contains itself: None", None)
        if len(self._above) >= self._depth:
            return self._instead(f"{path} is nested deeper than {self._depth}: None", None)
        self._above.append(value)
        made = copy(value, path)
        self._above.pop()
        return made

    def _members(self, value: dict[Any, Any], path: str) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                self.changed.append(f"{path} has the key {key!r:.100}: text")
                key = str(key)
            self._take(len(key))
            made[key] = self.of(item, f"{path}.{key}"[:200])
        return made

    def _items(self, value: Any, path: str) -> list[Any]:
        if isinstance(value, (set, frozenset)):
            try:
                value = sorted(value)
            except TypeError:
                value = list(value)
        return [self.of(item, f"{path}[{index}]") for index, item in enumerate(value)]
