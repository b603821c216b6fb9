"""Whose approval a call needs."""

import pytest

from holdfast.tools.approval import ApprovalRules, Policy
from holdfast.tools.contract import Input, Reach, Tool


class Nothing(Input, frozen=True, kw_only=True):
    pass


def tool(reach: Reach = "none", name: str = "t") -> Tool:
    return Tool(name=name, description="For tests.", input=Nothing, reach=reach)


@pytest.mark.parametrize(
    "reach, walled, verdict",
    [
        ("none", False, "run"),
        ("workspace", False, "run"),
        ("command", False, "ask"),
        ("command", True, "run"),
        ("outside", False, "ask"),
        ("outside", True, "ask"),
    ],
)
def test_auto_lets_run_what_cannot_reach_far(reach: Reach, walled: bool, verdict: str) -> None:
    assert ApprovalRules(walled=walled).judge(tool(reach)) == (verdict, f"auto: {reach}")


@pytest.mark.parametrize(
    "policy, verdict", [("auto", "ask"), ("ask", "ask"), ("allow", "run"), ("deny", "deny")]
)
def test_what_is_said_of_one_tool_counts_more_than_the_default(policy: Policy, verdict: str) -> None:
    defaults: tuple[Policy, ...] = ("auto", "ask", "allow", "deny")
    for default in defaults:
        assert ApprovalRules(default=default, per_tool={"t": policy}).judge(tool("outside"))[0] == verdict
    assert ApprovalRules(default=policy).judge(tool("outside"))[0] == verdict


def test_what_a_person_said_for_the_chat_is_not_asked_again() -> None:
    rules = ApprovalRules(default="ask", said_here={"t": True, "u": False})
    assert rules.judge(tool("outside")) == ("run", "allowed for this chat")
    assert rules.judge(tool("outside", "u")) == ("deny", "not allowed for this chat")
    assert rules.judge(tool("outside", "v"))[0] == "ask"


def test_a_person_does_not_get_around_the_configuration() -> None:
    assert ApprovalRules(default="deny", said_here={"t": True}).judge(tool())[0] == "deny"
    assert ApprovalRules(default="allow", said_here={"t": False}).judge(tool())[0] == "run"
