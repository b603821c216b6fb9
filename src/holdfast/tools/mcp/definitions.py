"""A server's tool definitions, prepared for models: a name that every provider accepts, a bounded
description, a valid input schema, and a hash that tells whether it is still what was approved. All of it
is untrusted text."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from typing import cast

import msgspec

from holdfast.core.shapes import Json, Record, check_json
from holdfast.core.text import clean_deep
from holdfast.tools.registry import OUTSIDE

NAME_CHARACTERS = 64
_KEPT_CHARACTERS = 55
DESCRIPTION_CHARACTERS = 4000
SCHEMA_BYTES = 32 * 1024
SCHEMA_DEPTH = 40
# The most tools of one server; more are not offered.
MOST_TOOLS = 256
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
# Characters that change the order or look of the text around them, or are invisible.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)
OPEN_SCHEMA: dict[str, Json] = {"type": "object"}


class ToolDefinition(Record, frozen=True, kw_only=True):
    """A tool of a server. `name` is the server's, `full_name` is the one that models use."""

    name: str
    full_name: str
    description: str
    schema: Json
    # The server claims that it only reads.
    read_only: bool = False
    # Over the server's whole definition, before anything was cut.
    hash: str
    # Why it cannot be offered.
    error: str | None = None


def full_name(server: str, tool: str) -> str:
    """`mcp__<server>__<tool>`, at most 64 characters that every provider accepts; a name that was longer or
    had other characters ends in a hash of the whole."""
    exact = f"{OUTSIDE}{server}__{tool}"
    fit = _UNFIT.sub("_", exact)
    if fit == exact and len(exact) <= NAME_CHARACTERS:
        return exact
    digest = hashlib.sha256(exact.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{fit[:_KEPT_CHARACTERS]}_{digest}"


def definition(
    server: str, name: str, description: str, schema: Json, *, read_only: bool, told: Json
) -> ToolDefinition:
    """`told` is the server's whole definition."""
    digest = _digest(told)
    fit, error = _fit_schema(schema)
    return ToolDefinition(
        name=clean_deep(name),
        full_name=full_name(server, name),
        description=fit_text(description, DESCRIPTION_CHARACTERS),
        schema=fit,
        read_only=read_only,
        hash=digest,
        error=error,
    )


def _digest(told: Json) -> str:
    try:
        text = msgspec.json.encode(clean_deep(told), order="deterministic")
    except RecursionError:
        text = b"nested too deep"  # it is not offered, so its schema does not matter
    return hashlib.sha256(text).hexdigest()


def offered(found: Iterable[ToolDefinition], only: Iterable[str]) -> tuple[tuple[ToolDefinition, ...], int]:
    """The offered tools by name, and how many there were. If two have the same full name, the first one
    counts."""
    wanted = set(only)
    by_name: dict[str, ToolDefinition] = {}
    for tool in found:
        if not wanted or tool.name in wanted:
            by_name.setdefault(tool.full_name, tool)
    chosen = sorted(by_name.values(), key=lambda tool: tool.full_name)
    return tuple(chosen[:MOST_TOOLS]), len(chosen)


def fit_text(text: str, limit: int) -> str:
    plain = _UNSEEN.sub("", unicodedata.normalize("NFC", clean_deep(text)))
    return plain if len(plain) <= limit else f"{plain[:limit]} [cut]"


def _fit_schema(schema: Json) -> tuple[Json, str | None]:
    """Replaces references by what they refer to, because providers follow them differently."""
    if not isinstance(schema, dict):
        return OPEN_SCHEMA, "Its input schema is none."
    fields = cast(dict[str, Json], schema)
    try:
        check_json(fields)
        inlined = _inlined(fields, fields, 0)
        if len(msgspec.json.encode(inlined)) > SCHEMA_BYTES:
            return OPEN_SCHEMA, f"Its input schema is larger than {SCHEMA_BYTES // 1024} KiB."
    except _Endless:
        return OPEN_SCHEMA, "Its input schema refers to itself."
    except (ValueError, RecursionError) as error:
        return OPEN_SCHEMA, f"Its input schema cannot be used: {error}."
    made = cast(dict[str, Json], clean_deep(inlined))
    if made.get("type", "object") != "object":
        return OPEN_SCHEMA, "Its input is no object."
    return {
        key: value for key, value in made.items() if key not in ("$defs", "definitions", "$schema", "$id")
    } | {"type": "object"}, None


class _Endless(Exception):
    pass


def _inlined(value: Json, root: dict[str, Json], depth: int) -> Json:
    if depth > SCHEMA_DEPTH:
        raise _Endless
    if isinstance(value, list):
        return [_inlined(item, root, depth + 1) for item in cast(list[Json], value)]
    if not isinstance(value, dict):
        return value
    fields = cast(dict[str, Json], value)
    reference = fields.get("$ref")
    if isinstance(reference, str):
        target = _target(reference, root)
        rest = {key: item for key, item in fields.items() if key != "$ref"}
        return _inlined({**target, **rest}, root, depth + 1)
    return {
        key: item if key in ("$defs", "definitions") and fields is root else _inlined(item, root, depth + 1)
        for key, item in fields.items()
    }


def _target(reference: str, root: dict[str, Json]) -> dict[str, Json]:
    if not reference.startswith("#/"):
        raise ValueError("a reference leads out of it")
    found = root
    for step in reference[2:].split("/"):
        inner = found.get(step.replace("~1", "/").replace("~0", "~"))
        if not isinstance(inner, dict):
            raise ValueError("a reference leads nowhere")
        found = cast(dict[str, Json], inner)
    return found
