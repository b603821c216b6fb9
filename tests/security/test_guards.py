"""Trusted hooks guard a workspace: no file that an agent can write switches one off unseen."""

import json
import shutil
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest

from holdfast.core.ids import ChatId, UserId, WorkspaceId
from holdfast.tools.hooks.hooks import HookPlace
from tests.api.serving import Serving, config_for, serving
from tests.api.test_hooks import at_rest, bring, write_in
from tests.api.test_trust import decide, items
from tests.api.test_workspaces import workspace
from tests.changes.test_changes import call
from tests.security.test_git_parts import git

SETTINGS = ".claude/settings.json"
GUARD = "grep -q bad.txt && exit 2; exit 0"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[Serving]:
    async with serving(config_for(tmp_path / "data")) as running:
        if not running.parts.toolbox.probe.wall.stands:
            pytest.skip("this machine has no wall")
        yield running


async def guarded(server: Serving) -> tuple[str, Path]:
    workspace_id, root = await workspace(server)
    bring(root, GUARD)
    item = (await items(server.admin, workspace_id))[SETTINGS]
    assert (await decide(server.admin, workspace_id, item)).status == 200
    return workspace_id, root


async def guards(server: Serving, workspace_id: str, chat_id: str = "") -> tuple[int, bool]:
    """How many hooks look at calls, and whether every call asks."""
    owner = UserId((await server.admin.get("session")).json["user"]["id"])
    place = HookPlace(chat_id=ChatId(chat_id), owner_id=owner, workspace_id=WorkspaceId(workspace_id))
    known = await server.parts.toolbox.hooks.guarding(place)
    return len(known.hooks), known.unsettled


def _linked(root: Path) -> None:
    (root / SETTINGS).unlink()
    (root / SETTINGS).symlink_to("/etc/hostname")


def _closed(root: Path) -> None:
    (root / ".claude").rename(root / "aside")
    (root / ".claude").symlink_to(root / "aside")


OFF: dict[str, Callable[[Path], object]] = {
    "the file is gone": lambda root: (root / SETTINGS).unlink(),
    "the directory is gone": lambda root: shutil.rmtree(root / ".claude"),
    "the file is empty": lambda root: (root / SETTINGS).write_text(""),
    "it names no hooks": lambda root: (root / SETTINGS).write_text("{}"),
    "they are switched off": lambda root: (root / SETTINGS).write_text(
        json.dumps({"disableAllHooks": True, **json.loads((root / SETTINGS).read_text())})
    ),
    "it is a link": _linked,
    "its directory is a link": _closed,
    "the script is gone": lambda root: (root / ".claude/hooks/guard.sh").unlink(),
    "the script is a directory": lambda root: (
        (root / ".claude/hooks/guard.sh").unlink(),
        (root / ".claude/hooks/guard.sh").mkdir(),
    ),
    "there are too many scripts": lambda root: [
        (root / ".claude/hooks" / f"{number}.sh").touch() for number in range(200)
    ],
}


async def test_a_guard_that_is_switched_off_asks_a_person(server: Serving) -> None:
    workspace_id, root = await guarded(server)
    kept = root.parent / "kept"
    shutil.copytree(root / ".claude", kept)
    for how, switch_off in OFF.items():
        assert await guards(server, workspace_id) == (1, False), how
        switch_off(root)
        assert await guards(server, workspace_id) == (0, True), how
        for path in (root / ".claude", root / "aside"):
            if path.is_symlink():
                path.unlink()
            elif path.exists():
                shutil.rmtree(path)
        shutil.copytree(kept, root / ".claude")
    # In a turn: the call waits for a person, and the guard's own refusal is not simply left out.
    (root / SETTINGS).unlink()
    chat = await write_in(server.admin, workspace_id, "bad.txt")
    assert chat["status"] == "requires_action"
    assert not (root / "bad.txt").exists()


async def test_a_person_decides_that_a_guard_may_be_gone(server: Serving) -> None:
    admin = server.admin
    workspace_id, root = await guarded(server)
    (root / SETTINGS).rename(root / "aside.json")
    gone = (await items(admin, workspace_id))[SETTINGS]
    assert (gone["kind"], gone["state"]) == ("hooks", "changed")
    assert "gone" in gone["text"]
    assert (await decide(admin, workspace_id, gone)).status == 200
    assert SETTINGS not in await items(admin, workspace_id)
    assert await guards(server, workspace_id) == (0, False)
    # What comes back is not trusted by itself.
    (root / "aside.json").rename(root / SETTINGS)
    assert (await items(admin, workspace_id))[SETTINGS]["state"] == "changed"
    assert await guards(server, workspace_id) == (0, True)
    # One that a person refused may be changed as often as it likes.
    refused = (await items(admin, workspace_id))[SETTINGS]
    assert (await decide(admin, workspace_id, refused, "refuse")).status == 200
    (root / ".claude/hooks/guard.sh").write_text("exit 1")
    assert await guards(server, workspace_id) == (0, False)


async def test_working_elsewhere_is_no_way_around_a_guard(server: Serving) -> None:
    """In a draft or a worktree the hooks of the workspace count, with the files that they name there."""
    admin = server.admin
    workspace_id, root = await guarded(server)
    git(root, "add", ".claude")
    git(root, "commit", "-qm", "hooks")
    said = 'call: write_file {"path": "x.txt", "content": "x"}\nsay: done'
    chat = (
        await admin.post("chats", {"content": said, "workspace_id": workspace_id, "writes": "review"})
    ).json
    assert (await at_rest(admin, chat["id"]))["status"] == "idle"
    draft = server.data / "drafts" / chat["id"]
    assert (draft / "x.txt").exists()
    assert await guards(server, workspace_id, chat["id"]) == (1, False)
    # The file that only says which hooks there are counts in the workspace alone.
    (draft / SETTINGS).unlink()
    assert await guards(server, workspace_id, chat["id"]) == (1, False)
    (draft / ".claude/hooks/guard.sh").write_text("exit 0")
    assert await guards(server, workspace_id, chat["id"]) == (0, True)
    assert await guards(server, workspace_id) == (1, False)

    child = call("write_file", path="bad.txt", content="x") + call("write_file", path="good.txt", content="x")
    spawn = call("spawn_agent", prompt=child + "say: done", isolation="worktree")
    said = spawn + call("wait_agents") + "say: done"
    parent = await admin.post("chats", {"content": said, "workspace_id": workspace_id})
    assert (await at_rest(admin, parent.json["id"]))["status"] == "idle"
    (made,) = (await admin.get(f"workspaces/{workspace_id}/worktrees")).json["items"]
    assert [(Path(made["path"]) / name).exists() for name in ("bad.txt", "good.txt")] == [False, True]
    assert await guards(server, made["id"]) == (1, False)
    (Path(made["path"]) / ".claude/hooks/guard.sh").unlink()
    assert await guards(server, made["id"]) == (0, True)
