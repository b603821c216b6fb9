"""Every list in an answer is paged, or there is a number that it never exceeds."""

import json
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from holdfast.api import usage
from tests.api.serving import Serving, config_for, serving
from tests.workspaces.serving import ROOT

DOCUMENT = json.loads((ROOT / "docs" / "reference" / "openapi.json").read_text())
# Lists that are no pages: by route and field, why they end.
BOUNDED = {
    "/chats/{chat_id}": {
        ".labels": "checked when they are set",
        ".action.calls": "one step's",
        ".provider_tools": "those that a provider has",
    },
    "/chats/{chat_id}/changes/{change_id}": {
        ".advice": "a few sentences on one file",
        ".collisions": "of one file within the hour",
    },
    "/chats/{chat_id}/debug/runs/{debug_run_id}": {".steps": "`limit` of them, from `first_step` on"},
    "/chats/{chat_id}/context": {".segments": "of one request"},
    "/chats/{chat_id}/context/diff": {".added": "of one request", ".dropped": "of one request"},
    "/templates/one": {".files": "the first 200", ".services": "20"},
    "/mcp-servers/{server_id}": {
        **dict.fromkeys((".args", ".env", ".headers"), "checked when they are set"),
        **dict.fromkeys((".offered", ".prompts", ".tools"), "cut when a server lists them"),
    },
    "/workspaces/{workspace_id}/worktrees": {".items": "of the sub-agents of one workspace"},
    "/chats/{chat_id}/messages/{message_id}": {".parts": "one message's"},
    "/chats/{chat_id}/usage": {".turns": "200, and 5 000 steps in all"},
    "/usage": {".items": "1 000 lines"},
    "/agents/{agent_id}": {".tools": "checked when they are set"},
    "/flows/{name}": {".graph.steps": "1 000 of a flow", ".graph.batches": "of a flow of 512 KiB"},
    "/flow-runs/{flow_run_id}": {
        ".steps": "1 000",
        ".switches": "1 000 steps",
        ".log": "2 000 lines",
        ".error.steps": "1 000",
        ".graph.steps": "1 000",
        ".graph.batches": "of a flow of 512 KiB",
    },
    "/workflows/{name}": {".phases": "of a script of 512 KiB", ".warnings": "200"},
    "/workflow-runs/{run_id}": {
        ".phases": "500",
        ".calls": "`workflows.max_agents`",
        ".log": "5 000 lines, 4 MiB",
    },
    "/session": {".scopes": "three"},
    "/settings": {".workspace_roots": "of the configuration"},
}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[Serving]:
    async with serving(config_for(tmp_path / "data")) as running:
        yield running


def resolved(schema: Any) -> Any:
    while "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def lists(schema: Any, path: str = "", depth: int = 0) -> Iterator[str]:
    schema = resolved(schema)
    if depth > 2:
        return
    for kind in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(kind, ()):
            yield from lists(one, path, depth)
    if schema.get("type") == "array":
        yield path
    for name, one in cast(dict[str, Any], schema.get("properties", {})).items():
        yield from lists(one, f"{path}.{name}", depth + 1)


def answers() -> Iterator[tuple[str, Any]]:
    for path, operations in DOCUMENT["paths"].items():
        for code, answer in operations.get("get", {}).get("responses", {}).items():
            schema = answer.get("content", {}).get("application/json", {}).get("schema")
            if code.startswith("2") and schema is not None:
                yield path.removeprefix("/api/v1"), schema


def test_every_list_is_paged_or_known_to_end() -> None:
    found = {
        path: set(lists(schema))
        for path, schema in answers()
        if "next_cursor" not in resolved(schema).get("properties", {})
    }
    assert {path: names for path, names in found.items() if names} == {
        path: set(names) for path, names in BOUNDED.items()
    }


async def test_the_usage_of_a_chat_has_so_many_steps(
    server: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = server.admin
    chat = await admin.start_chat("say: one")
    await admin.until_settled(chat["id"])
    for text in ("say: two", "say: three"):
        await admin.post(f"chats/{chat['id']}/messages", {"content": text})
        await admin.until_settled(chat["id"])

    async def turns() -> list[tuple[int, int]]:
        told = (await admin.get(f"chats/{chat['id']}/usage")).json["turns"]
        return [(turn["turn"], len(turn["steps"])) for turn in told]

    whole = await turns()
    assert len(whole) == 3
    for most, expected in ((sum(steps for _, steps in whole[1:]), whole[1:]), (0, [(whole[2][0], 1)])):
        monkeypatch.setattr(usage, "STEPS", most)
        assert await turns() == expected
