"""Tool input that is nearly JSON: repaired where it can only mean one thing, else kept and refused."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.core.ids import CallId
from holdfast.core.parts import ToolCall
from holdfast.providers.input_repair import Invalid, Parsed, invalid_input, parse_input


@pytest.mark.parametrize(
    "text, value",
    [
        ("", {}),
        ("  \n", {}),
        ("{}", {}),
        ('{"a": 1}', {"a": 1}),
        # Trailing commas, but not those inside texts.
        ('{"a": 1,}', {"a": 1}),
        ('{"a": [1, 2,],}', {"a": [1, 2]}),
        ('{"a": ",}", "b": ",]",}', {"a": ",}", "b": ",]"}),
        # Brackets that never came.
        ('{"a": 1', {"a": 1}),
        ('{"a": [1, {"b": 2', {"a": [1, {"b": 2}]}),
        ('{"a": "x"', {"a": "x"}),
        ('{"a": "}"', {"a": "}"}),
        ("{", {}),
        # Too many, or the same twice.
        ('{"a": 1}}', {"a": 1}),
        ('{"a": 1}]}', {"a": 1}),
        ('{"a": 1}{"a": 1}', {"a": 1}),
        # Fences.
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('```\n{"a": 1,}\n```', {"a": 1}),
        # Python.
        ("{'a': True, 'b': None, 'c': 'it\\'s'}", {"a": True, "b": None, "c": "it's"}),
        ("{'a': (1, 2)}", {"a": [1, 2]}),
        # Encoded twice.
        ('"{\\"a\\": 1}"', {"a": 1}),
        # A line break inside a text.
        ('{"a": "one\ntwo"}', {"a": "one\ntwo"}),
        # What no store can keep.
        ('{"a": "x\\u0000y\\ud800"}', {"a": "x\ufffdy\ufffd"}),
    ],
)
def test_what_can_be_meant_in_one_way(text: str, value: Any) -> None:
    assert parse_input(text) == Parsed(value=value)


@pytest.mark.parametrize(
    "text",
    [
        "[1, 2]",
        "3",
        "null",
        "true",
        '"text"',
        "just words",
        '{"a": ',
        '{"a": 1,',
        '{"a',
        # Half a file must not be written.
        '{"path": "a.txt", "content": "import os\\nos.remo',
        '{"a": 1} {"b": 2}',
        '{"a": ]}',
        "{a: 1}",
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": ' + "9" * 400 + "}",
        '{"a":' * 100_000,
        "[" * 100_000,
        "{'a': __import__('os')}",
        "{'a': {1, 2}}",
        "{1: 2}",
    ],
)
def test_what_is_refused_word_for_word(text: str) -> None:
    found = parse_input(text)
    assert isinstance(found, Invalid)
    assert found.text == text
    assert found.reason


@pytest.mark.parametrize("text", ['{"edits": [{"path": "a"}', '{"a": 1', "{"])
def test_an_answer_that_reached_its_limit_is_not_completed(text: str) -> None:
    found = parse_input(text, cut=True)
    assert isinstance(found, Invalid)
    assert "limit" in found.reason


def test_a_whole_input_at_the_limit_is_whole() -> None:
    assert parse_input('{"a": 1}', cut=True) == Parsed(value={"a": 1})


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=50)
@given(st.dictionaries(st.text("abc", max_size=3), _json, max_size=4))
def test_valid_input_is_never_changed(value: dict[str, Any]) -> None:
    text = msgspec.json.encode(value).decode()
    expected = msgspec.json.decode(text.replace("\\u0000", "\ufffd"))
    assert parse_input(text) == Parsed(value=expected)


@given(st.text(max_size=40))
def test_any_text_gets_a_verdict(text: str) -> None:
    found = parse_input(text)
    assert isinstance(found, (Parsed, Invalid))


def test_the_mark_on_a_call_is_found_again() -> None:
    call = ToolCall(
        call_id=CallId("c"), name="n", input={}, provider_data={"kind": "x", "invalid_input": "why"}
    )
    assert invalid_input(call) == "why"
    assert invalid_input(ToolCall(call_id=CallId("c"), name="n", input={})) is None
