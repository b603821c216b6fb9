"""The reference of the built-in tools, made from their schemas."""

import json
from types import SimpleNamespace
from typing import Any, cast

from holdfast.scripts.runs.tool import workflow_tools
from holdfast.tools.built_in import built_in
from holdfast.tools.contract import Tool
from holdfast.tools.templates.template_tools import template_tools
from holdfast.tools.web.web_tools import WebSettings

Schema = dict[str, Any]

HEAD = """\
# Built-in tools

Written from `holdfast/tools` and `holdfast/scripts` by `make docs`. A model is shown the same descriptions
and schemas; an input that does not fit is answered with what is wrong and where.

**Effect** says what happens when the server dies while a call runs. `read`: it runs again. `idempotent`: it
runs again and takes effect once. `unsafe`: it never runs again by itself; the model is told that nobody knows
how it ended, or a person is asked (`tools.on_uncertain`).

**Approval** is what the policy `auto` means for the tool; `tools.<name>.approval` and what is chosen for a
chat change it.

A tool that is **exclusive** must be the only call of its step. One that **ends the turn** is the last thing
the model does in it.
"""
APPROVAL = {
    "none": "free",
    "workspace": "free, because it stays inside the workspace",
    "command": "free behind the wall, asks without it",
    "outside": "asks, because it reaches outside of the workspace",
}


def tools() -> str:
    nothing = cast(Any, None)
    found = built_in(
        workspaces=nothing,
        walled=nothing,
        seen=nothing,
        processes=nothing,
        limits=nothing,
        family=cast(Any, SimpleNamespace(store=None)),
        files=nothing,
        code=nothing,
        web=lambda: WebSettings(search="searxng"),
        documents=nothing,
        store=nothing,
        ids=nothing,
        clock=nothing,
        ripgrep=None,
    )
    found = (*found, *workflow_tools(nothing, cast(Any, SimpleNamespace(store=None))))
    found = (*found, *template_tools(nothing, nothing, nothing, nothing, nothing))
    ordered = sorted(found, key=lambda tool: tool.name)
    listed = ", ".join(f"[{tool.name}](#{tool.name})" for tool in ordered)
    return "\n".join([HEAD, listed + ".", *(line for tool in ordered for line in _tool(tool))]) + "\n"


def _tool(tool: Tool) -> list[str]:
    schema = cast(Schema, tool.schema)
    facts = [f"Effect: `{tool.effect}`", f"approval: {_approval(tool)}"]
    facts += ["exclusive"] if tool.exclusive else []
    facts += ["ends the turn"] if "ends_turn" in tool.traits else []
    rows = _rows(schema)
    lines = ["", f"## {tool.name}", "", tool.description, "", "; ".join(facts) + "."]
    if rows:
        lines += ["", "| input | takes | default | |", "|---|---|---|---|", *rows]
        lines += ["", "```json", json.dumps(_example(schema), ensure_ascii=False), "```"]
    return lines


def _approval(tool: Tool) -> str:
    return "a person answers it" if tool.asks is not None else APPROVAL[tool.reach]


def _rows(schema: Schema, where: str = "") -> list[str]:
    rows: list[str] = []
    for name, field in schema.get("properties", {}).items():
        needed = " (needed)" if name in schema.get("required", ()) else ""
        inner = _given(field)
        default = "" if field.get("default") in (None, []) else f"`{json.dumps(field['default'])}`"
        meaning = field.get("description", "").replace("|", "\\|")
        rows.append(f"| `{where}{name}`{needed} | {_type(inner)} | {default} | {meaning} |")
        rows += _rows(inner, f"{where}{name}.") + _rows(_given(inner.get("items", {})), f"{where}{name}[].")
    return rows


def _given(field: Schema) -> Schema:
    """What may be given, where nothing may be given too."""
    return next((one for one in field.get("anyOf", ()) if one.get("type") != "null"), field)


def _type(field: Schema) -> str:
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if field.get("type") == "array":
        return f"list of {_type(_given(field['items']))}"
    low, high = field.get("minimum"), field.get("maximum")
    bounds = f" from {low}" * (low is not None) + f" to {high}" * (high is not None and high < 2**50)
    return str(field.get("type", "anything")) + bounds


def _example(schema: Schema) -> Schema:
    return {name: field["examples"][0] for name, field in schema["properties"].items() if "examples" in field}
