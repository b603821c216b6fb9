"""Workspaces through the API: a chat that reads, writes and runs commands in one."""

import asyncio
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.api.serving import Answer, Client, Serving
from tests.api.test_chats import text


async def workspace(server: Serving, name: str = "code") -> tuple[str, Path]:
    """A git repository below the allowed root, with one file."""
    root = server.data.parent / name
    root.mkdir()
    (root / "hello.py").write_text("print('hello')\n")
    await asyncio.to_thread(_commit, root)
    made = await server.admin.post("workspaces", {"name": name, "path": str(root)})
    assert made.status == 201, made
    assert made.json.keys() == {"id", "name", "path", "kind"}
    return made.json["id"], root


def _commit(root: Path) -> None:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.com")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run(["git", *who, *command], cwd=root, check=True)


async def test_a_chat_works_in_a_workspace(server: Serving) -> None:
    admin = server.admin
    workspace_id, root = await workspace(server)
    (root / "AGENTS.md").write_text("Always be polite.")
    script = (
        'call: read_file {"path": "hello.py"}\n'
        'call: edit_files {"edits": [{"path": "hello.py", "old": "hello", "new": "goodbye"}]}\n'
        'call: execute {"command": "python3 hello.py"}\n'
        "say: {result}"
    )
    chat = await admin.start_chat(script, workspace_id=workspace_id)
    if (await admin.until(chat["id"], lambda now: now["status"] != "running"))["status"] == "requires_action":
        call = (await admin.chat(chat["id"]))["action"]["calls"][0]
        await admin.post(f"chats/{chat['id']}/calls/{call['call_id']}/decision", {"decision": "approve"})
    done = await admin.until_settled(chat["id"])
    assert done["status"] == "idle", done
    assert (root / "hello.py").read_text() == "print('goodbye')\n"
    assert "goodbye" in text((await admin.messages(chat["id"]))[-1])
    everything = await admin.messages(chat["id"], "visibility=all&limit=200")
    assert "Always be polite." in str(everything)
    difference = (await admin.get(f"workspaces/{workspace_id}/diff")).json
    assert difference["git"]
    assert "+print('goodbye')" in difference["diff"]
    found = (await admin.get(f"workspaces/{workspace_id}/files?q=HELLO")).json["items"]
    assert [item["path"] for item in found] == ["hello.py"]


async def test_an_idle_chat_moves_to_another_workspace(server: Serving) -> None:
    admin = server.admin
    first, _ = await workspace(server)
    second, root = await workspace(server, "other")
    (root / "hello.py").write_text("print('other')\n")
    (root / "AGENTS.md").write_text("Rules of the other place.")
    chat = await admin.start_chat("say: hi", workspace_id=first)
    await admin.until_settled(chat["id"])
    moved = await admin.patch(f"chats/{chat['id']}", {"workspace_id": second})
    assert (moved.status, moved.json["workspace_id"]) == (200, second)
    await admin.post(
        f"chats/{chat['id']}/messages", {"content": 'call: read_file {"path": "hello.py"}\nsay: {result}'}
    )
    await admin.until_settled(chat["id"])
    assert "other" in text((await admin.messages(chat["id"]))[-1])
    assert "Rules of the other place." in str(await admin.messages(chat["id"], "visibility=all&limit=200"))
    for nowhere in ("01890000-0000-7000-8000-000000000001", "x"):
        assert (await admin.patch(f"chats/{chat['id']}", {"workspace_id": nowhere})).status == 422
    stays = await admin.patch(f"chats/{chat['id']}", {"title": "same place"})
    assert stays.json["workspace_id"] == second
    assert (await admin.patch(f"chats/{chat['id']}", {"workspace_id": None})).json["workspace_id"] is None


async def test_a_chat_with_a_draft_stays_where_it_is(server: Serving) -> None:
    """Else what it changed in a copy of one workspace would be applied to another."""
    if not server.parts.toolbox.probe.wall.stands:
        pytest.skip("without a wall there are no drafts")
    admin = server.admin
    first, _ = await workspace(server)
    second, _ = await workspace(server, "other")
    chat = await admin.start_chat("say: hi", workspace_id=first, writes="review")
    await admin.until_settled(chat["id"])
    for there in (second, None):
        refused = await admin.patch(f"chats/{chat['id']}", {"workspace_id": there})
        assert (refused.status, refused.code) == (409, "wrong_state")
    same = await admin.patch(f"chats/{chat['id']}", {"workspace_id": first})
    assert (same.status, same.json["workspace_id"]) == (200, first)
    direct = await admin.patch(f"chats/{chat['id']}", {"writes": "direct"})
    assert direct.status == 200, direct


async def test_a_chat_that_waits_stays_where_it_is(server: Serving) -> None:
    first, _ = await workspace(server)
    chat = await server.admin.start_chat('call: ask_user {"questions": [{"id": "a", "text": "?"}]}')
    await server.admin.until(chat["id"], lambda now: now["status"] == "requires_action")
    refused = await server.admin.patch(f"chats/{chat['id']}", {"workspace_id": first})
    assert (refused.status, refused.json["code"]) == (409, "wrong_state")


async def test_skills_are_listed(server: Serving) -> None:
    workspace_id, root = await workspace(server)
    for name in ("release", "review"):
        folder = root / ".agents" / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: How to {name}.\n---\nSo.\n")
    first = (await server.admin.get(f"skills?workspace_id={workspace_id}&limit=1")).json
    assert [skill["description"] for skill in first["items"]] == ["How to release."]
    rest = (await server.admin.get(f"skills?workspace_id={workspace_id}&cursor={first['next_cursor']}")).json
    assert [skill["name"] for skill in rest["items"]] == ["review"]
    assert (await server.admin.get("skills")).json["items"] == []
    member = await server.member()
    assert (await member.get(f"skills?workspace_id={workspace_id}")).status == 404


async def test_without_a_repository_nothing_is_known_of_changes(server: Serving) -> None:
    root = server.data.parent / "plain"
    root.mkdir()
    made = await server.admin.post("workspaces", {"name": "plain", "path": str(root)})
    difference = await server.admin.get(f"workspaces/{made.json['id']}/diff")
    assert (difference.status, difference.json) == (200, {"diff": "", "truncated": False, "git": False})


async def test_a_chat_without_one_gets_a_scratch_directory(admin: Client, server: Serving) -> None:
    chat = await admin.start_chat('call: write_file {"path": "a.txt", "content": "x"}\nsay: {result}')
    assert (await admin.until_settled(chat["id"]))["status"] == "idle"
    assert (server.data / "scratch" / chat["id"] / "a.txt").read_text() == "x"


async def test_only_below_the_roots_and_only_ones_own(server: Serving) -> None:
    for path in ("/", "/etc", str(server.data), "relative", "~", f"{server.data.parent}/../x"):
        refused = await server.admin.post("workspaces", {"name": "x", "path": path})
        assert (refused.status, refused.code) == (422, "invalid_input"), path
    workspace_id, _ = await workspace(server)
    member = await server.member()
    assert (await member.get(f"workspaces/{workspace_id}/diff")).status == 404
    refused = await member.post("chats", {"content": "hi", "workspace_id": workspace_id})
    assert (refused.status, refused.code) == (422, "invalid_input")
    assert (await server.admin.delete(f"workspaces/{workspace_id}")).status == 204
    assert (await server.admin.get("workspaces")).json["items"] == []


async def test_a_person_reads_what_the_chat_can_read(server: Serving) -> None:
    """Below its directory and nowhere else, whatever the path looks like."""
    workspace_id, root = await workspace(server)
    (root / "crlf.txt").write_bytes(b"one\r\ntwo\r\n")
    (root / "data.bin").write_bytes(b"\0\1\2")
    (root / "long.txt").write_text("a line of text\n" * 100_000)
    (root / "outside").symlink_to("/etc/passwd")
    chat = await server.admin.start_chat("say: hi", workspace_id=workspace_id)

    async def view(path: str) -> Answer:
        return await server.admin.get(f"chats/{chat['id']}/file?path={quote(path)}")

    whole = (await view("hello.py")).json
    assert whole == {
        "path": "hello.py",
        "text": "print('hello')\n",
        "size": 15,
        "truncated": False,
        "binary": False,
    }
    assert (await view(str(root / "hello.py"))).json["path"] == "hello.py"
    assert (await view("crlf.txt")).json["text"] == "one\ntwo\n"
    binary = (await view("data.bin")).json
    assert (binary["binary"], binary["text"]) == (True, "")
    long = (await view("long.txt")).json
    assert long["truncated"]
    assert long["text"].endswith("a line of text\n")
    assert long["size"] == 1_500_000
    for path in ("../data/admin.token", "/etc/passwd", "outside", ".", "", str(server.data / "admin.token")):
        assert (await view(path)).status == 422, path
    assert (await view("missing.py")).status in (404, 422)


async def test_a_chats_scratch_directory_is_read_too(server: Serving) -> None:
    chat = await server.admin.start_chat('call: write_file {"path": "a.txt", "content": "x"}\nsay: done')
    await server.admin.until_settled(chat["id"])
    assert (await server.admin.get(f"chats/{chat['id']}/file?path=a.txt")).json["text"] == "x"


async def test_a_workspace_tells_its_branch(server: Serving) -> None:
    workspace_id, root = await workspace(server)
    await asyncio.to_thread(subprocess.run, ["git", "checkout", "-qb", "topic/one"], cwd=root, check=True)
    assert (await server.admin.get(f"workspaces/{workspace_id}")).json["branch"] == "topic/one"
    await asyncio.to_thread(subprocess.run, ["git", "checkout", "-q", "--detach"], cwd=root, check=True)
    assert (await server.admin.get(f"workspaces/{workspace_id}")).json["branch"] is None
    (root / ".git" / "HEAD").write_text("ref: refs/heads/\u202e; rm -rf")
    assert (await server.admin.get(f"workspaces/{workspace_id}")).json["branch"] is None


async def test_a_directory_is_looked_at_before_it_becomes_a_workspace(server: Serving) -> None:
    admin = server.admin
    root = server.data.parent / "looked-at"
    root.mkdir()
    (root / "link").symlink_to(root)
    before = (await admin.get(f"workspaces/at?path={root}")).json
    assert before == {"path": str(root), "workspace": None, "allowed": True, "reason": None}
    made = (await admin.post("workspaces", {"name": "looked-at", "path": str(root)})).json
    for path in (root, root / "link"):
        assert (await admin.get(f"workspaces/at?path={path}")).json["workspace"] == made
    member = await server.member()
    assert (await member.get(f"workspaces/at?path={root}")).json["workspace"] is None, "another user's"
    for path in ("/etc", f"{root}/nothing", "relative", str(server.data)):
        refused = (await admin.get(f"workspaces/at?path={path}")).json
        assert (refused["allowed"], refused["workspace"]) == (False, None)
        assert refused["reason"]
    assert (await admin.get("workspaces/at")).status == 422


async def test_a_chat_has_a_limit_of_its_own_on_steps(server: Serving) -> None:
    admin = server.admin
    chat = await admin.start_chat('repeat 5: call: todo {"items": []}\nsay: never', max_steps=2)
    assert chat["max_steps"] == 2
    await admin.until_settled(chat["id"])
    assert "2 steps" in str((await admin.messages(chat["id"]))[-1]["parts"])
    changed = await admin.patch(f"chats/{chat['id']}", {"max_steps": None})
    assert changed.json["max_steps"] is None
    assert (await admin.chat(chat["id"]))["max_steps"] is None
    assert (await admin.patch(f"chats/{chat['id']}", {"max_steps": 0})).status == 422
