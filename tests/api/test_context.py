"""What fills a chat's context, and what changed between two requests."""

from pathlib import Path
from typing import Any

from holdfast.providers.configs import ModelConfig, ProviderConfig
from tests.api.serving import Serving, config_for, serving
from tests.api.test_workspaces import workspace


async def test_what_fills_the_context(server: Serving) -> None:
    admin = server.admin
    chat = await admin.start_chat('call: todo {"items": []}\nsay: Done.')
    await admin.until_settled(chat["id"])
    context = (await admin.get(f"chats/{chat['id']}/context")).json
    kinds = [segment["kind"] for segment in context["segments"]]
    assert kinds[0] == "system"
    assert "tools" in kinds
    # The last answer came after the last request, and fills the next one.
    assert [segment["label"] for segment in context["segments"] if segment["kind"] == "message"][-1] == (
        "assistant: Done."
    )
    assert context["used"] == sum(segment["tokens"] for segment in context["segments"])
    assert context["threshold"] == 70


async def test_what_changed_since_the_request_before(server: Serving) -> None:
    admin = server.admin
    chat = await admin.start_chat('call: todo {"items": []}\nsay: Done.')
    await admin.until_settled(chat["id"])
    path = f"chats/{chat['id']}/context/diff"
    diff = (await admin.get(f"{path}?after=step-1-2")).json
    assert [segment["label"] for segment in diff["added"]] == ["assistant: todo", "tool: todo"]
    assert diff["dropped"] == []
    assert (await admin.get(path)).json == diff
    # As a person reads it.
    assert diff["added"][0]["text"].startswith("todo({")
    assert diff["added"][1]["text"].startswith("todo: succeeded\n")
    assert (await admin.get(f"{path}?after=step-1-2&before=step-1-1")).json == diff
    first = (await admin.get(f"{path}?after=model-1-1")).json
    assert (first["kept"], first["added"][0]["kind"]) == (0, "system")
    assert first["added"][0]["text"].startswith("You are an agent")
    back = (await admin.get(f"{path}?after=step-1-1&before=step-1-2")).json
    assert [segment["label"] for segment in back["dropped"]] == ["assistant: todo", "tool: todo"]


async def test_steps_that_there_are_not(server: Serving) -> None:
    admin = server.admin
    chat = await admin.start_chat("say: Hello.")
    await admin.until_settled(chat["id"])
    path = f"chats/{chat['id']}/context/diff"
    assert (await admin.get(f"{path}?after=step-9-9")).status == 404
    assert (await admin.get(f"{path}?after=step-1-1&before=step-9-9")).status == 404
    assert (await admin.get(f"{path}?after=call-x")).status == 422


async def test_the_threshold_is_the_models(tmp_path: Path) -> None:
    config = config_for(
        tmp_path / "data",
        providers=(ProviderConfig(name="demo", kind="demo"),),
        models=(
            ModelConfig(name="default", provider="demo", model="demo"),
            ModelConfig(name="short", provider="demo", model="demo", compaction_threshold=30),
        ),
    )
    async with serving(config) as server:
        for model, threshold in ((None, 70), ("short", 30)):
            chat = await server.admin.start_chat("say: Hello.", **({} if model is None else {"model": model}))
            await server.admin.until_settled(chat["id"])
            context = (await server.admin.get(f"chats/{chat['id']}/context")).json
            assert context["threshold"] == threshold


def named(context: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    """By their labels, without tokens and messages."""
    return {
        segment["label"]: {name: segment[name] for name in ("error", "drift") if segment[name] is not None}
        for segment in context["segments"]
        if segment["kind"] == kind
    }


async def test_instructions_that_changed_on_disk_enter_history_when_a_person_says_so(server: Serving) -> None:
    admin = server.admin
    workspace_id, place = await workspace(server, "drifting")
    (place / "AGENTS.md").write_text("Use tabs.")
    skills = place / ".agents" / "skills"
    for name, head in (("release", "---\ndescription: How.\n---\n"), ("odd", "no head\n")):
        (skills / name).mkdir(parents=True)
        (skills / name / "SKILL.md").write_text(head)
    chat = await admin.start_chat("say: Hello.", workspace_id=workspace_id)
    await admin.until_settled(chat["id"])
    path = f"chats/{chat['id']}/context"
    context = (await admin.get(path)).json
    assert context["instructions"] == "unchanged"
    assert named(context, "instructions") == {"working directory": {}, "AGENTS.md": {}}
    assert named(context, "skills")["release"] == {}
    assert "no description" in named(context, "skills")[".agents/skills/odd"]["error"]
    sizes = {segment["label"]: segment["tokens"] for segment in context["segments"]}
    assert sizes["AGENTS.md"] > 0
    assert sizes[".agents/skills/odd"] == 0
    refused = await admin.post(f"{path}/instructions")
    assert (refused.status, refused.code) == (409, "wrong_state")

    (place / "AGENTS.md").write_text("Use spaces.")
    (skills / "release" / "SKILL.md").unlink()
    (skills / "odd" / "SKILL.md").write_text("---\ndescription: Now it is one.\n---\n")
    context = (await admin.get(path)).json
    assert context["instructions"] == "changed"
    assert named(context, "instructions")["AGENTS.md"] == {"drift": "changed"}
    assert named(context, "skills") == {
        "list of skills": {},
        "release": {"drift": "removed"},
        "odd": {"drift": "added"},
    }
    assert (await admin.post(f"{path}/instructions")).status == 202
    # Again is no second wish.
    again = await admin.post(f"{path}/instructions")
    assert (again.status, again.json["status"]) == (202, "idle")
    assert (await admin.get(path)).json["instructions"] == "renewing"

    await admin.post(f"chats/{chat['id']}/messages", {"content": "say: Again."})
    await admin.until_settled(chat["id"])
    context = (await admin.get(path)).json
    assert context["instructions"] == "unchanged"
    labels = [segment["label"] for segment in context["segments"] if segment["kind"] == "instructions"]
    assert labels.count("AGENTS.md") == 2
    told = [
        part["code"]
        for message in await admin.messages(chat["id"])
        for part in message["parts"]
        if "code" in part
    ]
    assert told.count("instructions_renewed") == 1


async def test_what_is_archived_or_gone_is_told_nothing_new(server: Serving) -> None:
    admin = server.admin
    workspace_id, place = await workspace(server, "leaving")
    (place / "AGENTS.md").write_text("Use tabs.")
    chat = await admin.start_chat("say: Hello.", workspace_id=workspace_id)
    await admin.until_settled(chat["id"])
    (place / "AGENTS.md").write_text("Use spaces.")
    path = f"chats/{chat['id']}"
    assert (await admin.patch(path, {"archived": True})).status == 200
    assert (await admin.post(f"{path}/context/instructions")).code == "wrong_state"
    place.rename(place.with_name("elsewhere"))
    context = (await admin.get(f"{path}/context")).json
    # Nobody knows what they would be.
    assert context["instructions"] == "unchanged"
    assert named(context, "instructions")["workspace"]["error"]


async def test_a_server_that_failed_is_named_with_its_error(server: Serving) -> None:
    admin = server.admin
    made = await admin.post("mcp-servers", {"name": "broken", "command": "/nowhere/at-all", "wall": False})
    assert made.status == 201
    assert (await admin.post(f"mcp-servers/{made.json['id']}/test")).json["error"]
    chat = await admin.start_chat("say: Hello.")
    await admin.until_settled(chat["id"])
    tools = named((await admin.get(f"chats/{chat['id']}/context")).json, "tools")
    assert tools["MCP server broken"]["error"]
