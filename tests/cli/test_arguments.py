"""Arguments of workflows as people type them."""

import pytest

from holdfast.cli.runs.arguments import arguments, fitted
from holdfast.core.shapes import Json

SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"q": {"type": "string"}, "n": {"type": "integer"}, "any": {}},
}


@pytest.mark.parametrize(
    "pair, value",
    [
        ("q=5", "5"),
        ("q=true", "true"),
        ("q=", ""),
        ('q={"a": 1}', '{"a": 1}'),
        ("n=5", 5),
        ("any=5", 5),
        ("any=x", "x"),
        ("other=5", 5),
    ],
)
def test_a_value_follows_what_the_workflow_says_of_it(pair: str, value: Json) -> None:
    given = arguments(None, [pair])["args"]
    assert fitted(given, [pair], SCHEMA) == {pair.partition("=")[0]: value}


def test_without_a_schema_values_are_json_where_they_can_be() -> None:
    assert fitted({"q": 5}, ["q=5"], None) == {"q": 5}
