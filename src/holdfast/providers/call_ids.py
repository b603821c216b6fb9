"""The ids under which calls are sent. Ours are stored; a provider gets back its own id if it gave one, else
one that it accepts, made from ours. Which one depends only on what comes before, so a longer history starts
the same."""

import hashlib
import re
from collections.abc import Mapping
from typing import cast

from holdfast.core.ids import CallId
from holdfast.core.parts import ToolCall
from holdfast.core.shapes import Json, Record

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ILLEGAL_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")


class IdRule(Record, frozen=True, kw_only=True):
    """`least` to `most` characters; `plain` allows letters and digits only."""

    least: int = 1
    most: int = 40
    plain: bool = False

    def allows(self, wire_id: str) -> bool:
        allowed = r"[A-Za-z0-9]" if self.plain else r"[A-Za-z0-9_-]"
        return re.fullmatch(f"{allowed}{{{self.least},{self.most}}}", wire_id) is not None

    def made_from(self, call_id: str) -> str:
        if self.allows(call_id):
            return call_id
        number = int.from_bytes(hashlib.sha256(call_id.encode("utf-8", "replace")).digest())
        characters: list[str] = []
        for _ in range(max(self.least, min(self.most, 24))):
            number, digit = divmod(number, 62)
            characters.append(_ALPHABET[digit])
        return "".join(characters)


class WireIds:
    """The ids of one request, given out in the order of its messages."""

    def __init__(self, kind: str, rule: IdRule) -> None:
        self._kind = kind
        self._rule = rule
        self._given: dict[CallId, str] = {}
        self._taken: set[str] = set()

    def of_call(self, call: ToolCall) -> str:
        own = provider_id(call, self._kind)
        wire_id = own if own and self._rule.allows(own) else self._rule.made_from(call.call_id)
        if wire_id in self._taken:
            # Some servers count from zero in every answer.
            wire_id = self._rule.made_from(call.call_id)
        turn = 0
        while wire_id in self._taken:
            turn += 1
            wire_id = self._rule.made_from(f"{call.call_id} {turn}")
        self._taken.add(wire_id)
        self._given[call.call_id] = wire_id
        return wire_id

    def of_result(self, call_id: CallId) -> str:
        return self._given.get(call_id) or self._rule.made_from(call_id)


def data_of(data: object, kind: str) -> Mapping[str, Json]:
    """What a provider wants back, if it is this kind of provider that gave it."""
    if isinstance(data, dict):
        fields = cast(dict[str, Json], data)
        if fields.get("kind") == kind:
            return fields
    return {}


def provider_id(call: ToolCall, kind: str) -> str | None:
    found = data_of(call.provider_data, kind).get("id")
    return found if isinstance(found, str) else None


def legal_name(name: str, most: int = 64) -> str:
    """A tool's name as providers accept it: models invent names that no provider takes back."""
    return _ILLEGAL_IN_NAMES.sub("_", name)[:most] or "unknown"
