"""The contract of a tool: its schema, its input, and what every built-in tool must declare."""

import json
import re
from typing import Literal

import msgspec
import pytest

from holdfast.core.ids import CallId, ChatId, UserId
from holdfast.core.shapes import Json
from holdfast.tools.contract import Input, Tool, ToolAnswer, ToolContext, ToolError
from holdfast.tools.people import ASK_USER, PROPOSE_PLAN
from holdfast.tools.registry import ToolRegistry
from holdfast.tools.todo import TODO

BUILT_IN = (ASK_USER, PROPOSE_PLAN, TODO)


class Range(Input, frozen=True, kw_only=True):
    first: int
    last: int | None = None


class Read(Input, frozen=True, kw_only=True):
    path: str
    lines: list[Range] = msgspec.field(default_factory=list[Range])
    mode: Literal["text", "bytes"] = "text"


READ = Tool(name="read", description="Reads.", input=Read)


# The schema


def test_the_schema_is_inlined_and_closed() -> None:
    schema = READ.schema
    assert schema["type"] == "object"
    assert schema["required"] == ["path"]
    assert schema["additionalProperties"] is False
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert properties["mode"] == {"enum": ["bytes", "text"], "default": "text"}
    assert properties["lines"]["items"]["properties"]["first"] == {"type": "integer"}
    assert "$ref" not in json.dumps(schema)


def test_the_schema_is_the_same_every_time() -> None:
    again = Tool(name="read", description="Reads.", input=Read)
    assert json.dumps(again.schema) == json.dumps(READ.schema)


# The input


def test_input_that_fits() -> None:
    given: Json = {"path": "a", "lines": [{"first": 1}, {"first": 2, "last": 3}]}
    assert READ.parse(given) == Read(path="a", lines=[Range(first=1), Range(first=2, last=3)])


def test_numbers_as_text_are_understood() -> None:
    assert READ.parse({"path": "a", "lines": [{"first": "7"}]}) == Read(path="a", lines=[Range(first=7)])


@pytest.mark.parametrize(
    "given, complaint",
    [
        ({}, "missing required field `path`"),
        ({"path": 1}, "at `$.path`"),
        ({"path": "a", "lines": [{"first": 1}, {"first": "x"}]}, "at `$.lines[1].first`"),
        ({"path": "a", "mode": "bits"}, "Invalid enum value 'bits'"),
        ({"path": "a", "deep": 1}, "unknown field `deep`"),
        (None, "Expected `object`"),
        ([], "Expected `object`"),
    ],
)
def test_input_that_does_not_is_told_what_and_where(given: Json, complaint: str) -> None:
    with pytest.raises(ToolError) as error:
        READ.parse(given)
    assert "The input of read is not valid" in str(error.value)
    assert complaint in str(error.value)


def test_every_run_of_a_call_has_the_same_key() -> None:
    def context(run: int) -> ToolContext:
        chat, owner = ChatId("chat"), UserId("owner")
        return ToolContext(chat_id=chat, owner_id=owner, workspace_id=None, call_id=CallId("c1"), run=run)

    assert context(1).key == context(2).key == "chat:c1"


# What is built in


@pytest.mark.parametrize("tool", BUILT_IN, ids=lambda tool: tool.name)
def test_every_built_in_tool_says_what_it_is(tool: Tool) -> None:
    assert re.fullmatch(r"[a-z][a-z_]{1,63}", tool.name)
    assert tool.description.endswith(".")
    assert len(tool.description) > 20
    assert tool.effect in ("read", "idempotent", "unsafe")
    assert tool.schema["type"] == "object"
    assert tool.schema["properties"]
    assert (tool.run is None) is (tool.asks is not None)


def test_the_registry_is_in_the_same_order_whatever_it_was_given() -> None:
    names = [tool.name for tool in ToolRegistry(BUILT_IN)]
    assert names == sorted(names) == [tool.name for tool in ToolRegistry(reversed(BUILT_IN))]


def test_two_tools_of_one_name_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="two tools are named todo"):
        ToolRegistry([TODO, TODO])


def test_an_agent_gets_the_tools_it_is_given() -> None:
    registry = ToolRegistry(BUILT_IN)
    assert [tool.name for tool in registry.only(("todo", "unheard_of"))] == ["todo"]
    assert list(registry.only(())) == []
    assert registry.only(None) is registry
    assert "ask_user" in registry
    assert registry.only(("todo",)).get("ask_user") is None


def test_an_unknown_tool_is_told_of_the_nearest() -> None:
    registry = ToolRegistry(BUILT_IN)
    assert "ask_user" in registry.unknown("ask_the_user")
    assert "propose_plan" in registry.unknown("plan_propose")
    assert "ask_user, propose_plan, todo" in registry.unknown("zzz")
    assert len(registry.unknown("x" * 30_000)) < 500
    assert "none" in ToolRegistry().unknown("todo")


async def test_the_list_of_things_to_do_is_its_newest_call() -> None:
    assert TODO.run is not None
    given = TODO.parse(
        {"items": [{"text": "Look", "status": "in_progress"}, "Think", {"text": "Ask", "status": "done"}]}
    )
    context = ToolContext(
        chat_id=ChatId("c"), owner_id=UserId("o"), workspace_id=None, call_id=CallId("x"), run=1
    )
    answer = TODO.run(context, given)
    assert not isinstance(answer, ToolAnswer)
    assert (await answer).output == {
        "items": [
            {"text": "Look", "status": "in_progress"},
            {"text": "Think", "status": "pending"},
            {"text": "Ask", "status": "completed"},
        ]
    }
