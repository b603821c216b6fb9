"""What people give a workflow: the script itself, and its arguments as JSON or as KEY=VALUE."""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import msgspec

from holdfast.core.errors import WrongUsage
from holdfast.core.shapes import Json

LANGUAGES = {".js": "javascript", ".py": "python"}


def script(name: str) -> dict[str, Json]:
    """A file is sent as it is; anything else is a name that the server knows."""
    language = LANGUAGES.get(os.path.splitext(name)[1])
    return {"name": name} if language is None else {"script": read_text(name), "language": language}


def arguments(text: str | None, pairs: list[str]) -> dict[str, Json]:
    """Empty if no arguments were given, which is not the same as null."""
    if text is not None and pairs:
        raise WrongUsage("Use --args or -a KEY=VALUE, not both.")
    if text is not None:
        return {"args": _strictly(read_text(text[1:]) if text.startswith("@") else text)}
    return {"args": dict(map(_pair, pairs))} if pairs else {}


def order(line: str) -> dict[str, Json]:
    """As it is typed in a chat: NAME, then JSON or KEY=VALUE ..."""
    name, _, rest = line.strip().partition(" ")
    rest = rest.strip()
    if rest.startswith(("{", "[")):
        return {**script(name), **arguments(rest, [])}
    try:
        return {**script(name), **arguments(None, shlex.split(rest))}
    except ValueError:
        raise WrongUsage("A quotation mark is not closed.") from None


def fitted(args: Json, pairs: list[str], schema: Mapping[str, Json] | None) -> Json:
    """Arguments given as KEY=VALUE, read by what the workflow says of each: `q=5` is text where text is
    wanted."""
    properties = (schema or {}).get("properties")
    if not isinstance(args, dict) or not isinstance(properties, dict):
        return cast(Json, args)
    known, given = cast(dict[str, Json], properties), cast(dict[str, Json], args)
    raw = {key: value for key, _, value in (pair.partition("=") for pair in pairs)}
    return {key: raw[key] if _wants_text(known.get(key)) else value for key, value in given.items()}


def _wants_text(schema: Json) -> bool:
    """Only text will do."""
    return isinstance(schema, dict) and cast(dict[str, Json], schema).get("type") == "string"


def _pair(pair: str) -> tuple[str, Json]:
    key, separator, value = pair.partition("=")
    if not separator or not key:
        raise WrongUsage(f"{pair[:100]!r} is not KEY=VALUE.")
    try:
        return key, msgspec.json.decode(value.encode("utf-8", "surrogatepass"))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return key, value


def _strictly(text: str) -> Json:
    try:
        return msgspec.json.decode(text.encode("utf-8", "surrogatepass"))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise WrongUsage(f"The arguments are not JSON: {error}.") from None


def read_text(path: str) -> str:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise WrongUsage(f"{path} is not UTF-8 text.") from None
    except OSError as error:
        raise WrongUsage(f"{path} cannot be read: {error.strerror}.") from None
