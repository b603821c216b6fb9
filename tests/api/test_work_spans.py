"""Sub-agents and checks in the trace of a chat: as spans, listed and in full, and as events of its feed."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from holdfast.config.sections import Config
from tests.api.serving import Client, Serving, config_for, serving
from tests.api.watching import watching


async def listed(client: Client, chat_id: str, kind: str) -> list[dict[str, Any]]:
    answer = await client.get(f"chats/{chat_id}/trace?kind={kind}")
    assert answer.status == 200, answer
    return answer.json["items"]


async def test_a_sub_agent_is_a_span_below_the_call_that_started_it(server: Serving) -> None:
    admin = server.admin
    script = (
        'calls: spawn_agent {"prompt": "say: one", "label": "first"}; spawn_agent {"prompt": "fail: auth"}\n'
        "call: wait_agents {}\nsay: done"
    )
    chat = await admin.start_chat(script)
    await admin.until_settled(chat["id"])
    calls = {span["id"] for span in await listed(admin, chat["id"], "tool_call")}
    agents = await listed(admin, chat["id"], "agent")
    assert [(span["name"], span["outcome"]) for span in agents] == [
        ("first", "finished"),
        ("fail: auth", "failed"),
    ]
    for span in agents:
        assert span["parent_id"] in calls
        assert span["input"]["agent_id"] == span["id"].removeprefix("agent-")
        assert span["duration_ms"] is not None
        whole = await admin.get(f"chats/{chat['id']}/trace/{span['id']}")
        assert (whole.status, whole.json) == (200, span)
    assert agents[1]["failure"]["kind"] == "auth"
    other = await admin.start_chat("say: hi")
    assert (await admin.get(f"chats/{other['id']}/trace/{agents[0]['id']}")).status == 404
    async with watching(admin, chat["id"]) as watcher:
        await watcher.until(lambda _: any(name == "caught_up" for name, _, _ in watcher.events))
        told = [data["id"] for name, _, data in watcher.events if name == "span" and data["kind"] == "agent"]
    assert sorted(told) == sorted(span["id"] for span in agents)


def checking(data: Path, **chosen: Any) -> Config:
    config = config_for(data)
    return replace(config, workspaces=replace(config.workspaces, **chosen))


async def written(server: Serving) -> tuple[str, Path]:
    """A chat that wrote a file in a project with a check of its own."""
    root = server.data.parent / "code"
    root.mkdir()
    (root / "Makefile").write_text("check:\n\t@test -f good || (echo no good; exit 3)\n")
    made = await server.admin.post("workspaces", {"name": "code", "path": str(root)})
    script = (
        'call: write_file {"path": "a.txt", "content": "x"}\n'
        'call: write_file {"path": "good", "content": "x"}\nsay: done'
    )
    chat = await server.admin.start_chat(script, workspace_id=made.json["id"])
    await server.admin.until_settled(chat["id"])
    return chat["id"], root


CHOSEN: dict[str, list[tuple[str, str]]] = {
    "auto": [("make check", "failed"), ("make check", "passed")],
    "test -f a.txt": [("test -f a.txt", "passed"), ("test -f a.txt", "passed")],
    "off": [],
}


@pytest.mark.heavy
@pytest.mark.parametrize("check", CHOSEN)
async def test_the_check_that_was_chosen_is_run_shown_and_traced(tmp_path: Path, check: str) -> None:
    async with serving(checking(tmp_path / "data", check=check)) as server:
        if not server.parts.toolbox.probe.wall.stands:
            pytest.skip("without a wall nothing is run that nobody approved")
        chat_id, _ = await written(server)
        found = await listed(server.admin, chat_id, "check")
        assert [(span["name"], span["outcome"]) for span in found] == CHOSEN[check]
        notices = [
            part
            for message in await server.admin.messages(chat_id)
            for part in message["parts"]
            if part["type"] == "notice" and part["code"] == "check"
        ]
        assert [notice["data"]["result"] for notice in notices] == [result for _, result in CHOSEN[check]]
        for span in found:
            whole = await server.admin.get(f"chats/{chat_id}/trace/{span['id']}")
            assert whole.json["kind"] == "check"


@pytest.mark.heavy
async def test_a_check_is_ended_when_its_time_is_over(tmp_path: Path) -> None:
    async with serving(checking(tmp_path / "data", check="sleep 600", check_seconds=1.0)) as server:
        if not server.parts.toolbox.probe.wall.stands:
            pytest.skip("without a wall nothing is run that nobody approved")
        chat_id, _ = await written(server)
        outcomes = [span["outcome"] for span in await listed(server.admin, chat_id, "check")]
        assert outcomes == ["timed_out", "timed_out"]
