"""What a workspace brings along counts once a person trusted exactly this content."""

from pathlib import Path
from typing import Any

from tests.api.serving import Client, Serving
from tests.api.test_workspace_agents import REVIEWER, agent_of, listed, write_agent
from tests.api.test_workspaces import workspace


async def items(client: Client, workspace_id: str) -> dict[str, dict[str, Any]]:
    answer = await client.get(f"workspaces/{workspace_id}/trust")
    assert answer.status == 200, answer
    return {item["path"]: item for item in answer.json["items"]}


async def decide(client: Client, workspace_id: str, item: dict[str, Any], decision: str = "trust") -> Any:
    body = {"items": [{"path": item["path"], "hash": item["hash"]}], "decision": decision}
    return await client.post(f"workspaces/{workspace_id}/trust", body)


async def test_agents_are_in_the_list_of_what_is_to_be_trusted(server: Serving) -> None:
    admin = server.admin
    workspace_id, root = await workspace(server)
    write_agent(root)
    path = ".claude/agents/reviewer.md"
    item = (await items(admin, workspace_id))[path]
    assert (item["kind"], item["state"], item["text"]) == ("agent", "new", REVIEWER)

    trusted = await decide(admin, workspace_id, item)
    assert trusted.status == 200, trusted
    assert trusted.json["items"][0]["state"] == "trusted"
    # The agents' own list says the same, and the agent can be used.
    assert (await listed(admin, workspace_id))[0]["trusted"]
    wanted = {"content": "say: hi", "agent": "reviewer", "workspace_id": workspace_id}
    chat = (await admin.post("chats", wanted)).json
    assert await agent_of(server, chat["id"]) is not None

    write_agent(root, REVIEWER.replace("strict", "lenient"))
    changed = (await items(admin, workspace_id))[path]
    assert changed["state"] == "changed"
    assert (await decide(admin, workspace_id, item)).code == "wrong_state"
    assert (await decide(admin, workspace_id, changed, "refuse")).status == 200
    assert (await items(admin, workspace_id))[path]["state"] == "refused"
    assert not (await listed(admin, workspace_id))[0]["trusted"]
    assert (await admin.post("chats", wanted)).status == 422


async def test_trusting_an_agent_the_old_way_is_the_same_decision(server: Serving) -> None:
    admin = server.admin
    workspace_id, root = await workspace(server)
    write_agent(root)
    (file,) = await listed(admin, workspace_id)
    body = {"path": file["path"], "digest": file["digest"]}
    trusted = (await admin.post(f"workspaces/{workspace_id}/agents/trust", body)).json
    assert (await items(admin, workspace_id))[file["path"]]["state"] == "trusted"
    assert (await admin.delete(f"agents/{trusted['agent_id']}")).status == 204
    assert (await items(admin, workspace_id))[file["path"]]["state"] == "new"


async def test_what_is_not_there_or_cannot_be_read_is_not_trusted(server: Serving) -> None:
    admin = server.admin
    workspace_id, root = await workspace(server)
    nothing = {"path": ".mcp.json", "hash": "0" * 64}
    assert (await decide(admin, workspace_id, nothing)).code == "invalid_input"
    write_agent(root, "no description")
    item = (await items(admin, workspace_id))[".claude/agents/reviewer.md"]
    assert item["error"]
    assert (await decide(admin, workspace_id, item)).code == "invalid_input"


async def test_links_lead_nowhere(server: Serving, tmp_path: Path) -> None:
    workspace_id, root = await workspace(server)
    secret = tmp_path / "secret.md"
    secret.write_text(REVIEWER.replace("strict", "CANARY"))
    place = root / ".claude" / "agents"
    place.mkdir(parents=True)
    (place / "reviewer.md").symlink_to(secret)
    assert "CANARY" not in str(await items(server.admin, workspace_id))
