"""Shapes: JSON round trips are exact, rows of other versions can be read, callers' mistakes are refused."""

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.core.events import BusEvent, decoder, encoder
from holdfast.core.parts import LivePart, Part, Parts, Reasoning, Text, ToolCall, ToolCallDelta
from holdfast.core.shapes import MAX_DEPTH, MAX_INTEGER, Border, Record, check_json, encode, encode_text
from holdfast.core.usage import Usage
from tests.core.strategies import jsons, of, shapes

SHAPES = shapes()


def nested(levels: int) -> object:
    value: object = "x"
    for _ in range(levels):
        value = [value]
    return value


each_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)


@each_shape
@settings(max_examples=30)
@given(data=st.data())
def test_json_there_and_back_is_exact(shape: type[Record], data: st.DataObject) -> None:
    assert_exact(shape, data.draw(of(shape)))


@pytest.mark.slow
@each_shape
@settings(max_examples=200)
@given(data=st.data())
def test_json_there_and_back_is_exact_for_many(shape: type[Record], data: st.DataObject) -> None:
    assert_exact(shape, data.draw(of(shape)))


def assert_exact(shape: type[Record], value: Record) -> None:
    decode = msgspec.json.Decoder(shape).decode
    assert decode(encode(value)) == value
    assert decode(encode_text(value)) == value
    assert encode(decode(encode(value))) == encode(value)


@given(parts=of(Parts))
def test_parts_are_told_apart_by_their_type(parts: Parts) -> None:
    again = msgspec.json.decode(encode(parts), type=Parts)
    assert again == parts
    assert [type(part) for part in again] == [type(part) for part in parts]


@given(part=of(LivePart))
def test_live_parts_are_told_apart_by_their_type(part: LivePart) -> None:
    again = msgspec.json.decode(encode(part), type=LivePart)
    assert (type(again), again) == (type(part), part)


@given(events=of(tuple[BusEvent, ...]))
def test_events_of_the_bus_are_told_apart(events: tuple[BusEvent, ...]) -> None:
    again = decoder.decode(encoder.encode(events))
    assert again == events
    assert [type(event) for event in again] == [type(event) for event in events]


def test_a_delta_is_never_stored() -> None:
    delta = ToolCallDelta(call_id=msgspec.convert("a", Any), name="grep", text="{")
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(encode(delta), type=Part)


@given(value=jsons)
def test_a_tool_input_stays_as_it_was(value: object) -> None:
    call = ToolCall(call_id=msgspec.convert("a", Any), name="grep", input=value)
    assert msgspec.json.decode(encode(call), type=Part) == call


def test_nothing_from_the_provider_is_not_null_from_the_provider() -> None:
    unset, null = Reasoning(text=""), Reasoning(text="", provider_data=None)
    assert b"provider_data" not in encode(unset)
    assert msgspec.json.decode(encode(unset), type=Part) == unset
    assert msgspec.json.decode(encode(null), type=Part) == null
    assert unset != null


def test_times_are_rfc_3339_in_utc() -> None:
    retried = b'{"kind":"k","message":"m","attempt":1,"delay_ms":5,"next_at":"2026-01-02T03:04:05.000678Z"}'
    (shape,) = [shape for shape in SHAPES if shape.__name__ == "Retry"]
    retry = msgspec.json.decode(retried, type=shape)
    assert b'"next_at":"2026-01-02T03:04:05.000678Z"' in encode(retry)


@each_shape
@settings(max_examples=10)
@given(data=st.data())
def test_our_rows_with_unknown_fields_still_open(shape: type[Record], data: st.DataObject) -> None:
    value = data.draw(of(shape))
    if shape.__struct_config__.array_like:
        later = [*msgspec.json.decode(encode(value)), "added later"]
    else:
        later = {**msgspec.json.decode(encode(value)), "added_later": [1]}
    assert msgspec.json.decode(encode(later), type=shape) == value


def test_our_older_rows_without_newer_fields_still_open() -> None:
    assert msgspec.json.decode(b'{"input":3}', type=Usage) == Usage(input=3)


class _Asked(Border, frozen=True, kw_only=True):
    content: str


def test_unknown_fields_of_a_caller_are_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field `busyy`"):
        msgspec.json.decode(b'{"content":"x","busyy":1}', type=_Asked)
    assert msgspec.json.decode(b'{"content":"x"}', type=_Asked) == _Asked(content="x")


@each_shape
def test_shapes_are_frozen(shape: type[Record]) -> None:
    assert shape.__struct_config__.frozen


def test_a_wrong_type_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"type":"text","text":5}', type=Part)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"type":"telegram","text":"x"}', type=Part)
    assert msgspec.json.decode(b'{"type":"text","text":"x"}', type=Part) == Text(text="x")


# check_json


@given(value=jsons)
def test_json_is_accepted(value: object) -> None:
    check_json(value)


@pytest.mark.parametrize(
    "value",
    [
        MAX_INTEGER,
        -MAX_INTEGER,
        nested(MAX_DEPTH),
        {"a": nested(MAX_DEPTH - 1)},
        True,
        None,
        1e308,
        "\0",
    ],
    ids=lambda value: str(value)[:20],
)
def test_the_limits_themselves_are_accepted(value: object) -> None:
    check_json(value)


@pytest.mark.parametrize(
    "value",
    [
        MAX_INTEGER + 1,
        -MAX_INTEGER - 1,
        10**400,
        math.nan,
        math.inf,
        -math.inf,
        nested(MAX_DEPTH + 1),
        {"a": nested(MAX_DEPTH)},
        {1: "a number for a key"},
        (1, 2),
        {1, 2},
        b"bytes",
        object(),
    ],
    ids=lambda value: str(value)[:20],
)
@pytest.mark.parametrize("inside", [False, True], ids=["alone", "inside"])
def test_what_nobody_can_carry_is_refused(value: object, inside: bool) -> None:
    with pytest.raises(ValueError, match=r".+"):
        check_json({"list": [value]} if inside else value)
