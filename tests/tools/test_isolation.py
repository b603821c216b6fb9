"""Sub-agents with their own worktrees: made from the parent's commit, removed if nothing was done in them,
otherwise kept and reported."""

import os
from pathlib import Path

import pytest

from holdfast.tools.contract import ToolError
from holdfast.tools.registry import ToolRegistry
from tests.providers.replies import Call, call, calls, say
from tests.tools.families import AT_REST, WAIT, Scene, spawn
from tests.worker.engine import is_settled
from tests.worker.workshop import Workshop
from tests.workspaces.repository import git

pytestmark = pytest.mark.heavy


@pytest.fixture
def workshop(scene: Scene, tmp_path: Path) -> Workshop:
    workshop = Workshop(scene.engine, tmp_path)
    scene.use(scene.related(workshop.isolation))
    scene.engine.tools = ToolRegistry([*scene.engine.tools, workshop.touch])
    return workshop


def alone(prompt: str, **more: object) -> Call:
    return spawn(prompt, isolation="worktree", **more)


async def test_one_who_changed_nothing_leaves_nothing(scene: Scene, workshop: Workshop) -> None:
    scene.start(notice_seconds=AT_REST)
    parent = await scene.parent(calls(alone("say: looked")), WAIT, workspace_id=await workshop.workspace())
    await scene.engine.idle(parent)
    (waited,) = await scene.outputs(parent, "wait_agents")
    assert (waited[0]["result"], "changes" in waited[0]) == ("looked", False)
    assert await workshop.of(await scene.child(parent)) is None
    assert workshop.worktrees == []
    assert "holdfast" not in git(workshop.repository, "branch", "--list")


async def test_what_was_done_is_kept_and_named(scene: Scene, workshop: Workshop) -> None:
    scene.start(notice_seconds=AT_REST)
    both = calls(alone('call: touch {"name": "x"}'), alone('call: touch {"name": "y"}'))
    parent = await scene.parent(both, WAIT, workspace_id=await workshop.workspace())
    await scene.engine.idle(parent)
    (waited,) = await scene.outputs(parent, "wait_agents")
    for one, name in zip(waited, ("x", "y"), strict=True):
        own = await workshop.of(one["agent_id"])
        assert own is not None
        assert own.worktree is not None
        assert one["changes"] == f"Its changes are in {own.path}, on the branch {own.worktree.branch}."
        assert set(os.listdir(own.path)) == {".git", "a.txt", name}
    assert git(workshop.repository, "status", "--porcelain") == ""


async def test_a_notice_names_it_too(scene: Scene, workshop: Workshop) -> None:
    scene.start(notice_seconds=AT_REST)
    child = scene.script(call("touch", {"name": "x"}), say("I did it."))
    parent = await scene.parent(calls(alone(child)), say("Go."), workspace_id=await workshop.workspace())
    await scene.engine.until(parent, lambda view: view.chat.turn == 2 and is_settled(view))
    (told,) = await scene.notices(parent)
    assert "I did it.\n\nIts changes are in " in told


async def test_one_that_goes_on_gets_another(scene: Scene, workshop: Workshop) -> None:
    scene.start(notice_seconds=AT_REST)
    parent = await scene.parent(calls(alone("say: looked")), WAIT, workspace_id=await workshop.workspace())
    await scene.engine.idle(parent)
    child = await scene.child(parent)
    further = {"agent_id": child, "text": 'call: touch {"name": "z"}'}
    await scene.call(parent, "message_agent", further)
    await scene.engine.until(child, lambda view: view.chat.turn == 2 and is_settled(view))
    assert await scene.outputs(child) == ["touched z"]
    own = await workshop.of(child)
    assert own is not None
    assert (Path(own.path) / "z").exists()


async def test_one_below_another_begins_at_its_commit(scene: Scene, workshop: Workshop) -> None:
    parent = await scene.quiet(workspace_id=await workshop.workspace())
    await scene.call(parent, "spawn_agent", {"prompt": "x", "isolation": "worktree"})
    child = await scene.child(parent)
    own = await workshop.of(child)
    assert own is not None
    git(Path(own.path), "commit", "-q", "--allow-empty", "-m", "below")
    await scene.call(child, "spawn_agent", {"prompt": "y", "isolation": "worktree"})
    below = await workshop.of(await scene.child(child))
    assert below is not None
    assert git(Path(below.path), "log", "-1", "--format=%s").strip() == "below"
    assert len(workshop.worktrees) == 2


async def test_where_none_can_be_made(scene: Scene, workshop: Workshop) -> None:
    nowhere = await scene.quiet()
    with pytest.raises(ToolError, match="made from a workspace with a git repository"):
        await scene.call(nowhere, "spawn_agent", {"prompt": "x", "isolation": "worktree"})
    git(workshop.repository, "update-ref", "-d", "HEAD")
    empty = await scene.quiet(workspace_id=await workshop.workspace())
    with pytest.raises(ToolError, match="has no commit yet"):
        await scene.call(empty, "spawn_agent", {"prompt": "x", "isolation": "worktree"})
    assert await scene.children(empty) == []


async def test_a_broken_one_does_not_keep_the_end_from_being_told(scene: Scene, workshop: Workshop) -> None:
    scene.start(notice_seconds=AT_REST)
    child = scene.script(call("patient", {"name": "p"}), say("the result"))
    parent = await scene.parent(calls(alone(child)), WAIT, workspace_id=await workshop.workspace())
    await scene.engine.until(parent, lambda view: any(call.name == "wait_agents" for call in view.calls))
    own = await workshop.of(await scene.child(parent))
    assert own is not None
    (Path(own.path) / ".git").write_text("gitdir: /nowhere\n")
    scene.tools.go("p").set()
    await scene.engine.idle(parent)
    (waited,) = await scene.outputs(parent, "wait_agents")
    assert waited[0]["result"] == "the result"
    assert "could not be examined and is kept" in waited[0]["changes"]
