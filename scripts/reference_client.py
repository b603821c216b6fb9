"""The types of the page's client (`web/src/api/schema.ts`), made from the OpenAPI document: an interface for
each schema, the events of each feed, and a table of all routes with what they take and answer."""

import json
from collections.abc import Iterator
from typing import Any, cast

Schema = dict[str, Any]

HEAD = """\
// Written from the server's OpenAPI document by `make docs`. What the server may leave out is optional in
// what it answers; what has a default may be left out of what it is sent.
"""
SCALARS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
METHODS = ("get", "post", "put", "patch", "delete")
PREFIX = "/api/v1"
FEEDS = {
    "ChatFeedEvent": "x-feed-events",
    "ListFeedEvent": "x-list-feed-events",
    "RunFeedEvent": "x-run-feed-events",
    "FlowRunFeedEvent": "x-flow-run-feed-events",
}


def client(document: Schema) -> str:
    schemas: dict[str, Schema] = document["components"]["schemas"]
    sent = _sent(document, schemas)
    lines = [HEAD]
    for name in sorted(schemas):
        lines += [f"export interface {name} {_object(schemas[name], sent=name in sent)}", ""]
    for name, events in FEEDS.items():
        told = [
            f'  | {{ event: "{event}"; data: {_name(data)} }}' for event, data in document[events].items()
        ]
        lines += [f"export type {name} =", *told[:-1], f"{told[-1]};", ""]
    lines.append("export interface Routes {")
    for path, methods in document["paths"].items():
        if path.startswith(PREFIX):
            lines += [f"  {_route(path, method, methods[method])}" for method in METHODS if method in methods]
    lines.append("}")
    return "\n".join(lines) + "\n"


def _route(path: str, method: str, operation: Schema) -> str:
    fields: list[str] = []
    parameters: list[Schema] = operation.get("parameters", [])
    query = [f"{one['name']}?: {_type(one['schema'])}" for one in parameters if one["in"] == "query"]
    if query:
        fields.append(f"query: {{ {'; '.join(query)} }}")
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        fields.append(f"body: {_type(content['application/json']['schema'])}")
    fields.append(f"answer: {_answer(operation)}")
    return f'"{method.upper()} {path.removeprefix(PREFIX)}": {{ {"; ".join(fields)} }};'


def _answer(operation: Schema) -> str:
    good = next(answer for code, answer in operation["responses"].items() if code.startswith("2"))
    content = good.get("content", {}).get("application/json")
    return "undefined" if content is None else _type(content["schema"])


def _sent(document: Schema, schemas: dict[str, Schema]) -> set[str]:
    """Schemas that are part of what clients send."""
    paths: dict[str, Schema] = document["paths"]
    found: set[str] = set()
    waiting = [
        name
        for methods in paths.values()
        for method in METHODS
        for name in _named(methods.get(method, {}).get("requestBody"))
    ]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _named(schemas[name])
    return found


def _named(value: Any) -> Iterator[str]:
    match value:
        case {"$ref": str() as reference}:
            yield _name(reference)
        case dict():
            for one in cast(Schema, value).values():
                yield from _named(one)
        case list():
            for one in cast(list[Any], value):
                yield from _named(one)
        case _:
            pass


def _name(reference: str) -> str:
    return reference.rpartition("/")[2]


def _object(schema: Schema, *, sent: bool, indent: str = "") -> str:
    required = set(schema.get("required", ()))
    lines = ["{"]
    for name, one in schema.get("properties", {}).items():
        mark = "" if name in required or (not sent and _always_told(one)) else "?"
        lines.append(f"{indent}  {name}{mark}: {_type(one)};")
    return "\n".join([*lines, f"{indent}}}"])


def _always_told(schema: Schema) -> bool:
    """Whether an answer has the field although it is not required: there is something to say in its place."""
    return "default" in schema or "null" in _type(schema).split(" | ")


def _type(schema: Schema) -> str:
    match schema:
        case {"$ref": reference}:
            return _name(reference)
        case {"const": value}:
            return json.dumps(value)
        case {"enum": values}:
            return " | ".join(json.dumps(value) for value in values)
        case {"oneOf": some} | {"anyOf": some}:
            types = list(dict.fromkeys(_type(one) for one in some))
            return "unknown" if "unknown" in types else " | ".join(types)
        case {"type": list()}:
            return " | ".join(_type({**schema, "type": name}) for name in schema["type"])
        case {"type": "array"}:
            inner = _type(schema.get("items", {}))
            return f"({inner})[]" if " | " in inner else f"{inner}[]"
        case {"type": "object", "properties": _}:
            return _object(schema, sent=False, indent="  ").replace("\n", " ")
        case {"type": "object"}:
            inner = _type(schema["additionalProperties"]) if schema.get("additionalProperties") else "unknown"
            return f"Record<string, {inner}>"
        case {"type": str() as name}:
            return SCALARS[name]
        case _:
            return "unknown"
