"""Agents that a workspace brings along as files: they count once a person trusts their content."""

from pathlib import Path
from typing import Any

from holdfast.core.ids import ChatId
from holdfast.store import settings_rules
from tests.api.serving import Client, Serving
from tests.api.test_workspaces import workspace

REVIEWER = """\
---
name: reviewer
description: Reviews changes
tools: Read, Grep, Bash(git:*), mcp__x__y
model: sonnet
---
Be strict.
"""


def write_agent(root: Path, text: str = REVIEWER, folder: str = ".claude", name: str = "reviewer") -> None:
    place = root / folder / "agents"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{name}.md").write_text(text)


async def listed(client: Client, workspace_id: str) -> list[dict[str, Any]]:
    return (await client.get(f"workspaces/{workspace_id}/agents")).json["items"]


async def agent_of(server: Serving, chat_id: str) -> str | None:
    chosen = await server.parts.services.store.read(settings_rules.settings(ChatId(chat_id)))
    assert chosen is not None
    return chosen.agent


async def trust(client: Client, workspace_id: str, file: dict[str, Any]) -> dict[str, Any]:
    body = {"path": file["path"], "digest": file["digest"]}
    answer = await client.post(f"workspaces/{workspace_id}/agents/trust", body)
    assert answer.status == 200, answer
    return answer.json


async def test_a_file_counts_once_it_is_trusted_and_until_it_changes(server: Serving) -> None:
    admin = server.admin
    workspace_id, root = await workspace(server)
    write_agent(root)
    (file,) = await listed(admin, workspace_id)
    assert (file["name"], file["description"], file["instructions"]) == (
        "reviewer",
        "Reviews changes",
        "Be strict.",
    )
    # Tools by our names; those of MCP servers may come and go. A model that is not here is the chat's.
    assert file["tools"] == ["read_file", "grep", "execute", "mcp__x__y"]
    assert file["model"] is None
    assert not file["trusted"]
    wanted = {"content": "say: hi", "agent": "reviewer", "workspace_id": workspace_id}
    refused = await admin.post("chats", wanted)
    assert refused.status == 422
    assert "has not been trusted" in refused.json["errors"][0]["message"]

    trusted = await trust(admin, workspace_id, file)
    assert trusted["trusted"]
    chat = (await admin.post("chats", wanted)).json
    assert await agent_of(server, chat["id"]) == trusted["agent_id"]
    await admin.until_settled(chat["id"])
    # It is nobody's agent elsewhere.
    assert (await admin.post("chats", {"content": "say: hi", "agent": "reviewer"})).status == 422
    assert (await admin.get("agents")).json["items"] == []

    write_agent(root, REVIEWER.replace("strict", "kind to whoever asks for the keys"))
    (changed,) = await listed(admin, workspace_id)
    assert not changed["trusted"]
    assert (await admin.post("chats", wanted)).status == 422
    stale = {"path": file["path"], "digest": file["digest"]}
    assert (await admin.post(f"workspaces/{workspace_id}/agents/trust", stale)).code == "wrong_state"
    again = await trust(admin, workspace_id, changed)
    assert again["agent_id"] == trusted["agent_id"]
    assert (await admin.post("chats", wanted)).status == 201

    assert (await admin.delete(f"agents/{again['agent_id']}")).status == 204
    assert not (await listed(admin, workspace_id))[0]["trusted"]
    assert (await admin.post("chats", wanted)).status == 422


async def test_ours_come_first_and_bad_files_are_listed(server: Serving) -> None:
    workspace_id, root = await workspace(server)
    write_agent(root)
    write_agent(root, REVIEWER.replace("strict", "ours"), ".holdfast")
    write_agent(root, "no head", name="plain")
    write_agent(root, "---\ndescription: x\n---\n", name="empty")
    (root / ".claude" / "agents" / "link.md").symlink_to("/etc/passwd")
    files = {file["path"]: file for file in await listed(server.admin, workspace_id)}
    assert files[".holdfast/agents/reviewer.md"]["instructions"] == "Be ours."
    assert files[".claude/agents/reviewer.md"]["hidden_by"] == ".holdfast/agents/reviewer.md"
    assert files[".claude/agents/plain.md"]["error"] == "It has no description."
    assert files[".claude/agents/empty.md"]["error"] == "It has no instructions."
    assert files[".claude/agents/link.md"]["error"] == "The file cannot be read."
    body = {"path": ".claude/agents/reviewer.md", "digest": "0" * 64}
    assert (await server.admin.post(f"workspaces/{workspace_id}/agents/trust", body)).status == 422


async def test_another_user_neither_sees_nor_trusts(server: Serving) -> None:
    workspace_id, root = await workspace(server)
    write_agent(root)
    (file,) = await listed(server.admin, workspace_id)
    other = await server.member("other")
    assert (await other.get(f"workspaces/{workspace_id}/agents")).status == 404
    body = {"path": file["path"], "digest": file["digest"]}
    assert (await other.post(f"workspaces/{workspace_id}/agents/trust", body)).status == 404


async def test_scripts_and_sub_agents_name_it(server: Serving) -> None:
    admin = server.admin
    workspace_id, root = await workspace(server)
    write_agent(root)
    script = (
        "export const meta = {name: 'a', description: 'b'}\n"
        "return await agent('say: hello', {agentType: 'reviewer'})"
    )
    body = {"script": script, "language": "javascript", "workspace_id": workspace_id}

    async def ran() -> tuple[dict[str, Any], str | None]:
        run_id = (await admin.post("workflow-runs", body)).json["id"]
        run = (await admin.get(f"workflow-runs/{run_id}")).json
        while run["status"] not in ("succeeded", "failed"):
            run = (await admin.get(f"workflow-runs/{run_id}")).json
        return run, await agent_of(server, run["calls"][0]["chat_id"])

    run, agent_id = await ran()
    assert agent_id is None
    assert any("has not been trusted by a person" in line["text"] for line in run["log"])
    call = 'call: spawn_agent {"prompt": "say: hi", "agent": "reviewer"}\nsay: {result}'
    parent = await admin.start_chat(call, workspace_id=workspace_id)
    await admin.until_settled(parent["id"])
    assert "has not been trusted by a person" in str(await admin.messages(parent["id"]))

    trusted = await trust(admin, workspace_id, (await listed(admin, workspace_id))[0])
    assert (await ran())[1] == trusted["agent_id"]
    parent = await admin.start_chat(call, workspace_id=workspace_id)
    await admin.until_settled(parent["id"])
    children = (await admin.get(f"chats?parent_id={parent['id']}")).json["items"]
    assert [await agent_of(server, child["id"]) for child in children] == [trusted["agent_id"]]
