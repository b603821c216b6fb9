"""What a key may hold, and whether a value fits. Types and bounds come from the records in `sections`; a
value comes from TOML with its own type, or from the environment as text."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from msgspec import inspect

from holdfast.core.secret import Secret
from holdfast.core.shapes import Record, check_json

_YES = frozenset({"1", "true", "yes", "on"})
_NO = frozenset({"0", "false", "no", "off"})
# Characters that no name, address or path has; also lone surrogates, which environment variables may contain.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class ConfigKey:
    name: str
    type: inspect.Type
    description: str
    default: object
    required: bool


@dataclass(frozen=True, slots=True)
class GivenValue:
    """A value and where it was found, for whoever must correct it: which key or variable, in which file."""

    value: object
    place: str
    source: str
    # In the environment everything is text.
    as_text: bool = False

    def __repr__(self) -> str:  # pyright: ignore[reportImplicitOverride] - the decorator is younger than 3.11
        """Without the value, which may be a key."""
        return f"Given({self.place})"


class Unfit(Exception):
    """The value does not fit the key. The text says what would fit, and never what was given: that may be a
    secret in the wrong place."""


@cache
def keys_of(section: type[Record]) -> Mapping[str, ConfigKey]:
    """The keys of a section, without fields that hold tables, and without a table's own name."""
    info = inspect.type_info(section)
    assert isinstance(info, inspect.StructType)
    keys = [_key(field) for field in info.fields if field.name != "name"]
    return {key.name: key for key in keys if not isinstance(key.type, inspect.StructType)}


def _key(field: inspect.Field) -> ConfigKey:
    kind, description = field.type, ""
    if isinstance(kind, inspect.UnionType):
        [kind] = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
    if isinstance(kind, inspect.Metadata):
        schema = cast(dict[str, Any], kind.extra_json_schema)  # pyright: ignore[reportUnknownMemberType]
        description = str(schema["description"])
        kind = kind.type
    if isinstance(kind, inspect.DictType) and isinstance(kind.value_type, inspect.StructType):
        kind = kind.value_type
    made = callable(field.default_factory)
    default = None if field.required else field.default_factory() if made else field.default
    return ConfigKey(field.name, kind, description, default, field.required)


def expected(kind: inspect.Type) -> str:
    """What a key of this type accepts, in words."""
    match kind:
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return f"a whole number{_bounds(kind)}"
        case inspect.FloatType():
            return f"a number{_bounds(kind)}"
        case inspect.LiteralType(values=values):
            return f"one of {', '.join(map(str, values))}"
        case inspect.VarTupleType(item_type=item):
            return f"a list of {_several(item)}"
        case inspect.DictType():
            return "a table"
        case inspect.CustomType(cls=cls) if cls is Path:
            return "a path"
        case inspect.CustomType(cls=cls) if cls is Secret:
            return "text (a secret)"
        case _:
            return "text on one line"


def _bounds(kind: inspect.IntType | inspect.FloatType) -> str:
    return "" if kind.ge is None or kind.le is None else f" from {kind.ge:,} to {kind.le:,}".replace(",", " ")


def _several(item: inspect.Type) -> str:
    match item:
        case inspect.LiteralType(values=values):
            return f"words out of {', '.join(map(str, values))}"
        case inspect.CustomType():
            return "paths"
        case inspect.IntType():
            return f"numbers{_bounds(item)}"
        case _:
            return "texts"


def value_of(key: ConfigKey, given: GivenValue, environ: Mapping[str, str]) -> object:
    """The value as the record holds it. Raises Unfit."""
    value = given.value
    if given.as_text and isinstance(value, str):
        value = _from_text(key.type, value)
    return _fit(key.type, value, environ)


def _from_text(kind: inspect.Type, text: str) -> object:
    """A variable's text as TOML would have it. A list is separated by commas, or is JSON; a table is JSON."""
    text = text.strip()
    match kind:
        case inspect.BoolType():
            return True if text.lower() in _YES else False if text.lower() in _NO else text
        case inspect.IntType() | inspect.FloatType():
            return _number(text)
        case inspect.VarTupleType(item_type=item) if not text.startswith("["):
            return [_from_text(item, each) for each in text.split(",") if each.strip()]
        case inspect.VarTupleType() | inspect.DictType():
            try:
                return cast(object, json.loads(text))
            except ValueError:
                raise Unfit(f"must be {expected(kind)}, written as JSON") from None
        case _:
            return text


def _number(text: str) -> object:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _fit(kind: inspect.Type, value: object, environ: Mapping[str, str]) -> object:
    match kind, value:
        case inspect.BoolType(), bool():
            return value
        case (inspect.IntType(), int()) | (inspect.FloatType(), int() | float()) if not isinstance(
            value, bool
        ):
            return _within(kind, value)
        case inspect.LiteralType(values=values), str() if value in values:
            return value
        case inspect.StrType(), str() if _UNPRINTABLE.search(value) is None:
            return value
        case inspect.VarTupleType(item_type=item), list():
            return tuple(_fit_item(kind, item, each, environ) for each in cast(list[object], value))
        case inspect.DictType(), dict():
            return _checked_table(cast(dict[str, Any], value))
        case inspect.CustomType(cls=cls), str() if cls is Path and value and not _UNPRINTABLE.search(value):
            return path_of(value)
        case inspect.CustomType(cls=cls), str() if cls is Secret:
            return Secret(revealed(value, environ))
        case _:
            raise Unfit(f"must be {expected(kind)}")


def _within(kind: inspect.IntType | inspect.FloatType, value: float) -> float:
    if not math.isfinite(value) or (kind.ge is not None and value < kind.ge):
        raise Unfit(f"must be {expected(kind)}")
    if kind.le is not None and value > kind.le:
        raise Unfit(f"must be {expected(kind)}")
    return float(value) if isinstance(kind, inspect.FloatType) else value


def _fit_item(kind: inspect.Type, item: inspect.Type, value: object, environ: Mapping[str, str]) -> object:
    try:
        return _fit(item, value, environ)
    except Unfit:
        raise Unfit(f"must be {expected(kind)}") from None


def _checked_table(value: dict[str, Any]) -> dict[str, Any]:
    try:
        check_json(value)
    except ValueError as error:
        raise Unfit(f"must be a table of JSON values: {error}") from None
    return value


def path_of(text: str) -> Path:
    """Relative to `~` and to the working directory."""
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError:
        raise Unfit("begins with ~, and this user has no home directory; write it in full") from None


def revealed(written: str, environ: Mapping[str, str]) -> str:
    """A secret written literally, as `env:NAME` or as `file:PATH`."""
    source, _, place = written.partition(":")
    if source == "env":
        value = environ.get(place, "").strip()
        if not value:
            raise Unfit(f"names the environment variable {place}, which is not set")
    elif source == "file":
        try:
            value = path_of(place).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise Unfit(f"names the file {place}, which cannot be read") from None
        if not value:
            raise Unfit(f"names the file {place}, which is empty")
    else:
        value = written
    if _UNPRINTABLE.search(value):
        raise Unfit("must be text on one line")
    return value
