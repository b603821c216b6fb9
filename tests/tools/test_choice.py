"""Which tools a chat may use: only some, policies, or both; never more than its creator has."""

import pytest

from holdfast.core.shapes import Json
from holdfast.tools.approval import ApprovalRules
from holdfast.tools.choice import names_of, narrowed, policies_of


@pytest.mark.parametrize(
    "chosen, names, policies",
    [
        (None, None, {}),
        (["a", "b"], ("a", "b"), {}),
        ([], (), {}),
        ({"a": "ask"}, None, {"a": "ask"}),
        ({"*": "deny", "a": "ask", "b": None}, ("a", "b"), {"a": "ask"}),
    ],
)
def test_what_a_choice_means(chosen: Json, names: tuple[str, ...] | None, policies: dict[str, str]) -> None:
    assert names_of(chosen) == names
    assert policies_of(chosen) == policies


@pytest.mark.parametrize(
    "chosen, limits, meant",
    [
        (None, [None, None], None),
        (None, [["b", "a"]], ["a", "b"]),
        (["a", "b"], [None], ["a", "b"]),
        (["a", "b"], [["b", "c"], None], ["b"]),
        ({"a": "ask"}, [None], {"a": "ask"}),
        ({"a": "ask", "c": "deny"}, [["a", "b"]], {"*": "deny", "a": "ask", "b": None}),
        ({"*": "deny", "a": "ask", "b": None}, [["b", "c"]], ["b"]),
        ({"*": "deny", "a": "ask", "b": None}, [None], {"*": "deny", "a": "ask", "b": None}),
    ],
)
def test_a_choice_is_only_made_narrower(chosen: Json, limits: list[list[str] | None], meant: Json) -> None:
    assert narrowed(chosen, *limits) == meant


def test_no_policy_of_its_own_is_the_policy_of_the_server() -> None:
    rules = ApprovalRules(per_tool={"b": "deny", "a": "ask"}).for_chat(
        {"*": "deny", "a": None, "b": "allow"}, {}
    )
    assert rules.per_tool == {"b": "deny", "a": "ask"}
