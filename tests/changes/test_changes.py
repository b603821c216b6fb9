"""Changes through the API: noted whoever wrote, shown, taken back by file, hunk and turn, rewound and rewound
back. The tree is compared byte for byte."""

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.api.serving import Client, Serving
from tests.api.test_workspaces import workspace
from tests.api.watching import watching
from tests.changes.trees import tree_of


async def run(admin: Client, chat_id: str, script: str) -> dict[str, Any]:
    sent = await admin.post(f"chats/{chat_id}/messages", {"content": script})
    assert sent.status == 201, sent
    done = await admin.until_settled(chat_id)
    assert done["status"] == "idle", done
    return sent.json["message"]


def call(name: str, **given: Any) -> str:
    return f"call: {name} {json.dumps(given)}\n"


async def changes(admin: Client, chat_id: str, since: str = "base") -> list[dict[str, Any]]:
    answer = await admin.get(f"chats/{chat_id}/changes?since={since}")
    assert answer.status == 200, answer
    return answer.json["items"]


async def started(server: Serving) -> tuple[str, Path]:
    """A chat in a workspace, at rest."""
    workspace_id, root = await workspace(server)
    chat = await server.admin.start_chat("say: hello", workspace_id=workspace_id)
    await server.admin.until_settled(chat["id"])
    return chat["id"], root


def walled(server: Serving) -> bool:
    return server.parts.toolbox.probe.wall.stands


async def test_what_tools_and_commands_changed_is_listed(server: Serving) -> None:
    admin = server.admin
    chat_id, _ = await started(server)
    script = call("edit_files", edits=[{"path": "hello.py", "old": "hello", "new": "goodbye"}])
    script += call("write_file", path="docs/ü.md", content="# New\n")
    if walled(server):
        script += call("execute", command="mkdir -p bin && echo '#!/bin/sh' > bin/run && chmod 755 bin/run")
    await run(admin, chat_id, script + "say: done")
    listed = {item["path"]: item for item in await changes(admin, chat_id)}
    assert listed["hello.py"]["operation"] == "edit"
    assert (listed["hello.py"]["additions"], listed["hello.py"]["deletions"]) == (1, 1)
    assert "+print('goodbye')" in listed["hello.py"]["diff"]
    assert listed["docs/ü.md"]["operation"] == "create"
    assert all(item["state"] == "applied" for item in listed.values())
    by_id = {message["id"]: message for message in await admin.messages(chat_id)}
    calls = by_id[listed["hello.py"]["message_id"]]["parts"]
    assert "edit_files" in [part.get("name") for part in calls]
    if walled(server):
        assert listed["bin/run"]["operation"] == "create"
        trace = (await admin.get(f"chats/{chat_id}/trace?kind=tool_call")).json["items"]
        assert "bin/run" in next(span for span in trace if span["name"] == "execute")["diff"]
    assert await changes(admin, chat_id, "turn") == list(listed.values())
    assert (await admin.get(f"chats/{chat_id}/changes?since=nonsense")).status == 422
    # A second look at the same is no change.
    await run(admin, chat_id, call("read_file", path="hello.py") + "say: read")
    assert len(await changes(admin, chat_id)) == len(listed)


async def test_rewind_and_back_again_byte_for_byte(server: Serving) -> None:
    """Modes, links, empty files and directories, CRLF, binary, unicode, nested repositories; and the user's
    own git is not touched."""
    admin = server.admin
    chat_id, root = await started(server)
    (root / "empty").write_bytes(b"")
    (root / "crlf.txt").write_bytes(b"a\r\nb\r\n")
    (root / "binary").write_bytes(bytes(range(256)))
    (root / "wörter").mkdir()
    (root / "wörter" / "naïve 日本.txt").write_text("x\n")
    (root / "script").write_text("#!/bin/sh\n")
    (root / "script").chmod(0o750)
    os.symlink("hello.py", root / "link")
    os.symlink("/nowhere", root / "away")
    (root / "void").mkdir(mode=0o700)
    nested = root / "nested"
    nested.mkdir()
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q"], cwd=nested, check=True)
    (nested / "inside.txt").write_text("inner\n")
    before = tree_of(root)
    script = "".join(
        [
            call("write_file", path="empty", content="full"),
            call("write_file", path="crlf.txt", content="a\r\nB\r\nc\r\n"),
            call("write_file", path="wörter/naïve 日本.txt", content="y\n"),
            call("delete_file", path="link"),
            call("write_file", path="nested/inside.txt", content="outer\n"),
            call("write_file", path="a/b/c/deep.txt", content="deep\n"),
        ]
    )
    if walled(server):
        command = (
            "rm binary void -r; chmod 644 script; ln -sf /etc away; mv hello.py hi.py; mkdir -p e/f; : > z"
        )
        script += call("execute", command=command)
    message = await run(admin, chat_id, script + "say: done")
    after = tree_of(root)
    assert after != before
    path = f"chats/{chat_id}/changes/rewind"
    wanted = {"message_id": message["id"], "what": "both"}
    preview = (await admin.post(path, {**wanted, "preview": True})).json
    assert tree_of(root) == after
    assert (preview["checkpoint_id"], preview["removed_messages"] > 2) == (None, True)
    rewound = await admin.post(path, wanted)
    assert rewound.status == 200, rewound
    assert rewound.json["files"] == preview["files"]
    assert not [file for file in rewound.json["files"] if file["conflict"]]
    assert tree_of(root) == before
    assert message["id"] not in {one["id"] for one in await admin.messages(chat_id)}
    undo = await admin.post(f"chats/{chat_id}/changes/undo", {"checkpoint": rewound.json["checkpoint_id"]})
    assert (undo.status, undo.json["conflicts"]) == (200, []), undo
    assert tree_of(root) == after
    texts = [part.get("text") for one in await admin.messages(chat_id) for part in one["parts"]]
    assert "done" in texts, "the conversation is back"
    # And the turn can still be undone after all that.
    turn = max(item["turn"] for item in await changes(admin, chat_id))
    assert (await admin.post(f"chats/{chat_id}/changes/undo", {"turn": turn})).json["conflicts"] == []
    assert tree_of(root) == before


async def test_what_others_changed_is_merged_or_named(server: Serving) -> None:
    admin = server.admin
    chat_id, root = await started(server)
    lines = [f"line {n}\n" for n in range(30)]
    for name in ("merged.txt", "fought.txt", "mine.txt", "gone.txt"):
        (root / name).write_text("".join(lines))
    message = await run(
        admin,
        chat_id,
        call("edit_files", edits=[{"path": "merged.txt", "old": "line 5\n", "new": "agent 5\n"}])
        + call("edit_files", edits=[{"path": "fought.txt", "old": "line 5\n", "new": "agent 5\n"}])
        + call("edit_files", edits=[{"path": "gone.txt", "old": "line 5\n", "new": "agent 5\n"}])
        + call("write_file", path="new.txt", content="agent\n")
        + "say: done",
    )
    # A person goes on with the same files.
    (root / "merged.txt").write_text((root / "merged.txt").read_text().replace("line 25", "person 25"))
    (root / "fought.txt").write_text((root / "fought.txt").read_text().replace("agent 5", "person 5"))
    (root / "mine.txt").write_text("person\n")
    (root / "new.txt").write_text("agent\nperson\n")
    (root / "gone.txt").unlink()
    answer = (
        await admin.post(f"chats/{chat_id}/changes/rewind", {"message_id": message["id"], "what": "files"})
    ).json
    actions = {file["path"]: file for file in answer["files"]}
    assert (root / "merged.txt").read_text() == "".join(lines).replace("line 25", "person 25")
    assert (root / "fought.txt").read_text() == "".join(lines).replace("line 5\n", "person 5\n")
    assert (root / "mine.txt").read_text() == "person\n"
    assert (root / "new.txt").read_text() == "agent\nperson\n"
    assert actions["merged.txt"]["action"] == "merge"
    for name in ("fought.txt", "new.txt", "gone.txt"):
        assert (actions[name]["action"], bool(actions[name]["conflict"])) == ("leave", True)
    assert "mine.txt" not in actions
    assert (await admin.messages(chat_id))[-1]["role"] != "user"


async def test_one_file_and_one_hunk(server: Serving) -> None:
    admin = server.admin
    chat_id, root = await started(server)
    text = "".join(f"line {n}\n" for n in range(40))
    (root / "a.txt").write_text(text)
    (root / "b.txt").write_text(text)
    edits = [
        {"path": name, "old": f"line {n}\n", "new": f"agent {n}\n"}
        for name in ("a.txt", "b.txt")
        for n in (3, 33)
    ]
    await run(admin, chat_id, call("edit_files", edits=edits) + "say: done")
    (item,) = [one for one in await changes(admin, chat_id) if one["path"] == "a.txt"]
    assert item["hunks"] == 2
    path = f"chats/{chat_id}/changes/undo"
    stale = {"changes": [{"id": item["id"], "hunks": [1], "diff_hash": "other"}]}
    assert (await admin.post(path, stale)).status == 409
    chosen = {"changes": [{"id": item["id"], "hunks": [1], "diff_hash": item["diff_hash"]}]}
    assert (await admin.post(path, chosen)).status == 200
    assert (root / "a.txt").read_text() == text.replace("line 3\n", "agent 3\n")
    assert (await admin.post(path, {"paths": ["b.txt"]})).status == 200
    assert (root / "b.txt").read_text() == text
    assert (await admin.post(path, {})).status == 422
    assert (await admin.post(path, {"all": True, "turn": 1})).status == 422


async def test_a_rewind_needs_a_chat_at_rest(admin: Client) -> None:
    chat = await admin.start_chat("wait: 30\nsay: late")
    await admin.until_status(chat["id"], "running")
    (message,) = await admin.messages(chat["id"])
    refused = await admin.post(
        f"chats/{chat['id']}/changes/rewind", {"message_id": message["id"], "what": "both"}
    )
    assert (refused.status, refused.code) == (409, "wrong_state")
    await admin.post(f"chats/{chat['id']}/interrupt")
    await admin.until_settled(chat["id"])


async def test_a_diff_reaches_watchers_when_its_call_ends(server: Serving) -> None:
    """Not when its step ends: the second call of the step is held open meanwhile."""
    admin = server.admin
    chat_id, root = await started(server)
    write = call("write_file", path="early.txt", content="early\n")
    held = call("execute", command="until [ -e go ]; do sleep 0.1; done")
    both = f"calls: {write.strip().removeprefix('call: ')}; {held.removeprefix('call: ')}"
    async with watching(admin, chat_id) as watcher:
        await watcher.until(lambda one: "caught_up" in one.names)
        sent = await admin.post(f"chats/{chat_id}/messages", {"content": f"{both}say: done"})
        assert sent.status == 201, sent
        await watcher.until(lambda one: "changes" in one.names)
        (item,) = next(data["items"] for name, _, data in watcher.events if name == "changes")
        assert (item["path"], item["operation"], item["additions"]) == ("early.txt", "create", 1)
        assert "+early" in item["diff"]
        # Nothing of the step's results is in history yet.
        roles = [message["role"] for message in await admin.messages(chat_id)]
        assert roles[-1] == "assistant"
        assert (await admin.chat(chat_id))["status"] == "running"
        (root / "go").touch()
        done = await admin.until_settled(chat_id)
        assert done["status"] == "idle", done
