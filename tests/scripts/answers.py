"""Agents that give the smallest answer their schema allows, so that any workflow can be run without a
model."""

from typing import cast
from zlib import crc32

from holdfast.core.shapes import Json
from holdfast.scripts.engines.messages import AgentCall, Call, CallError
from tests.scripts.host import echo


def obliging(call: Call) -> Json | CallError:
    """Text without a schema, otherwise something that fits it."""
    if isinstance(call, AgentCall) and call.options.schema is not None:
        return fitting(call.options.schema, call.prompt)
    return f"answer {call.number}" if isinstance(call, AgentCall) else echo(call)


def absent(call: Call) -> Json | CallError:
    """Every agent ends in a model error."""
    return None if isinstance(call, AgentCall) else echo(call)


def fitting(schema: dict[str, Json], hint: str) -> Json:
    if "enum" in schema:
        return cast(list[Json], schema["enum"])[0]
    match schema.get("type"):
        case "object":
            properties = cast(dict[str, dict[str, Json]], schema.get("properties", {}))
            return {name: fitting(inner, f"{hint} {name}") for name, inner in properties.items()}
        case "array":
            items = cast(dict[str, Json], schema.get("items", {}))
            return [fitting(items, f"{hint} {number}") for number in (1, 2)]
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case _:
            return f"text {crc32(hint.encode())}"
