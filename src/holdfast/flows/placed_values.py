"""YAML (and JSON, which is YAML too) as values that know their line and column. Read event by event, so
that nothing is built before it is counted: no anchors, aliases, tags or duplicate keys, limited depth
and count. Scalars have the types of JSON; `yes`, `on` and `12:30` are strings."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml import events

from holdfast.core.errors import BadFlow
from holdfast.core.shapes import MAX_INTEGER, Json

MAX_BYTES = 512 * 1024
MAX_VALUES = 100_000
MAX_DEPTH = 40

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[-+]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_CONSTANTS: dict[str, Json] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "true": True,
    "True": True,
    "false": False,
    "False": False,
}


@dataclass(frozen=True, slots=True)
class Placed:
    """A value with its position in the text, and the members of a mapping or the items of a list."""

    value: Json
    line: int
    column: int
    members: "dict[str, Placed]" = field(default_factory=dict[str, "Placed"])
    items: "tuple[Placed, ...]" = ()
    # A block string (`|`): its first line is the next one.
    is_block: bool = False

    def bad(self, sentence: str) -> BadFlow:
        return BadFlow(sentence, self.line, self.column)

    @property
    def one_or_more(self) -> "tuple[Placed, ...]":
        """The items of a list; a single value counts as a list of one, null as an empty one."""
        return self.items if isinstance(self.value, list) else (self,) if self.value is not None else ()


def read_placed(text: str) -> Placed:
    """Raises BadFlow."""
    try:
        return _Reading(_parse(text)).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
        raise BadFlow(f"this is not YAML: {error.problem or error.context}.", line, column) from None
    except yaml.reader.ReaderError as error:
        raise BadFlow(
            f"this is not YAML: {error.reason}.", text.count("\n", 0, error.position) + 1, 1
        ) from None


def _parse(text: str) -> Iterator[events.Event]:
    # Its type stubs are incomplete.
    parse: Any = getattr(yaml, "parse")  # noqa: B009
    return parse(text, Loader=_LOADER)


class _Reading:
    def __init__(self, found: Iterator[events.Event]) -> None:
        self._events = found
        self._values = 0

    def document(self) -> Placed:
        event = next(self._events)
        while isinstance(event, events.StreamStartEvent | events.DocumentStartEvent):
            event = next(self._events)
        if isinstance(event, events.StreamEndEvent):
            raise BadFlow("the file is empty. A flow has a name, a description and steps.", 1, 1)
        found = self._value(event, 0)
        next(self._events)
        event = next(self._events)
        if not isinstance(event, events.StreamEndEvent):
            raise self._bad(event, "a file has one flow: take out the second document.")
        return found

    def _value(self, event: events.Event, depth: int) -> Placed:
        self._values += 1
        if self._values > MAX_VALUES:
            raise self._bad(event, f"the flow has more than {MAX_VALUES} values.")
        if depth > MAX_DEPTH:
            raise self._bad(event, f"the flow is nested deeper than {MAX_DEPTH}.")
        if isinstance(event, events.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise self._bad(event, "anchors and aliases (& and *) cannot be used in a flow. Write it out.")
        tag = getattr(event, "tag", None)
        if tag is not None and tag != "!":
            raise self._bad(event, f"the tag {tag[:60]!r} cannot be used in a flow.")
        match event:
            case events.ScalarEvent():
                return self._scalar(event)
            case events.SequenceStartEvent():
                return self._list(event, depth)
            case events.MappingStartEvent():
                return self._mapping(event, depth)
            case _:
                raise self._bad(event, "a value is missing here.")

    def _list(self, event: events.Event, depth: int) -> Placed:
        items: list[Placed] = []
        while not isinstance(item := next(self._events), events.SequenceEndEvent):
            items.append(self._value(item, depth + 1))
        line, column = _place(event)
        return Placed([item.value for item in items], line, column, items=tuple(items))

    def _mapping(self, event: events.Event, depth: int) -> Placed:
        members: dict[str, Placed] = {}
        while not isinstance(at := next(self._events), events.MappingEndEvent):
            key = self._value(at, depth + 1)
            name = self._key(at, key)
            if name in members:
                raise key.bad(f"the key {name[:60]!r} is there twice.")
            members[name] = self._value(next(self._events), depth + 1)
        line, column = _place(event)
        return Placed({name: found.value for name, found in members.items()}, line, column, members)

    def _key(self, event: events.Event, key: Placed) -> str:
        if not isinstance(event, events.ScalarEvent):
            raise self._bad(event, "a key must be a text.")
        if event.value == "<<":
            raise self._bad(event, "merge keys (<<) cannot be used in a flow. Write it out.")
        return event.value

    def _scalar(self, event: events.ScalarEvent) -> Placed:
        line, column = _place(event)
        # `implicit`: whether the tag may be left out of a plain scalar, and of a quoted one.
        plain = event.style is None or event.style == ""
        value = _plain(event.value) if plain else event.value
        if isinstance(value, int) and abs(value) > MAX_INTEGER:
            raise self._bad(event, "the number is larger than 64 bits.")
        if isinstance(value, float) and not math.isfinite(value):
            raise self._bad(event, "the number is too large.")
        return Placed(value, line, column, is_block=event.style in ("|", ">"))

    def _bad(self, event: events.Event, sentence: str) -> BadFlow:
        return BadFlow(sentence, *_place(event))


def _plain(text: str) -> Json:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if len(text) < 40 and _INTEGER.fullmatch(text):
        return int(text)
    if len(text) < 40 and _NUMBER.fullmatch(text):
        return float(text)
    return text


def _place(event: events.Event) -> tuple[int, int]:
    mark = event.start_mark
    return (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
