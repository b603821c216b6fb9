"""Review: agents write into a draft, people apply or reject by file and hunk. The workspace changes only
then, and never a byte of what somebody else wrote."""

from pathlib import Path
from typing import Any

import pytest

from tests.api.serving import Client, Serving
from tests.api.test_workspaces import workspace
from tests.changes.test_changes import call, changes, run, walled
from tests.changes.trees import tree_of


async def drafting(server: Serving) -> tuple[str, Path]:
    if not walled(server):
        pytest.skip("without a wall there are no drafts")
    workspace_id, root = await workspace(server)
    (root / "long.txt").write_text("".join(f"line {n}\n" for n in range(40)))
    (root / ".gitignore").write_text("ignored\n")
    (root / "ignored").write_text("kept along\n")
    chat = await server.admin.start_chat("say: hello", workspace_id=workspace_id, writes="review")
    assert chat["writes"] == "review"
    await server.admin.until_settled(chat["id"])
    return chat["id"], root


async def decide(admin: Client, chat_id: str, verb: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await admin.post(f"chats/{chat_id}/changes/{verb}", body)
    assert answer.status == 200, answer
    return answer.json


async def test_applying_everything_equals_the_draft(server: Serving) -> None:
    admin = server.admin
    chat_id, root = await drafting(server)
    before = tree_of(root)
    await run(
        admin,
        chat_id,
        call("write_file", path="a/new.txt", content="new\n")
        + call("edit_files", edits=[{"path": "hello.py", "old": "hello", "new": "bye"}])
        + call(
            "execute", command="cat ignored; chmod 700 long.txt; ln -s hello.py link; mkdir void; git status"
        )
        + "say: done",
    )
    assert tree_of(root) == before, "the workspace does not change"
    items = {item["path"]: item for item in await changes(admin, chat_id)}
    assert {item["state"] for item in items.values()} == {"pending"}
    assert items.keys() == {"a/new.txt", "hello.py", "long.txt", "link"}
    # What the agent sees is its draft.
    await run(admin, chat_id, call("read_file", path="a/new.txt") + "say: {result}")
    assert "new" in str((await admin.messages(chat_id))[-1])
    done = await decide(admin, chat_id, "apply", {"all": True})
    assert done["conflicts"] == []
    assert {item["state"] for item in done["items"]} == {"applied"}
    draft = server.data / "drafts" / chat_id
    assert tree_of(root, without_git=True) == tree_of(draft, without_git=True)
    git = {path: entry for path, entry in tree_of(root).items() if path.startswith(".git")}
    assert git == {path: entry for path, entry in before.items() if path.startswith(".git")}
    # And back again, in the workspace.
    undone = await decide(admin, chat_id, "undo", {"all": True})
    assert undone["conflicts"] == []
    assert tree_of(root) == before
    assert {item["state"] for item in await changes(admin, chat_id)} == {"reverted"}


async def test_hunks_and_rejections(server: Serving) -> None:
    admin = server.admin
    chat_id, root = await drafting(server)
    text = (root / "long.txt").read_text()
    edits = [{"path": "long.txt", "old": f"line {n}\n", "new": f"agent {n}\n"} for n in (3, 20, 37)]
    await run(admin, chat_id, call("edit_files", edits=edits) + "say: done")
    (item,) = await changes(admin, chat_id)
    assert (item["hunks"], item["state"]) == (3, "pending")
    stale = await admin.post(
        f"chats/{chat_id}/changes/apply", {"changes": [{"id": item["id"], "diff_hash": "x"}]}
    )
    assert (stale.status, stale.code) == (409, "wrong_state")
    chosen = {"id": item["id"], "hunks": [1], "diff_hash": item["diff_hash"]}
    await decide(admin, chat_id, "apply", {"changes": [chosen]})
    assert (root / "long.txt").read_text() == text.replace("line 20\n", "agent 20\n")
    waiting = [one for one in await changes(admin, chat_id) if one["state"] == "pending"]
    assert [one["hunks"] for one in waiting] == [2]
    rejected = {"id": waiting[0]["id"], "hunks": [0], "diff_hash": waiting[0]["diff_hash"]}
    await decide(admin, chat_id, "reject", {"changes": [rejected]})
    draft = server.data / "drafts" / chat_id / "long.txt"
    assert draft.read_text() == text.replace("line 20\n", "agent 20\n").replace("line 37\n", "agent 37\n")
    await decide(admin, chat_id, "reject", {"all": True})
    assert draft.read_text() == text.replace("line 20\n", "agent 20\n")
    assert (root / "long.txt").read_text() == text.replace("line 20\n", "agent 20\n")
    # The agent hears of it with its next turn.
    await run(admin, chat_id, "say: and now")
    assert "rejected these of your changes" in str(await admin.messages(chat_id))


async def test_what_others_wrote_is_merged_or_a_conflict(server: Serving) -> None:
    admin = server.admin
    chat_id, root = await drafting(server)
    (root / "both.txt").write_text((root / "long.txt").read_text())
    await run(
        admin,
        chat_id,
        call("edit_files", edits=[{"path": "long.txt", "old": "line 3\n", "new": "agent 3\n"}])
        + call("write_file", path="hello.py", content="agent\n")
        + call("write_file", path="taken.txt", content="agent\n")
        + "say: done",
    )
    (root / "long.txt").write_text((root / "long.txt").read_text().replace("line 30", "person 30"))
    (root / "hello.py").write_text("person\n")
    (root / "taken.txt").write_text("person\n")
    done = await decide(admin, chat_id, "apply", {"all": True})
    assert {one["path"] for one in done["conflicts"]} == {"hello.py", "taken.txt"}
    assert (root / "hello.py").read_text() == "person\n"
    assert (root / "taken.txt").read_text() == "person\n"
    merged = (root / "long.txt").read_text()
    assert "agent 3\n" in merged
    assert "person 30\n" in merged
    states = {item["path"]: item["state"] for item in await changes(admin, chat_id)}
    assert (states["hello.py"], states["long.txt"]) == ("conflict", "applied")
    # Both are kept: the draft still has the agent's.
    assert (server.data / "drafts" / chat_id / "hello.py").read_text() == "agent\n"


async def test_an_agent_may_ask_for_its_changes_to_be_applied(server: Serving) -> None:
    admin = server.admin
    chat_id, root = await drafting(server)
    script = call("write_file", path="new.txt", content="x\n") + call("apply_changes") + "say: {result}"
    await admin.post(f"chats/{chat_id}/messages", {"content": script})
    asked = await admin.until_status(chat_id, "requires_action")
    assert not (root / "new.txt").exists()
    call_id = asked["action"]["calls"][0]["call_id"]
    await admin.post(f"chats/{chat_id}/calls/{call_id}/decision", {"decision": "approve"})
    await admin.until_settled(chat_id)
    assert (root / "new.txt").read_text() == "x\n"


async def test_sub_agents_work_in_the_same_draft(server: Serving) -> None:
    admin = server.admin
    chat_id, root = await drafting(server)
    child = 'call: write_file {\\"path\\": \\"child.txt\\", \\"content\\": \\"x\\"}'
    await run(admin, chat_id, f'call: spawn_agent {{"prompt": "{child}"}}\ncall: wait_agents {{}}\nsay: done')
    assert not (root / "child.txt").exists()
    (item,) = await changes(admin, chat_id)
    assert (item["path"], item["state"], item["agent"] is not None) == ("child.txt", "pending", True)
    await decide(admin, chat_id, "apply", {"paths": ["child.txt"]})
    assert (root / "child.txt").read_text() == "x"
