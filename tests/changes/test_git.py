"""Commits, branches and patches through the API, looked at with the system's git."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from holdfast.store import workspaces
from tests.api.serving import Serving
from tests.api.test_workspaces import workspace
from tests.changes.test_changes import call, run, walled
from tests.changes.trees import tree_of


def git(root: Path, *words: str) -> str:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.com")
    return subprocess.run(
        ["git", *who, *words], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()


async def test_commit_branch_and_patch(server: Serving, tmp_path: Path) -> None:
    if not walled(server):
        pytest.skip("without a wall git is not run")
    admin = server.admin
    workspace_id, root = await workspace(server)
    (root / ".git" / "hooks" / "pre-commit").write_text("#!/bin/sh\ntouch ../ran\nexit 1\n")
    (root / ".git" / "hooks" / "pre-commit").chmod(0o755)
    path = f"workspaces/{workspace_id}/git"
    assert (await admin.post(f"{path}/commit", {"message": "Nothing"})).status == 409
    (root / "new.txt").write_text("new\n")
    (root / "hello.py").write_text("print('bye')\n")
    patch = await admin.get(f"{path}/patch?subject=Say%20bye")
    assert patch.status == 200, patch
    made = await admin.post(f"{path}/branch", {"name": "agent/work"})
    assert (made.status, made.json["branch"]) == (201, "agent/work")
    assert (await admin.post(f"{path}/branch", {"name": "../x"})).status == 422
    done = await admin.post(f"{path}/commit", {"message": "Only one", "paths": ["new.txt"]})
    assert done.status == 201, done
    assert (
        await asyncio.to_thread(git, root, "log", "-1", "--format=%s %H") == f"Only one {done.json['commit']}"
    )
    assert await asyncio.to_thread(git, root, "status", "--porcelain") == "M hello.py"
    assert (await admin.post(f"{path}/commit", {"message": "The rest"})).status == 201
    assert await asyncio.to_thread(git, root, "status", "--porcelain") == ""
    assert await asyncio.to_thread(git, root, "branch", "--show-current") == "agent/work"
    await asyncio.to_thread(git, root, "fsck", "--strict")
    assert not (root / "ran").exists()
    # The patch is one that `git am` takes.
    other = tmp_path / "other"
    await asyncio.to_thread(git, tmp_path, "clone", "-q", str(root), str(other))
    await asyncio.to_thread(git, other, "checkout", "-q", "HEAD~2")
    (tmp_path / "p.patch").write_bytes(patch.body)
    await asyncio.to_thread(git, other, "am", str(tmp_path / "p.patch"))
    assert (other / "new.txt").read_text() == "new\n"
    assert await asyncio.to_thread(git, other, "log", "-1", "--format=%s") == "Say bye"


async def test_a_message_is_proposed(server: Serving) -> None:
    if not walled(server):
        pytest.skip("without a wall git is not run")
    admin = server.admin
    workspace_id, root = await workspace(server)
    chat = await admin.start_chat("say: hi", workspace_id=workspace_id)
    await admin.until_settled(chat["id"])
    path = f"chats/{chat['id']}/changes/commit-message"
    assert (await admin.post(path)).code == "wrong_state", "nothing was changed"
    (root / "new.txt").write_text("new\n")
    proposed = await admin.post(path)
    assert proposed.json == {"message": "Change files with the demo model", "source": "model"}
    spans = (await admin.get(f"chats/{chat['id']}/trace?kind=summary")).json["items"]
    assert len({span["id"] for span in spans}) == len(spans) == 1
    aside = await admin.start_chat("say: hi")
    nowhere = await admin.post(f"chats/{aside['id']}/changes/commit-message")
    assert nowhere.code == "wrong_state"


async def test_worktrees_of_agents_are_listed_and_removed(server: Serving) -> None:
    if not walled(server):
        pytest.skip("without a wall there are no worktrees")
    admin = server.admin
    workspace_id, _ = await workspace(server)
    chat = await admin.start_chat("say: hi", workspace_id=workspace_id)
    await admin.until_settled(chat["id"])
    child = 'call: write_file {\\"path\\": \\"x\\", \\"content\\": \\"x\\"}'
    spawn = f'call: spawn_agent {{"prompt": "{child}", "isolation": "worktree"}}\n'
    await run(admin, chat["id"], spawn + call("wait_agents") + "say: done")
    path = f"workspaces/{workspace_id}/worktrees"
    (item,) = (await admin.get(path)).json["items"]
    assert (item["state"], item["branch"].startswith("holdfast/")) == ("changed", True)
    # While one is removed it has lost its `.git` for a moment: the list is there all the same.
    await asyncio.to_thread(os.unlink, os.path.join(item["path"], ".git"))
    assert [one["state"] for one in (await admin.get(path)).json["items"]] == ["changed"]
    assert (await admin.post(f"{path}/{item['id']}/remove")).json["items"] == []
    assert not await asyncio.to_thread(os.path.exists, item["path"])
    assert (await admin.post(f"{path}/{item['id']}/remove")).status == 404


async def test_a_worktree_is_merged_and_kept(server: Serving) -> None:
    """Committed there or not; what a person wrote meanwhile is merged, or named and left."""
    if not walled(server):
        pytest.skip("without a wall there are no worktrees")
    admin = server.admin
    workspace_id, root = await workspace(server)
    lines = "".join(f"line {n}\n" for n in range(20))
    for name in ("both.txt", "fought.txt", "gone.txt"):
        (root / name).write_text(lines)
    await asyncio.to_thread(git, root, "add", ".")
    await asyncio.to_thread(git, root, "commit", "-qm", "More")
    chat = await admin.start_chat("say: hi", workspace_id=workspace_id)
    await admin.until_settled(chat["id"])
    edits = [{"path": p, "old": "line 3\n", "new": "agent 3\n"} for p in ("both.txt", "fought.txt")]
    child = call("edit_files", edits=edits) + call("delete_file", path="gone.txt")
    child += call("write_file", path="new/ü.txt", content="x") + call("write_file", path="empty", content="")
    given = {"prompt": child + "say: done", "isolation": "worktree"}
    await run(admin, chat["id"], call("spawn_agent", **given) + call("wait_agents") + "say: done")
    (root / "both.txt").write_text(lines.replace("line 15", "person 15"))
    (root / "fought.txt").write_text(lines.replace("line 3\n", "person 3\n"))
    path = f"workspaces/{workspace_id}/worktrees"
    (item,) = (await admin.get(path)).json["items"]
    before, head = tree_of(root), await asyncio.to_thread(git, root, "rev-parse", "HEAD")
    merged = await admin.post(f"{path}/{item['id']}/merge")
    assert merged.status == 200, merged
    assert sorted(merged.json["paths"]) == ["both.txt", "empty", "gone.txt", "new/ü.txt"]
    assert [one["path"] for one in merged.json["conflicts"]] == ["fought.txt"]
    assert (root / "both.txt").read_text() == lines.replace("line 15", "person 15").replace(
        "line 3\n", "agent 3\n"
    )
    assert "person 3" in (root / "fought.txt").read_text()
    assert ((root / "empty").read_bytes(), (root / "gone.txt").exists()) == (b"", False)
    assert await asyncio.to_thread(git, root, "rev-parse", "HEAD") == head
    # Again: there is nothing left to do. And back.
    again = (await admin.post(f"{path}/{item['id']}/merge")).json
    assert again["paths"] == []
    undo = {"checkpoint": merged.json["checkpoint_id"]}
    undone = await admin.post(f"chats/{item['chat_id']}/changes/undo", undo)
    assert (undone.status, tree_of(root) == before) == (200, True), undone
    kept = (await admin.post(f"{path}/{item['id']}/keep")).json["items"]
    assert [one["kept"] for one in kept] == [True]
    await admin.delete(f"chats/{chat['id']}")
    await server.parts.services.store.write(workspaces.orphans(0))
    assert await server.parts.services.store.write(workspaces.orphans(0)) == ()
    assert (await admin.post(f"{path}/{item['id']}/merge")).code == "wrong_state"
