"""The list of tools: built-in ones first, those of sources behind them, each in a fixed order."""

from holdfast.tools.approval import ApprovalRules
from holdfast.tools.choice import Policy
from holdfast.tools.contract import Input, Tool
from holdfast.tools.registry import ToolRegistry


def tool(name: str, policy: Policy | None = None) -> Tool:
    return Tool(name=name, description=name, input=Input, reach="outside", policy=policy)


def names(tools: ToolRegistry) -> list[str]:
    return [tool.name for tool in tools]


def test_what_comes_and_goes_is_last_and_replaces_nothing() -> None:
    own = tool("read_file")
    built_in = ToolRegistry([tool("write_file"), own])
    tools = built_in.with_more([tool("mcp__b__x"), tool("mcp__a__x"), tool("read_file")])
    assert names(tools) == ["read_file", "write_file", "mcp__a__x", "mcp__b__x"]
    assert tools.get("read_file") is own
    assert names(built_in) == ["read_file", "write_file"]
    assert names(tools.only(["mcp__a__x", "write_file"])) == ["write_file", "mcp__a__x"]
    assert names(tools.with_own([tool("zzz")])) == [
        "read_file",
        "write_file",
        "zzz",
        "mcp__a__x",
        "mcp__b__x",
    ]
    assert "mcp__a__x" in tools.unknown("mcp__a__y")


def test_a_tool_brings_a_policy_that_configuration_and_denial_overrule() -> None:
    free = tool("mcp__a__x", "allow")
    assert ApprovalRules().judge(free)[0] == "ask"
    assert ApprovalRules().beneath([free]).judge(free)[0] == "run"
    assert ApprovalRules(default="ask").beneath([free]).judge(free)[0] == "run"
    assert ApprovalRules(default="deny").beneath([free]).judge(free)[0] == "deny"
    assert ApprovalRules(per_tool={"mcp__a__x": "ask"}).beneath([free]).judge(free)[0] == "ask"
    denied = tool("mcp__a__y", "deny")
    rules = ApprovalRules().beneath([denied]).for_chat({"mcp__a__y": "allow"}, {})
    assert rules.judge(denied)[0] == "deny"
