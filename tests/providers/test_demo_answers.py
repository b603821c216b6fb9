"""What the demo model answers if a schema is given."""

import json

import pytest

from holdfast.core.parts import ToolCall
from holdfast.core.shapes import Json
from holdfast.providers.configs import ModelConfig
from holdfast.providers.demo import DemoAdapter
from holdfast.providers.demo_answers import fitting
from holdfast.providers.interface import ModelRequest, PromptMessage, ToolSpec
from holdfast.tools.schema import Shape
from tests.providers.calling import ask, text_of, user

MODEL = ModelConfig(name="demo", provider="demo", model="demo")
TREE: dict[str, Json] = {"type": "object", "properties": {"below": {"type": "array", "items": {"$ref": "#"}}}}
FIELDS: dict[str, dict[str, Json]] = {
    "anything": {},
    "text": {"type": "string"},
    "long text": {"type": "string", "minLength": 40},
    "short text": {"type": "string", "maxLength": 3},
    "a moment": {"type": "string", "format": "date-time"},
    "a choice": {"enum": ["low", "high"]},
    "one value": {"const": 7},
    "an example": {"type": "string", "examples": ["main.py"]},
    "a number": {"type": "number"},
    "at least": {"type": "integer", "minimum": 5},
    "at most": {"type": "integer", "maximum": -5},
    "above": {"type": "integer", "exclusiveMinimum": 3},
    "below": {"type": "number", "exclusiveMaximum": 0},
    "between": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "a share": {"type": "number", "minimum": 0, "maximum": 1},
    "a multiple": {"type": "integer", "multipleOf": 4, "minimum": 6},
    "yes or no": {"type": "boolean"},
    "nothing": {"type": "null"},
    "or nothing": {"type": ["null", "integer"]},
    "a list": {"type": "array", "items": {"type": "string"}},
    "three different": {"type": "array", "items": {"type": "string"}, "minItems": 3, "uniqueItems": True},
    "none": {"type": "array", "maxItems": 0},
    "a pair": {
        "type": "array",
        "prefixItems": [{"type": "string"}, {"type": "integer"}],
        "items": False,
        "minItems": 2,
    },
    "one of": {"oneOf": [{"type": "integer"}, {"type": "string"}]},
    "any of": {"anyOf": [{"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}]},
    "all of": {
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
            {"properties": {"b": {"type": "boolean"}}, "required": ["b"]},
        ]
    },
    "some": {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 2},
    "closed": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False},
}


@pytest.mark.parametrize("name", FIELDS)
def test_it_fits_the_schema_and_is_the_same_each_time(name: str) -> None:
    schema: dict[str, Json] = {"type": "object", "properties": {name: FIELDS[name]}, "required": [name]}
    value = fitting(schema)
    assert Shape(schema).complaints(value) == ()
    assert isinstance(value, dict)
    assert name in value
    assert fitting(schema) == value


def test_references_are_followed_and_come_to_an_end() -> None:
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/tree"}, "size": {"$ref": "#/$defs/size"}},
        "required": ["tree", "size"],
        "$defs": {
            "size": {"type": "integer", "minimum": 2},
            "tree": {
                "type": "object",
                "properties": {"next": {"$ref": "#/$defs/tree"}, "name": {"type": "string"}},
                "required": ["name"],
            },
        },
    }
    assert Shape(schema).complaints(fitting(schema)) == ()
    assert Shape(TREE).complaints(fitting(TREE)) == ()


def request(*messages: PromptMessage) -> ModelRequest:
    schema: Json = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
    tool = ToolSpec(name="structured_output", description="", input_schema=schema)
    return ModelRequest(model=MODEL, messages=messages, tools=(tool,))


async def test_an_agent_that_must_answer_with_a_shape_does() -> None:
    answer = await ask(DemoAdapter(), request(user("Find one.")))
    (call,) = answer.parts
    assert isinstance(call, ToolCall)
    assert (call.name, call.input) == ("structured_output", {"title": "demo title"})


async def test_steps_in_the_message_come_first() -> None:
    said = await ask(DemoAdapter(), request(user("say: Hello!")))
    assert text_of(said) == "Hello!"
    wanted = json.dumps({"title": "mine"})
    called = await ask(DemoAdapter(), request(user(f"call: structured_output {wanted}")))
    (call,) = called.parts
    assert isinstance(call, ToolCall)
    assert call.input == {"title": "mine"}
