"""Modes are kept by the server: whatever a model tries in plan mode, nothing changes on disk."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from holdfast.config.sections import Config, ModeChoice
from holdfast.tools.contract import Input, Tool
from holdfast.tools.modes import ASK, BUILT_IN, PLAN, find_mode, forbidding, own_mode
from tests.api.serving import Client, Serving, config_for, serving
from tests.api.test_chats import text
from tests.api.test_runs import until
from tests.api.test_workspaces import workspace
from tests.changes.trees import tree_of

# One call of every tool that could change something, and how a child or a workflow would try it.
WRITES: dict[str, dict[str, Any]] = {
    "write_file": {"path": "new.txt", "content": "x"},
    "edit_files": {"edits": [{"path": "hello.py", "old": "hello", "new": "gone"}]},
    "delete_file": {"path": "hello.py"},
    "process_signal": {"process_id": "p-1", "signal": "SIGTERM"},
    "run_workflow": {"script": "await agent('write')", "language": "javascript"},
}
# `create_workspace` and the like of other features are denied by their effect; see the test of all tools.


def results(messages: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        part["name"]: part
        for message in messages
        for part in message["parts"]
        if part["type"] == "tool_result"
    }


async def test_no_tool_changes_anything_in_plan_mode(server: Serving) -> None:
    admin = server.admin
    workspace_id, root = await workspace(server)
    before = tree_of(root)
    lines = [f"call: {name} {json.dumps(given)}" for name, given in WRITES.items()]
    lines.append('call: execute {"command": "echo x > hello.py; rm -rf . ; touch y; git commit -m x; ls"}')
    child = 'call: write_file {\\"path\\": \\"child\\", \\"content\\": \\"x\\"}\\nsay: {result}'
    lines.append(f'call: spawn_agent {{"prompt": "{child}"}}')
    lines.append(f'call: spawn_agent {{"prompt": "{child}", "isolation": "worktree"}}')
    lines.append("call: wait_agents {}")
    lines.append("say: {result}")
    chat = await admin.start_chat("\n".join(lines), workspace_id=workspace_id, mode="plan")
    assert chat["mode"] == "plan"
    done = await admin.until_settled(chat["id"])
    assert done["status"] == "idle", done
    messages = await admin.messages(chat["id"])
    told = results(messages)
    for name in WRITES:
        assert told[name]["outcome"] == "denied", told[name]
        assert told[name]["output"].startswith("denied (mode)")
    # Behind a wall it ran and could write nothing; without one it did not run.
    assert told["execute"]["outcome"] in ("failed", "denied", "succeeded")
    assert "denied (mode)" in text(messages[-1]), "the child was no freer"
    assert tree_of(root) == before
    notices = [part for message in messages for part in message["parts"] if part["type"] == "notice"]
    assert any(part["code"] == "mode" and part["data"] == {"mode": "plan"} for part in notices)
    trace = (await admin.get(f"chats/{chat['id']}/trace?kind=tool_call")).json["items"]
    denied = [span for span in trace if span["name"] == "write_file"]
    assert denied[0]["approved_by"]["rule"] == "mode = plan"


async def test_an_agent_of_a_workflow_is_no_freer_than_the_chat(server: Serving) -> None:
    """A run that belongs to a chat is bound by its mode, also when a person starts it there."""
    admin = server.admin
    workspace_id, root = await workspace(server)
    before = tree_of(root)
    chat = await admin.start_chat("say: hi", workspace_id=workspace_id, mode="plan")
    await admin.until_settled(chat["id"])
    write = json.dumps('call: write_file {"path": "agent.txt", "content": "x"}\nsay: {result}')
    script = f"export const meta = {{name: 'w', description: 'writes'}}\nreturn await agent({write})"
    body = {"script": script, "language": "javascript", "chat_id": chat["id"]}
    run = await admin.post("workflow-runs", body)
    assert run.status == 202, run
    ended = await until(admin, run.json["id"], lambda now: now["finished_at"] is not None)
    assert ended["status"] == "succeeded", ended
    (agent,) = ended["calls"]
    told = results(await admin.messages(agent["chat_id"]))
    assert told["write_file"]["output"].startswith("denied (mode)")
    assert tree_of(root) == before


async def test_commands_in_plan_mode_have_no_network_and_read(server: Serving) -> None:
    if not server.parts.toolbox.probe.wall.stands:
        pytest.skip("there is no wall here")
    admin = server.admin
    workspace_id, root = await workspace(server)
    command = "cat hello.py; touch x || echo no writing; cat /proc/net/dev | tail -n +3 | cut -d: -f1"
    script = f'call: execute {{"command": "{command}"}}\nsay: {{result}}'
    chat = await admin.start_chat(script, workspace_id=workspace_id, mode="ask")
    await admin.until_settled(chat["id"])
    said = text((await admin.messages(chat["id"]))[-1])
    assert "print(" in said
    assert "no writing" in said
    assert "eth" not in said
    assert not (root / "x").exists()


async def test_an_approved_plan_goes_on_in_build_mode(server: Serving) -> None:
    admin = server.admin
    workspace_id, root = await workspace(server)
    script = (
        'call: propose_plan {"plan": "Write it."}\n'
        'call: write_file {"path": "new.txt", "content": "done"}\nsay: {result}'
    )
    chat = await admin.start_chat(script, workspace_id=workspace_id, mode="plan")
    asked = await admin.until_status(chat["id"], "requires_action")
    call = asked["action"]["calls"][0]
    answer = {"results": [{"call_id": call["call_id"], "output": {"approved": True, "note": "go"}}]}
    answered = await admin.post(f"chats/{chat['id']}/tool-results", answer)
    assert answered.json["mode"] == "build"
    done = await admin.until_settled(chat["id"])
    assert (done["mode"], (root / "new.txt").read_text()) == ("build", "done")


async def test_a_plan_that_was_sent_back_stays_a_plan(admin: Client) -> None:
    chat = await admin.start_chat('call: propose_plan {"plan": "It."}\nsay: well', mode="plan")
    asked = await admin.until_status(chat["id"], "requires_action")
    call_id = asked["action"]["calls"][0]["call_id"]
    answer = {"results": [{"call_id": call_id, "output": {"approved": False, "note": "smaller"}}]}
    assert (await admin.post(f"chats/{chat['id']}/tool-results", answer)).json["mode"] == "plan"
    assert (await admin.until_settled(chat["id"]))["mode"] == "plan"


async def test_a_switch_holds_for_calls_that_have_not_begun(server: Serving) -> None:
    """A call that waits for approval is judged again when it begins."""
    admin = server.admin
    workspace_id, root = await workspace(server)
    script = 'call: write_file {"path": "new.txt", "content": "x"}\nsay: {result}'
    chat = await admin.start_chat(script, workspace_id=workspace_id, tools={"write_file": "ask"})
    asked = await admin.until_status(chat["id"], "requires_action")
    changed = await admin.patch(f"chats/{chat['id']}", {"mode": "plan", "title": "Planning"})
    assert (changed.status, changed.json["mode"], changed.json["title"]) == (200, "plan", "Planning")
    call_id = asked["action"]["calls"][0]["call_id"]
    await admin.post(f"chats/{chat['id']}/calls/{call_id}/decision", {"decision": "approve"})
    await admin.until_settled(chat["id"])
    assert not (root / "new.txt").exists()
    assert "denied (mode)" in str(await admin.messages(chat["id"]))


async def test_modes_are_checked_and_listed(admin: Client) -> None:
    assert (await admin.post("chats", {"content": "x", "mode": "dance"})).code == "invalid_input"
    chat = await admin.start_chat("say: hi")
    assert (chat["mode"], chat["writes"]) == ("build", "direct")
    assert (await admin.patch(f"chats/{chat['id']}", {"mode": "dance"})).code == "invalid_input"
    listed = (await admin.get("modes")).json["items"]
    assert [mode["name"] for mode in listed] == ["build", "plan", "ask"]
    agent = await admin.post("agents", {"name": "planner", "mode": "plan"})
    assert agent.json["mode"] == "plan"
    assert (await admin.start_chat("say: hi", agent="planner"))["mode"] == "plan"


async def test_a_mode_of_the_configuration(tmp_path: Path) -> None:
    modes = {"docs": ModeChoice(tools=("read_file", "write_file"), instructions="Write documentation.")}
    config: Config = replace(config_for(tmp_path / "data"), modes=modes)
    async with serving(config) as server:
        workspace_id, root = await workspace(server)
        script = (
            'call: write_file {"path": "a.md", "content": "x"}\n'
            'call: delete_file {"path": "hello.py"}\nsay: {result}'
        )
        chat = await server.admin.start_chat(script, workspace_id=workspace_id, mode="docs")
        await server.admin.until_settled(chat["id"])
        assert (root / "a.md").exists()
        assert (root / "hello.py").exists()
        assert "Write documentation." in str(await server.admin.messages(chat["id"]))


async def test_every_tool_of_the_server_is_judged(server: Serving) -> None:
    """Whatever tools there are: in plan mode none runs freely that is no read, but those that say so."""
    free = {"todo", "attach_file", "request_access", "spawn_agent", "spawn_subagent", "message_agent"}
    free |= {"stop_agent", "propose_plan", "ask_user"}
    for tool in server.parts.toolbox.tools:
        allowed = forbidding((PLAN,), tool.name, tool, walled=True) is None
        if tool.effect != "read" and tool.name not in free:
            assert not allowed or tool.while_planning == "read_only", tool.name
        if forbidding((ASK,), tool.name, tool, walled=True) is None:
            assert tool.effect == "read" or tool.while_planning == "read_only", tool.name
        assert forbidding((BUILT_IN["build"],), tool.name, tool, walled=False) is None


def test_the_strictest_of_several_modes_counts() -> None:
    class Nothing(Input, frozen=True, kw_only=True):
        pass

    write = Tool(name="write", description="", input=Nothing)
    command = Tool(name="run", description="", input=Nothing, planning="read_only")
    build = BUILT_IN["build"]
    assert forbidding((build, build), "write", write, walled=True) is None
    assert forbidding((build, PLAN), "write", write, walled=True) is PLAN
    assert forbidding((build, PLAN), "run", command, walled=True) is None
    assert forbidding((build, PLAN), "run", command, walled=False) is PLAN
    assert forbidding((PLAN,), "theirs", None, walled=True) is PLAN
    gone = find_mode("gone", {})
    assert forbidding((gone,), "write", write, walled=True) is gone
    own = own_mode("own", ["write"], "")
    assert forbidding((own,), "write", write, walled=True) is None
    assert forbidding((own,), "run", command, walled=True) is own
