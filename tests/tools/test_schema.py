"""Schemas from people and models: helpful errors, nothing fetched, and no schema that takes forever."""

import pytest

from holdfast.core.errors import InvalidInput
from holdfast.core.shapes import Json
from holdfast.tools.schema import Shape, check_answer_schema, check_schema

PERSON: dict[str, Json] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}}},
    "required": ["name"],
    "additionalProperties": False,
    "$defs": {"tag": {"type": "string", "pattern": "^[a-z]+$"}},
}


def test_a_value_that_fits_has_no_complaints() -> None:
    assert Shape(check_schema(PERSON)).complaints({"name": "Ada", "tags": ["x"]}) == ()


def test_complaints_say_where_and_what() -> None:
    found = Shape(check_schema(PERSON)).complaints({"tags": ["x", "Y!"], "age": 3})
    assert any("name" in complaint and "required" in complaint for complaint in found)
    assert any(complaint.startswith("$.tags[1]: ") for complaint in found)
    assert any("age" in complaint for complaint in found)


def test_complaints_are_few_and_short() -> None:
    found = Shape(check_schema({"items": {"type": "string", "maxLength": 1}})).complaints(
        ["x" * 10_000] * 100
    )
    assert len(found) == 5
    assert all(len(complaint) < 400 for complaint in found)


@pytest.mark.parametrize(
    "schema",
    [
        [],
        "object",
        {"type": "objekt"},
        {"properties": 3},
        {"$ref": "http://127.0.0.1/x"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": "#/$defs/gone"},
        {"$id": "http://x/y", "type": "object"},
        {"properties": {"a": {"$dynamicRef": "#x"}}},
        {"pattern": "(?=a)b"},
        {"pattern": "(a{1000}){1000}"},
        {"pattern": "("},
        {"description": "x" * 100_000},
        {"minimum": 2**70},
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(schema: Json) -> None:
    with pytest.raises(InvalidInput):
        check_schema(schema)


def test_the_answer_of_an_agent_is_an_object() -> None:
    assert check_answer_schema({"properties": {}})["type"] == "object"
    with pytest.raises(InvalidInput):
        check_answer_schema({"type": "string"})


def test_a_pattern_takes_linear_time() -> None:
    assert len(Shape(check_schema({"pattern": "^(a+)+$"})).complaints("a" * 200_000 + "b")) == 1


def test_references_that_double_are_refused_before_they_are_followed() -> None:
    doubling: dict[str, Json] = {
        f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(40)
    }
    schema: dict[str, Json] = {"$defs": {**doubling, "d40": {"type": "string"}}, "$ref": "#/$defs/d0"}
    assert "too long" in Shape(check_schema(schema)).complaints(1)[0]


def test_a_recursive_schema_works_on_values_of_ordinary_depth() -> None:
    tree: Json = {"anyOf": [{"type": "array", "items": {"$ref": "#"}}, {"type": "string"}]}
    shape = Shape(check_schema(tree))
    assert shape.complaints([["a", ["b"]], "c"]) == ()
    assert shape.complaints([["a", [3]]]) != ()


def test_a_recursive_schema_on_a_value_that_would_double_is_refused() -> None:
    schema: Json = {
        "properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}},
        "not": {"type": "integer"},
    }
    value: Json = 1
    for _ in range(60):
        value = {"a": value}
    assert "too long" in Shape(check_schema(schema)).complaints(value)[0]
