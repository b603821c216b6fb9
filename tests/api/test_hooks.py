"""Hooks through the API, behind a real wall: nothing runs before trust, and nobody sees another's."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.secret import Secret
from holdfast.tools.hooks.definitions import Hook
from tests.api.serving import Client, Serving, config_for, serving
from tests.api.test_trust import decide, items
from tests.api.test_workspaces import workspace

SECRET = "c2VjcmV0LWtleS1vZi10aGUtd2ViaG9vay0xMjM0NTY3ODkw"
GUARD = """\
touch canary
grep -q '"file_path":"[^"]*/bad.txt"' && { echo "not this file" >&2; exit 2; }
exit 0
"""
CONFIGURED = (
    Hook(
        source="config",
        event="pre_tool",
        path="[[hooks]] 1",
        command="TOKEN=abc123 cat >/dev/null",
        matcher="todo",
    ),
    Hook(
        source="config",
        event="turn_end",
        path="[[hooks]] 2",
        url="https://example.com/a?key=abc123",
        secret=Secret(SECRET),
    ),
)


@pytest.fixture
async def hooked(tmp_path: Path) -> AsyncGenerator[Serving]:
    async with serving(config_for(tmp_path / "data", hooks=CONFIGURED)) as running:
        if not running.parts.toolbox.probe.wall.stands:
            pytest.skip("this machine has no wall")
        yield running


def bring(root: Path, script: str, event: str = "PreToolUse", matcher: str = "Write") -> None:
    (root / ".claude" / "hooks").mkdir(parents=True, exist_ok=True)
    (root / ".claude" / "hooks" / "guard.sh").write_text(script)
    handler = {"type": "command", "command": 'sh "$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh', "timeout": 20}
    hooks = {event: [{"matcher": matcher, "hooks": [handler]}]}
    (root / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}))


async def at_rest(admin: Client, chat_id: str) -> dict[str, Any]:
    async with asyncio.timeout(40):
        while True:
            chat = (await admin.get(f"chats/{chat_id}")).json
            if chat["status"] in ("idle", "error", "requires_action"):
                return chat
            await asyncio.sleep(0.05)


async def write_in(admin: Client, workspace_id: str, name: str) -> dict[str, Any]:
    said = f'call: write_file {{"path": "{name}", "content": "x"}}\nsay: done'
    chat = (await admin.post("chats", {"content": said, "workspace_id": workspace_id})).json
    return await at_rest(admin, chat["id"])


async def test_a_workspaces_hook_runs_once_trusted_and_asks_again_when_it_was_changed(
    hooked: Serving,
) -> None:
    admin = hooked.admin
    workspace_id, root = await workspace(hooked)
    bring(root, GUARD)
    # Nobody trusts it: it does not run, and what it would refuse is done.
    await write_in(admin, workspace_id, "bad.txt")
    assert (root / "bad.txt").exists()
    assert not (root / "canary").exists()
    (shown,) = [
        one
        for one in (await admin.get(f"hooks?workspace_id={workspace_id}")).json["items"]
        if one["source"] == "workspace"
    ]
    assert shown["state"] == "new"
    tried = await admin.post(f"hooks/{shown['id']}/test?workspace_id={workspace_id}", None)
    assert tried.code == "wrong_state"
    assert not (root / "canary").exists()

    item = (await items(admin, workspace_id))[".claude/settings.json"]
    assert item["kind"] == "hooks"
    assert [file["path"] for file in item["files"]] == [".claude/hooks/guard.sh"]
    assert (await decide(admin, workspace_id, item)).status == 200
    (root / "bad.txt").unlink()
    chat = await write_in(admin, workspace_id, "bad.txt")
    assert chat["status"] == "idle"
    assert not (root / "bad.txt").exists()
    assert (root / "canary").exists()
    messages = (await admin.get(f"chats/{chat['id']}/messages")).json["items"]
    (result,) = [part for message in messages for part in message["parts"] if part["type"] == "tool_result"]
    assert result["outcome"] == "denied"
    assert "not this file" in result["output"]
    spans = (await admin.get(f"chats/{chat['id']}/trace?kind=hook")).json["items"]
    assert [(span["outcome"], span["output"]["reason"]) for span in spans] == [("blocked", "not this file")]
    whole = await admin.get(f"chats/{chat['id']}/trace/{spans[0]['id']}")
    assert whole.json["parent_id"].startswith("call-")
    runs = (await admin.get("hooks/runs")).json["items"]
    assert [run["outcome"] for run in runs] == ["blocked"]

    # An agent, or anybody, changes the script: it does not run, and a person is asked about every call.
    (root / ".claude" / "hooks" / "guard.sh").write_text("touch canary-2; exit 0")
    chat = await write_in(admin, workspace_id, "other.txt")
    assert chat["status"] == "requires_action"
    assert not (root / "canary-2").exists()


async def test_what_others_may_know(hooked: Serving) -> None:
    workspace_id, root = await workspace(hooked)
    bring(root, "exit 0")
    member = await hooked.member("mona")
    # Of the configuration a member sees that there is something, and nothing of what it holds.
    answer = await member.get("hooks")
    assert [one["event"] for one in answer.json["items"]] == ["pre_tool", "turn_end"]
    assert b"abc123" not in answer.body
    assert b"abc123" in (await hooked.admin.get("hooks")).body
    assert SECRET.encode() not in (await hooked.admin.get("hooks")).body
    assert (await member.get(f"hooks?workspace_id={workspace_id}")).status == 404
    hook_id = answer.json["items"][0]["id"]
    assert (await member.post(f"hooks/{hook_id}/test", None)).status == 403
    assert (await member.post("hooks/0123456789abcdef/test", None)).status == 404
    tried = await hooked.admin.post(f"hooks/{hook_id}/test", None)
    assert (tried.status, tried.json["outcome"], tried.json["given"]["tool"]) == (200, "passed", "execute")
    chat = (await hooked.admin.post("chats", {"content": 'call: todo {"items": []}\nsay: done'})).json
    await at_rest(hooked.admin, chat["id"])
    (run,) = (await hooked.admin.get("hooks/runs")).json["items"]
    assert (run["event"], run["outcome"], run["name"]) == ("pre_tool", "passed", "cat")
    assert (await member.get("hooks/runs")).json["items"] == []
    assert (await member.get(f"chats/{chat['id']}/trace")).status == 404
    trace = await hooked.admin.get(f"chats/{chat['id']}/trace")
    assert b"abc123" not in trace.body
