"""Chats that change the same file: both watchers see it, the writer and the other agent are told."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

from tests.api.serving import Client, Serving
from tests.api.watching import watching

TEN = "".join(f"line {number}\n" for number in range(1, 21))


async def workspace(server: Serving, name: str = "code") -> tuple[str, Path]:
    root = server.data.parent / name
    root.mkdir()
    (root / "a.txt").write_text(TEN)
    made = await server.admin.post("workspaces", {"name": name, "path": str(root)})
    return made.json["id"], root


def edit(old: str, new: str) -> str:
    return f'call: edit_files {{"edits": [{{"path": "a.txt", "old": "{old}\\n", "new": "{new}\\n"}}]}}\n'


async def edits(client: Client, workspace_id: str, script: str) -> str:
    chat = await client.start_chat(f"{script}say: {{result}}", workspace_id=workspace_id)
    done = await client.until_settled(chat["id"])
    assert done["status"] == "idle", done
    return chat["id"]


async def collisions(client: Client, chat_id: str) -> list[dict[str, Any]]:
    async with watching(client, chat_id) as watcher:
        await watcher.until(lambda now: any(name == "caught_up" for name, _, _ in watcher.events))
        return [data for name, _, data in watcher.events if name == "collision"]


async def test_both_are_told_how_near_they_came(server: Serving) -> None:
    admin = server.admin
    workspace_id, root = await workspace(server)
    first = await edits(admin, workspace_id, edit("line 2", "first"))
    assert await collisions(admin, first) == []
    second = await edits(admin, workspace_id, edit("line 20", "second"))
    assert await collisions(admin, first) == [
        {"path": "a.txt", "severity": "same_file", "chats": [first, second]}
    ]
    third = await edits(admin, workspace_id, edit("line 5", "third"))
    (told,) = await collisions(admin, first)
    assert (told["severity"], set(told["chats"])) == ("near_lines", {first, second, third})
    assert f"Chat {first} also changed a.txt, lines next to yours" in str(await admin.messages(third))
    # The agent hears of it with its next turn.
    await admin.post(f"chats/{first}/messages", {"content": "say: {notices}"})
    await admin.until_settled(first)
    everything = str(await admin.messages(first, "visibility=all&limit=200"))
    assert f"Chat {third} changed a.txt after you did: lines next to yours" in everything
    assert (root / "a.txt").read_text().count("\n") == 20
    member = await server.member()
    theirs = await member.post("workspaces", {"name": "same", "path": str(root)})
    stranger = await edits(member, theirs.json["id"], edit("line 6", "stranger"))
    assert await collisions(member, stranger) == [], "other people's chats are nobody's business"


async def test_a_watcher_sees_it_at_once_and_a_whole_file_is_every_line(server: Serving) -> None:
    admin = server.admin
    workspace_id, _ = await workspace(server)
    first = await edits(admin, workspace_id, edit("line 2", "first"))
    async with watching(admin, first) as watcher:
        await watcher.until(lambda now: any(name == "caught_up" for name, _, _ in watcher.events))
        second = await edits(admin, workspace_id, 'call: delete_file {"path": "a.txt"}\n')
        await watcher.until(lambda now: any(name == "collision" for name, _, _ in watcher.events))
        assert [data for name, _, data in watcher.events if name == "collision"] == [
            {"path": "a.txt", "severity": "same_lines", "chats": [first, second]}
        ]


async def test_an_agent_at_work_hears_that_what_it_read_is_not_so_any_more(server: Serving) -> None:
    admin = server.admin
    workspace_id, _ = await workspace(server)
    tool = {"name": "pause", "description": "Waits.", "input_schema": {"type": "object"}}
    reader = await admin.start_chat(
        'call: read_file {"path": "a.txt"}\ncall: pause {}\nsay: done',
        workspace_id=workspace_id,
        client_tools=[tool],
    )
    waiting = await admin.until_status(reader["id"], "requires_action")
    writer = await edits(admin, workspace_id, edit("line 2", "changed"))
    result = {"call_id": waiting["action"]["calls"][0]["call_id"], "output": "ok"}
    await admin.post(f"chats/{reader['id']}/tool-results", {"results": [result]})
    await admin.until_settled(reader["id"])
    everything = str(await admin.messages(reader["id"], "visibility=all&limit=200"))
    assert f"Chat {writer} has changed a.txt since you read it" in everything


async def test_worktrees_of_one_repository_meet_too(server: Serving) -> None:
    admin = server.admin
    workspace_id, root = await workspace(server)
    await asyncio.to_thread(_commit, root)
    parent = await edits(admin, workspace_id, edit("line 2", "parent"))
    prompt = edit("line 3", "child").strip().replace("\\", "\\\\").replace('"', '\\"')
    spawn = f'call: spawn_agent {{"prompt": "{prompt}", "isolation": "worktree"}}\n'
    await admin.post(f"chats/{parent}/messages", {"content": f"{spawn}call: wait_agents {{}}\nsay: ok"})
    await admin.until_settled(parent)
    (told,) = await collisions(admin, parent)
    assert (told["path"], told["severity"]) == ("a.txt", "near_lines")


def _commit(root: Path) -> None:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.com")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run(["git", *who, *command], cwd=root, check=True)
