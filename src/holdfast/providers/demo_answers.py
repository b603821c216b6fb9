"""What the demo model answers if a schema is given: the same valid value for the same schema. Patterns are
not followed, nor is what a schema forbids: such an answer is sent back."""

from typing import cast

from holdfast.core.shapes import Json

Schema = dict[str, Json]

# So deep a value may go; below, only what is required is given.
FULL_DEPTH = 5
MOST_DEPTH = 20
FORMATS = {
    "date-time": "2000-01-01T00:00:00Z",
    "date": "2000-01-01",
    "time": "00:00:00Z",
    "email": "demo@example.com",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


def fitting(schema: Json, root: Schema | None = None, name: str = "answer", depth: int = 0) -> Json:
    """A value for the schema; `name` is what it is called where it stands."""
    if not isinstance(schema, dict) or depth > MOST_DEPTH:
        return f"demo {name}"
    given = _resolved(cast(Schema, schema), root or cast(Schema, schema))
    root = root or given
    for word in ("const", "default"):
        if word in given:
            return given[word]
    for word in ("enum", "examples"):
        if choices := _list(given.get(word)):
            return choices[0]
    match _type(given):
        case "object":
            return _object(given, root, depth)
        case "array":
            return _array(given, root, name, depth)
        case "integer" | "number" as kind:
            return _number(given, whole=kind == "integer")
        case "boolean":
            return True
        case "null":
            return None
        case _:
            return _text(given, name)


def _resolved(schema: Schema, root: Schema) -> Schema:
    """With what it refers to, the first of its choices, and all that it must be besides."""
    for _ in range(MOST_DEPTH):
        reference = schema.get("$ref")
        if isinstance(reference, str):
            schema = {**_target(root, reference), **_without(schema, "$ref")}
            continue
        choice = next((word for word in ("anyOf", "oneOf") if _list(schema.get(word))), None)
        if choice is not None:
            schema = {**_without(schema, choice), **_object_of(_list(schema[choice])[0])}
        elif parts := _list(schema.get("allOf")):
            schema = _together(_without(schema, "allOf"), parts)
        else:
            break
    return schema


def _together(schema: Schema, parts: list[Json]) -> Schema:
    for part in map(_object_of, parts):
        properties = {**_object_of(schema.get("properties")), **_object_of(part.get("properties"))}
        required = [*_list(schema.get("required")), *_list(part.get("required"))]
        schema = {**schema, **part}
        if properties:
            schema = {**schema, "properties": properties}
        if required:
            schema = {**schema, "required": required}
    return schema


def _target(root: Schema, reference: str) -> Schema:
    found: Json = root
    for part in reference.removeprefix("#").split("/")[1:]:
        found = _object_of(found).get(part.replace("~1", "/").replace("~0", "~"))
    return _object_of(found)


def _type(schema: Schema) -> Json:
    kind = schema.get("type")
    if kinds := _list(kind):
        return next((one for one in kinds if one != "null"), "null")
    if kind is not None:
        return kind
    if "properties" in schema or "required" in schema:
        return "object"
    return "array" if "items" in schema or "prefixItems" in schema else "string"


def _object(schema: Schema, root: Schema, depth: int) -> Json:
    properties = _object_of(schema.get("properties"))
    required = [name for name in _list(schema.get("required")) if isinstance(name, str)]
    names = dict.fromkeys([*(properties if depth < FULL_DEPTH else ()), *required])
    more = schema.get("additionalProperties", True)
    number = 1
    while len(names) < _count(schema, "minProperties") and more is not False:
        names[f"demo_{number}"] = None
        number += 1
    return {name: fitting(properties.get(name, more), root, name, depth + 1) for name in names}


def _array(schema: Schema, root: Schema, name: str, depth: int) -> Json:
    first = _list(schema.get("prefixItems"))
    items = schema.get("items", True)
    least = _count(schema, "minItems") or (1 if depth < FULL_DEPTH and items is not False else 0)
    count = max(len(first), min(least, _count(schema, "maxItems", least)))
    return [
        fitting(first[n] if n < len(first) else items, root, f"{name} {n + 1}" if n else name, depth + 1)
        for n in range(count)
    ]


def _number(schema: Schema, *, whole: bool) -> Json:
    low, high = _bound(schema, "minimum"), _bound(schema, "maximum")
    above, below = _bound(schema, "exclusiveMinimum"), _bound(schema, "exclusiveMaximum")
    step = _bound(schema, "multipleOf") or 1
    if above is not None:
        low = above + step if low is None else max(low, above + step)
    if below is not None:
        high = below - step if high is None else min(high, below - step)
    wanted: float = 1 if low is None else max(low, min(1, high if high is not None else 1))
    if high is not None and wanted > high:
        # A whole step leads beyond the range, so take its middle.
        wanted = high if low is None else (low + high) / 2
    if step != 1:
        wanted = -(-wanted // step) * step
    return round(wanted) if whole or wanted == int(wanted) else wanted


def _text(schema: Schema, name: str) -> Json:
    text = FORMATS.get(str(schema.get("format")), f"demo {name}")
    least = _count(schema, "minLength")
    if len(text) < least:
        text += "." * (least - len(text))
    return text[: _count(schema, "maxLength", len(text))]


def _object_of(value: Json) -> Schema:
    return cast(Schema, value) if isinstance(value, dict) else {}


def _list(value: Json) -> list[Json]:
    return cast(list[Json], value) if isinstance(value, list) else []


def _without(schema: Schema, word: str) -> Schema:
    return {key: value for key, value in schema.items() if key != word}


def _count(schema: Schema, word: str, otherwise: int = 0) -> int:
    value = schema.get(word)
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def _bound(schema: Schema, word: str) -> float | None:
    value = schema.get(word)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
