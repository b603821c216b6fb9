"""JSON Schemas from people and models: for a workflow's arguments and an agent's answer. Nothing is fetched,
patterns take linear time, and a value that would take too long to check is refused first."""

from collections.abc import Iterator
from itertools import islice
from typing import cast

import jsonschema_rs

from holdfast.core.errors import InvalidInput
from holdfast.core.shapes import Json, check_json, encode
from holdfast.core.text import one_line

MAX_BYTES = 64 * 1024
# The most pairs (a piece of the schema, a piece of the value) that a check may visit, following every
# reference.
MAX_LOOKS = 1_000_000
MAX_PAIRS = 200_000
MAX_COMPLAINTS = 5

_PATTERNS = jsonschema_rs.RegexOptions(size_limit=1 << 20, dfa_size_limit=1 << 20)
# Keywords that reach outside the schema, or define a name that references could use instead of a path.
_FAR = ("$dynamicRef", "$recursiveRef", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor")
_HERE_ONE = ("not", "if", "then", "else")
_HERE_LIST = ("allOf", "anyOf", "oneOf")
_HERE_MAP = ("dependentSchemas", "dependencies")
_MEMBER_ONE = ("additionalProperties", "unevaluatedProperties", "propertyNames")
_ITEM_ONE = ("items", "additionalItems", "contains", "unevaluatedItems")

Object = dict[str, Json]


def check_schema(value: Json) -> Object:
    """The schema, if it can be used here."""
    if not isinstance(value, dict):
        raise InvalidInput('a schema is an object like {"type": "object", "properties": {...}}.')
    schema = cast(Object, value)
    try:
        check_json(schema)
    except ValueError as error:
        raise InvalidInput(f"{error}.") from None
    if len(encode(schema)) > MAX_BYTES:
        raise InvalidInput(f"it is larger than {MAX_BYTES // 1024} KiB.")
    for place in _schemas(schema):
        _check_references(schema, place)
    _compile(schema)
    return schema


def check_answer_schema(value: Json) -> Object:
    """The schema of an agent's answer, which a model gives as the input of a tool: an object."""
    schema = check_schema(value)
    if schema.get("type", "object") != "object":
        raise InvalidInput('the schema of an answer must have "type": "object" at its root.')
    return schema if "type" in schema else {"type": "object", **schema}


class Shape:
    """A checked schema, ready to check values."""

    def __init__(self, schema: Object) -> None:
        self._schema = schema
        self._validator = _compile(schema)
        self._refers = any("$ref" in place for place in _schemas(schema))
        self._size = sum(1 for _ in _schemas(schema))

    def complaints(self, value: Json) -> tuple[str, ...]:
        """What is wrong with the value, the first few errors; empty if it is valid."""
        if self._looks(value) > MAX_LOOKS:
            return ("It would take too long to check: the value or the schema is too large.",)
        found = islice(self._validator.iter_errors(value), MAX_COMPLAINTS)
        return tuple(f"{_place(error.instance_path)}: {one_line(error.message, 300)}" for error in found)

    def _looks(self, value: Json) -> int:
        if not self._refers:
            return self._size * _count(value)
        try:
            return _Looks(self._schema).at(self._schema, value)
        except RecursionError:
            return MAX_LOOKS + 1


def _compile(schema: Object) -> jsonschema_rs.Validator:
    try:
        return jsonschema_rs.validator_for(
            schema,
            pattern_options=_PATTERNS,
            offline=True,
            validate_formats=False,
            ignore_unknown_formats=True,
        )
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        message = error.message if isinstance(error, jsonschema_rs.ValidationError) else str(error)
        raise InvalidInput(f"{one_line(message, 300)}.") from None


def _place(path: list[str | int]) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)


def _schemas(value: Json) -> Iterator[Object]:
    """Every object in the schema that may itself be a schema."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, list):
            waiting += cast(list[Json], found)
        elif isinstance(found, dict):
            schema = cast(Object, found)
            yield schema
            waiting += schema.values()


def _check_references(root: Object, place: Object) -> None:
    for word in _FAR:
        if isinstance(place.get(word), str):
            raise InvalidInput(f'"{word}" cannot be used: write references as {{"$ref": "#/$defs/name"}}.')
    reference = place.get("$ref")
    if isinstance(reference, str) and _target(root, reference) is None:
        raise InvalidInput(f'"{one_line(reference, 80)}" leads nowhere: references stay inside the schema.')


def _target(root: Object, reference: str) -> Json | None:
    if not reference.startswith("#"):
        return None
    found: Json | None = root
    for part in reference[1:].split("/")[1:]:
        found = _inner(found, part.replace("~1", "/").replace("~0", "~"))
    return found


def _inner(value: Json | None, name: str) -> Json | None:
    if isinstance(value, dict):
        return cast(Object, value).get(name)
    if isinstance(value, list) and name.isdigit() and int(name) < len(cast(list[Json], value)):
        return cast(list[Json], value)[int(name)]
    return None


def _count(value: Json) -> int:
    """How many values a value contains."""
    count, waiting = 0, [value]
    while waiting:
        found = waiting.pop()
        count += 1
        if isinstance(found, list):
            waiting += cast(list[Json], found)
        elif isinstance(found, dict):
            waiting += cast(Object, found).values()
    return count


class _Looks:
    """An upper bound on the cost of a check. References let a small schema visit the same value exponentially
    often, so visits are counted once per pair and multiplied, which takes no longer than there are pairs."""

    def __init__(self, root: Object) -> None:
        self._root = root
        self._known: dict[tuple[int, int], int] = {}

    def at(self, schema: Json, value: Json) -> int:
        if not isinstance(schema, dict):
            return 1
        if len(self._known) > MAX_PAIRS:
            return MAX_LOOKS + 1
        pair = (id(cast(object, schema)), id(value))
        if pair not in self._known:
            self._known[pair] = 1  # met again below itself: a cycle, which the check itself terminates
            self._known[pair] = self._inside(cast(Object, schema), value)
        return self._known[pair]

    def _inside(self, schema: Object, value: Json) -> int:
        looks = 1 + sum(self.at(inner, value) for inner in self._here(schema))
        if isinstance(value, dict):
            members = cast(Object, value)
            known = _members(schema, "properties")
            looks += sum(self.at(known[name], members[name]) for name in members if name in known)
            every = [*_members(schema, "patternProperties").values(), *_ones(schema, _MEMBER_ONE)]
            looks += sum(self.at(inner, item) for item in members.values() for inner in every)
        elif isinstance(value, list):
            listed = [*_listed(schema, "prefixItems"), *_listed(schema, "items"), *_ones(schema, _ITEM_ONE)]
            looks += sum(self.at(inner, item) for item in cast(list[Json], value) for inner in listed)
        return min(looks, MAX_LOOKS + 1)

    def _here(self, schema: Object) -> Iterator[Json]:
        if isinstance(reference := schema.get("$ref"), str):
            yield _target(self._root, reference)
        yield from _ones(schema, _HERE_ONE)
        for word in _HERE_LIST:
            yield from _listed(schema, word)
        for word in _HERE_MAP:
            yield from _members(schema, word).values()


def _ones(schema: Object, words: tuple[str, ...]) -> list[Json]:
    return [found for word in words if isinstance(found := schema.get(word), dict)]


def _listed(schema: Object, word: str) -> list[Json]:
    found = schema.get(word)
    return cast(list[Json], found) if isinstance(found, list) else []


def _members(schema: Object, word: str) -> Object:
    found = schema.get(word)
    return cast(Object, found) if isinstance(found, dict) else {}
