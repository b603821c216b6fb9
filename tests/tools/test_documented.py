"""Every built-in tool documents its input, with an example, and what it does to the world."""

import ast
from pathlib import Path
from typing import Any, cast

import pytest

import holdfast.tools
from holdfast.core.shapes import Json
from holdfast.tools.contract import Tool
from tests.tools.built_in import BUILT_IN

TOOLS = Path(next(iter(holdfast.tools.__path__)))
Schema = dict[str, Any]


def properties(schema: Schema, where: str = "") -> list[tuple[str, Schema, bool]]:
    """All fields, those inside lists too: where, what, and whether it must be given."""
    fields: list[tuple[str, Schema, bool]] = []
    for name, field in schema.get("properties", {}).items():
        fields.append((f"{where}{name}", field, name in schema.get("required", ())))
        fields += properties(field.get("items", {}), f"{where}{name}[].")
    return fields


def example_of(schema: Schema) -> Json:
    """The input made of the first example of every field that has one."""
    return {name: field["examples"][0] for name, field in schema["properties"].items() if "examples" in field}


@pytest.mark.parametrize("tool", BUILT_IN, ids=lambda tool: tool.name)
def test_every_field_is_described(tool: Tool) -> None:
    for where, field, required in properties(cast(Schema, tool.schema)):
        assert field.get("description", "").endswith("."), f"{tool.name}: {where} has no description"
        assert not required or field.get("examples"), f"{tool.name}: {where} has no example"


@pytest.mark.parametrize("tool", BUILT_IN, ids=lambda tool: tool.name)
def test_its_example_is_an_input_it_takes(tool: Tool) -> None:
    example = example_of(cast(Schema, tool.schema))
    assert example or not tool.schema.get("required")
    assert isinstance(tool.parse(example), tool.input)


@pytest.mark.parametrize("path", sorted(TOOLS.glob("*.py")), ids=lambda path: path.stem)
def test_effects_are_said_and_not_left_to_the_default(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Tool":
            said = {keyword.arg for keyword in node.keywords}
            assert {"name", "description", "input", "effect"} <= said, f"{path.name}:{node.lineno}"


def test_files_stay_in_the_workspace_and_ask_nobody() -> None:
    for tool in BUILT_IN:
        if tool.name in (
            "read_file",
            "write_file",
            "edit_files",
            "delete_file",
            "list",
            "glob",
            "grep",
            "read_skill",
        ):
            assert tool.reach == "workspace"
    effects = {tool.name: tool.effect for tool in BUILT_IN}
    assert effects["edit_files"] == effects["execute"] == "unsafe"
    assert effects["write_file"] == effects["delete_file"] == "idempotent"
    assert {effects[name] for name in ("read_file", "list", "glob", "grep", "read_skill")} == {"read"}


def test_inputs_keep_their_names() -> None:
    """Clients and prompts are written against these."""
    names = {tool.name: set(cast(Schema, tool.schema)["properties"]) for tool in BUILT_IN}
    assert names["read_file"] >= {"path", "start_line", "end_line"}
    assert names["write_file"] >= {"path", "content"}
    assert names["edit_files"] >= {"edits"}
    assert names["delete_file"] >= {"path"}
    assert names["list"] >= {"path"}
    assert names["glob"] >= {"pattern", "path"}
    assert names["grep"] >= {"pattern", "path", "glob", "context"}
    assert names["execute"] >= {"command", "timeout_seconds", "background", "cwd"}
    spawn = {"prompt", "label", "model", "agent", "tools", "budget", "isolation"}
    assert names["spawn_agent"] >= spawn
    assert names["wait_agents"] >= {"agent_ids", "timeout_seconds"}
    assert names["message_agent"] >= {"agent_id", "text"}
    assert {*names["stop_agent"]} == {*names["read_agent"]} == {"agent_id"}
    assert names["spawn_subagent"] >= {"input", "model", "agent", "label"}
    assert names["subagent_status"] == names["subagent_result"] == {"task_id"}
