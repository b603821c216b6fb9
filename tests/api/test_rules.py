"""A user's rules on a tool for all of their chats: made by a decision, applied everywhere, revoked."""

from pathlib import Path

import pytest

from holdfast.core.calls import UserRule
from holdfast.core.clock import from_micros
from holdfast.core.ids import RuleId, UserId
from holdfast.tools.approval import ApprovalRules
from tests.api.serving import Client, Serving
from tests.api.test_approvals import ASK, CALL, answered


async def test_always_counts_in_every_chat_of_the_user_until_it_is_revoked(server: Serving) -> None:
    admin, member = server.admin, await server.member()
    first = await admin.start_chat(f"{CALL}{CALL}say: done", tools=ASK)
    await answered(admin, first["id"], "approve", scope="always")
    # The second call of the same turn is not asked any more, and no other chat either.
    assert (await admin.until_settled(first["id"]))["status"] == "idle"
    second = await admin.start_chat(f"{CALL}say: done", tools=ASK)
    assert (await admin.until_settled(second["id"]))["status"] == "idle"
    (rule,) = (await admin.get("approvals")).json["items"]
    assert {name: rule[name] for name in ("tool", "allowed", "workspace_id", "host", "path")} == {
        "tool": "todo",
        "allowed": True,
        "workspace_id": None,
        "host": None,
        "path": None,
    }
    assert (await admin.get(f"chats/{first['id']}/approvals")).json["items"] == []
    # Another person is asked, sees nothing of it and cannot revoke it.
    theirs = await member.start_chat(f"{CALL}say: done", tools=ASK)
    await member.until_status(theirs["id"], "requires_action")
    assert (await member.get("approvals")).json["items"] == []
    assert (await member.delete(f"approvals/{rule['id']}")).status == 404
    assert (await admin.delete("approvals/nothing")).status == 404
    assert (await admin.delete(f"approvals/{rule['id']}")).status == 204
    assert (await admin.get("approvals")).json["items"] == []
    third = await admin.start_chat(f"{CALL}say: done", tools=ASK)
    await admin.until_status(third["id"], "requires_action")


async def test_the_newest_decision_is_the_rule(admin: Client) -> None:
    for decision in ("approve", "deny"):
        for rule in (await admin.get("approvals")).json["items"]:
            assert (await admin.delete(f"approvals/{rule['id']}")).status == 204
        chat = await admin.start_chat(f"{CALL}say: done", tools=ASK)
        await answered(admin, chat["id"], decision, scope="always")
        await admin.until_settled(chat["id"])
        (rule,) = (await admin.get("approvals")).json["items"]
        assert rule["allowed"] is (decision == "approve")
    refused = await admin.start_chat(f"{CALL}say: done", tools=ASK)
    assert (await admin.until_settled(refused["id"]))["status"] == "idle"
    (span,) = (await admin.get(f"chats/{refused['id']}/trace?kind=tool_call")).json["items"]
    assert span["outcome"] == "denied"


async def test_access_to_a_path_is_granted_by_a_rule_for_that_path_alone(
    admin: Client, tmp_path: Path
) -> None:
    inside, outside = tmp_path / "notes", tmp_path / "other"
    for directory in (inside, outside):
        (directory / "deep").mkdir(parents=True)

    def ask(path: Path) -> str:
        return f'call: request_access {{"path": "{path}", "reason": "to read"}}\nsay: {{result}}'

    first = await admin.start_chat(ask(inside))
    await answered(admin, first["id"], "approve", scope="always")
    await admin.until_settled(first["id"])
    (rule,) = (await admin.get("approvals")).json["items"]
    assert (rule["tool"], rule["path"]) == ("request_access", str(inside))
    below = await admin.start_chat(ask(inside / "deep"))
    assert (await admin.until_settled(below["id"]))["status"] == "idle"
    given = [grant["path"] for grant in (await admin.get("grants")).json["items"]]
    assert given == [str(inside), str(inside / "deep")]
    for other in (outside, tmp_path):
        chat = await admin.start_chat(ask(other))
        await admin.until_status(chat["id"], "requires_action")


@pytest.mark.parametrize(
    "tool, given, covered",
    [
        ("request_access", {"path": "/a/b"}, True),
        ("request_access", {"path": "/a/b/c"}, True),
        ("request_access", {"path": "/a/bc"}, False),
        ("request_access", {"path": "/a/b/../../etc"}, False),
        ("request_access", {}, False),
        ("web_fetch", {"url": "https://example.org/x"}, True),
        ("web_fetch", {"url": "https://example.org.evil.net/x"}, False),
        ("web_fetch", {"url": "https://example.org@evil.net/x"}, False),
        ("web_fetch", {}, False),
        ("execute", {"command": "ls"}, False),
    ],
)
def test_a_rule_covers_its_subject_and_nothing_else(tool: str, given: dict[str, str], covered: bool) -> None:
    rules = ApprovalRules(
        always=(
            _rule("request_access", path="/a/b"),
            _rule("web_fetch", host="example.org"),
        )
    )
    assert (rules.rule_for(tool, dict(given)) is not None) is covered


def _rule(tool: str, *, host: str | None = None, path: str | None = None) -> UserRule:
    return UserRule(
        id=RuleId("rule"),
        user_id=UserId("user"),
        tool=tool,
        workspace_id=None,
        host=host,
        path=path,
        allowed=True,
        created_at=from_micros(0),
    )
