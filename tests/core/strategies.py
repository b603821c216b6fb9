"""Hypothesis strategies for the shapes of `holdfast.core`, made from their fields: a shape or field that is
added later is drawn without a line here."""

import importlib
import pkgutil
from datetime import UTC, datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NewType, Union, get_args, get_origin

import msgspec
from hypothesis import strategies as st

import holdfast.core
from holdfast.core.ids import CallId
from holdfast.core.shapes import MAX_INTEGER, Record

texts = st.text(max_size=20)
moments = st.datetimes(
    min_value=datetime(1970, 1, 1),  # noqa: DTZ001 - Hypothesis adds the zone
    max_value=datetime(9999, 12, 31),  # noqa: DTZ001
    timezones=st.just(UTC),
)
_integers = st.integers(min_value=-MAX_INTEGER, max_value=MAX_INTEGER)
_floats = st.floats(allow_nan=False, allow_infinity=False)
jsons: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | _integers | _floats | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)

_PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: texts,
    int: _integers,
    float: _floats,
    bool: st.booleans(),
    bytes: st.binary(max_size=20),
    NoneType: st.none(),
    datetime: moments,
    object: jsons,
    Any: jsons,
    msgspec.UnsetType: st.just(msgspec.UNSET),
    CallId: st.from_regex(r"[A-Za-z0-9_-]{1,40}", fullmatch=True),
}


@cache
def of(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of this type."""
    if kind in _PLAIN:
        return _PLAIN[kind]
    if isinstance(kind, NewType):
        return st.uuids().map(str)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, UnionType):
        return st.one_of([of(argument) for argument in arguments])
    if origin is tuple and arguments[1:] == (...,):
        return st.lists(of(arguments[0]), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(of(arguments[0]), of(arguments[1]), max_size=3)
    if origin is tuple:
        return st.tuples(*(of(argument) for argument in arguments))
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return st.builds(kind, **{field.name: of(field.type) for field in msgspec.structs.fields(kind)})
    raise TypeError(f"there is no strategy for {kind}")


def shapes() -> list[type[Record]]:
    """Every record of `holdfast.core`."""
    found: dict[str, type[Record]] = {}
    for module in pkgutil.iter_modules(holdfast.core.__path__, "holdfast.core."):
        for name, value in vars(importlib.import_module(module.name)).items():
            ours = isinstance(value, type) and issubclass(value, Record) and value is not Record
            if ours and not name.startswith("_"):
                found[name] = value
    return list(found.values())
