"""Acts on changes say what they did: nothing is called applied or taken back that is not, and nothing outside
of the chat's own directory is touched."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from holdfast.changes import acts as acts_module
from holdfast.changes.entries import Contents, WantedState
from holdfast.changes.placing import put_all
from holdfast.workspaces.files.file_root import Tree
from holdfast.workspaces.files.git_guard import Guard
from tests.api.serving import Serving
from tests.changes.test_changes import call, changes, run, started, walled
from tests.changes.test_review import decide, drafting
from tests.changes.trees import tree_of


async def test_an_empty_file_of_a_draft_is_applied(server: Serving) -> None:
    chat_id, root = await drafting(server)
    script = call("write_file", path="pkg/__init__.py", content="") + call(
        "write_file", path="z", content="z"
    )
    await run(server.admin, chat_id, script + "say: done")
    done = await decide(server.admin, chat_id, "apply", {"all": True})
    assert done["conflicts"] == []
    assert (root / "pkg" / "__init__.py").read_bytes() == b""


@pytest.mark.parametrize("verb", ["apply", "reject"])
async def test_what_could_not_be_written_is_named_and_still_waits(
    server: Serving, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    chat_id, _ = await drafting(server)
    script = call("write_file", path="a.txt", content="a\n") + call("write_file", path="b.txt", content="b\n")
    await run(server.admin, chat_id, script + "say: done")

    def full(
        tree: Tree, wanted: Mapping[str, WantedState], contents: Contents, guard: Guard
    ) -> dict[str, str]:
        some = {path: want for path, want in wanted.items() if path != "b.txt"}
        return {**put_all(tree, some, contents, guard), "b.txt": "The disk is full."}

    with monkeypatch.context() as patched:
        patched.setattr(acts_module, "put_all", full)
        done = await decide(server.admin, chat_id, verb, {"all": True})
    assert done["conflicts"] == [{"path": "b.txt", "reason": "The disk is full."}]
    assert [item["path"] for item in done["items"]] == ["a.txt"]
    states = {item["path"]: item["state"] for item in await changes(server.admin, chat_id)}
    waits = {"apply": "conflict", "reject": "pending"}
    assert states["b.txt"] == waits[verb]
    assert (await decide(server.admin, chat_id, verb, {"paths": ["b.txt"]}))["conflicts"] == []


async def test_what_could_not_be_rewound_is_named_and_still_counts(
    server: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = server.admin
    chat_id, root = await started(server)
    before = tree_of(root)
    message = await run(admin, chat_id, call("write_file", path="a.txt", content="a\n") + "say: done")
    wanted = {"message_id": message["id"], "what": "files"}

    def full(*given: object) -> dict[str, str]:
        return {"a.txt": "The disk is full."}

    with monkeypatch.context() as patched:
        patched.setattr(acts_module, "put_all", full)
        done = (await admin.post(f"chats/{chat_id}/changes/rewind", wanted)).json
    assert done["files"] == [{"path": "a.txt", "action": "leave", "conflict": "The disk is full."}]
    assert [item["state"] for item in await changes(admin, chat_id)] == ["applied"]
    await admin.post(f"chats/{chat_id}/changes/rewind", wanted)
    assert tree_of(root) == before


async def test_the_other_hunks_of_an_undone_one_still_count(server: Serving) -> None:
    admin = server.admin
    chat_id, root = await started(server)
    text = "".join(f"line {n}\n" for n in range(60))
    (root / "a.txt").write_text(text)
    edits = [{"path": "a.txt", "old": f"line {n}\n", "new": f"agent {n}\n"} for n in (3, 30, 55)]
    message = await run(admin, chat_id, call("edit_files", edits=edits) + "say: done")
    (item,) = await changes(admin, chat_id)
    chosen = {"id": item["id"], "hunks": [1], "diff_hash": item["diff_hash"]}
    undone = await decide(admin, chat_id, "undo", {"changes": [chosen]})
    assert [(one["state"], one["hunks"]) for one in undone["items"]] == [("reverted", 1)]
    listed = {one["state"]: one for one in await changes(admin, chat_id)}
    assert {state: one["hunks"] for state, one in listed.items()} == {"applied": 2, "reverted": 1}
    # One more of them, then everything.
    rest = listed["applied"]
    chosen = {"id": rest["id"], "hunks": [0], "diff_hash": rest["diff_hash"]}
    await decide(admin, chat_id, "undo", {"changes": [chosen]})
    assert (root / "a.txt").read_text() == text.replace("line 55\n", "agent 55\n")
    rewind = {"message_id": message["id"], "what": "files"}
    done = (await admin.post(f"chats/{chat_id}/changes/rewind", rewind)).json
    assert (root / "a.txt").read_text() == text
    # And back: what the rewind took back counts again.
    await decide(admin, chat_id, "undo", {"checkpoint": done["checkpoint_id"]})
    assert (root / "a.txt").read_text() == text.replace("line 55\n", "agent 55\n")


async def test_a_worktree_is_not_rewound_in_the_workspace(server: Serving) -> None:
    """What a sub-agent made in a worktree of its own and a person took over is the person's."""
    if not walled(server):
        pytest.skip("without a wall there are no worktrees")
    admin = server.admin
    chat_id, root = await started(server)
    child = json.dumps('call: write_file {"path": "x", "content": "x"}')
    spawn = f'call: spawn_agent {{"prompt": {child}, "isolation": "worktree"}}\n'
    message = await run(admin, chat_id, spawn + call("wait_agents") + "say: done")
    (root / "x").write_text("x")
    wanted = {"message_id": message["id"], "what": "files"}
    done = (await admin.post(f"chats/{chat_id}/changes/rewind", wanted)).json
    assert (root / "x").read_text() == "x"
    assert [(file["path"], file["action"]) for file in done["files"]] == [("x", "leave")]
    assert [item["state"] for item in await changes(admin, chat_id)] == ["applied"]


async def test_what_stands_in_the_way_is_named(server: Serving, tmp_path: Path) -> None:
    """A person put a link to elsewhere, and a pipe, where the agent's files were."""
    admin = server.admin
    chat_id, root = await started(server)
    script = "".join(call("write_file", path=path, content="x\n") for path in ("d/a.txt", "p.txt", "ok.txt"))
    message = await run(admin, chat_id, script + "say: done")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.txt").write_text("x\n")
    (root / "d" / "a.txt").unlink()
    (root / "d").rmdir()
    (root / "d").symlink_to(elsewhere)
    (root / "p.txt").unlink()
    os.mkfifo(root / "p.txt")
    wanted = {"message_id": message["id"], "what": "files"}
    answer = await admin.post(f"chats/{chat_id}/changes/rewind", wanted)
    assert answer.status == 200, answer
    actions = {file["path"]: file for file in answer.json["files"]}
    assert (actions["ok.txt"]["action"], actions["ok.txt"]["conflict"]) == ("delete", None)
    for path in ("d/a.txt", "p.txt"):
        assert (actions[path]["action"], bool(actions[path]["conflict"])) == ("leave", True)
    assert (elsewhere / "a.txt").exists()
