"""Sub-agents with worktrees of their own: made from the parent's commit, gone when nothing was done in them,
kept and named otherwise."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from holdfast.core.accounts import User
from holdfast.core.clock import SystemClock
from holdfast.core.ids import ChatId, RandomIds, WorkspaceId
from holdfast.core.workspaces import Workspace
from holdfast.store import users, workspaces
from holdfast.tools.contract import Answer, Context, ToolError
from holdfast.tools.isolation import OwnWorktrees
from holdfast.tools.registry import Registry
from holdfast.workspaces.roots import Roots
from holdfast.workspaces.workspaces import Workspaces
from holdfast.workspaces.worktrees import Worktrees
from tests.providers.replies import Call, call, calls, say
from tests.tools.families import AT_REST, WAIT, Scene, a_scene, spawn
from tests.worker.engine import OWNER, is_settled
from tests.worker.toolbox import Named, tool
from tests.workspaces.repository import git, make_repository

pytestmark = pytest.mark.heavy


class Workshop:
    """A repository, and a family whose sub-agents can touch files."""

    def __init__(self, scene: Scene, base: Path) -> None:
        self.scene = scene
        self.repository = base / "code" / "project"
        make_repository(self.repository, {"a.txt": "one\n"})
        (base / "data").mkdir(mode=0o700)
        roots = Roots(base / "data", (base / "code",))
        store = scene.engine.store
        isolation = OwnWorktrees(store, Worktrees(roots), SystemClock(), RandomIds())
        scene.use(scene.related(isolation))
        self._workspaces = Workspaces(roots, self.find)
        touch = tool("touch", self._touch, effect="idempotent")
        scene.engine.tools = Registry([*scene.engine.tools, touch])

    async def workspace(self) -> WorkspaceId:
        now = SystemClock().now()
        owner = User(id=OWNER, name="owner", role="member", suspended_at=None, created_at=now)
        await self.scene.engine.store.write(users.create_first(owner))
        new = Workspace(
            id=WorkspaceId(RandomIds().uuid7(now)),
            owner_id=OWNER,
            name="project",
            path=str(self.repository),
            created_at=now,
        )
        return (await self.scene.engine.store.write(workspaces.create(new))).id

    async def find(self, workspace_id: WorkspaceId, _: object = None) -> Workspace | None:
        return await self.scene.engine.store.read(workspaces.workspace(workspace_id, OWNER))

    async def of(self, chat_id: ChatId) -> Workspace | None:
        workspace_id = (await self.scene.engine.chat(chat_id)).workspace_id
        assert workspace_id is not None
        return await self.find(workspace_id)

    async def _touch(self, context: Context, given: Named) -> Answer:
        root = await self._workspaces.root_of(context)
        (root.path / given.name).write_text("touched\n")
        return Answer(output=f"touched {given.name}")

    @property
    def worktrees(self) -> list[str]:
        return git(self.repository, "worktree", "list", "--porcelain").split("\n\n")[1:-1]


@pytest.fixture
async def workshop(tmp_path: Path) -> AsyncIterator[Workshop]:
    (tmp_path / "store").mkdir()
    async with a_scene("sqlite", tmp_path / "store") as scene:
        yield Workshop(scene, tmp_path)


def alone(prompt: str, **more: object) -> Call:
    return spawn(prompt, isolation="worktree", **more)


async def test_one_who_changed_nothing_leaves_nothing(workshop: Workshop) -> None:
    scene = workshop.scene
    scene.start(notice_seconds=AT_REST)
    parent = await scene.parent(calls(alone("say: looked")), WAIT, workspace_id=await workshop.workspace())
    await scene.engine.idle(parent)
    (waited,) = await scene.outputs(parent, "wait_agents")
    assert (waited[0]["result"], "changes" in waited[0]) == ("looked", False)
    assert await workshop.of(await scene.child(parent)) is None
    assert workshop.worktrees == []
    assert "holdfast" not in git(workshop.repository, "branch", "--list")


async def test_what_was_done_is_kept_and_named(workshop: Workshop) -> None:
    scene = workshop.scene
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


async def test_a_notice_names_it_too(workshop: Workshop) -> None:
    scene = workshop.scene
    scene.start(notice_seconds=AT_REST)
    child = scene.script(call("touch", {"name": "x"}), say("I did it."))
    parent = await scene.parent(calls(alone(child)), say("Go."), workspace_id=await workshop.workspace())
    await scene.engine.until(parent, lambda view: view.chat.turn == 2 and is_settled(view))
    (told,) = await scene.notices(parent)
    assert "I did it.\n\nIts changes are in " in told


async def test_one_that_goes_on_gets_another(workshop: Workshop) -> None:
    scene = workshop.scene
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


async def test_one_below_another_begins_at_its_commit(workshop: Workshop) -> None:
    scene = workshop.scene
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


async def test_where_none_can_be_made(workshop: Workshop) -> None:
    scene = workshop.scene
    nowhere = await scene.quiet()
    with pytest.raises(ToolError, match="made from a workspace with a git repository"):
        await scene.call(nowhere, "spawn_agent", {"prompt": "x", "isolation": "worktree"})
    git(workshop.repository, "update-ref", "-d", "HEAD")
    empty = await scene.quiet(workspace_id=await workshop.workspace())
    with pytest.raises(ToolError, match="has no commit yet"):
        await scene.call(empty, "spawn_agent", {"prompt": "x", "isolation": "worktree"})
    assert await scene.children(empty) == []


async def test_a_broken_one_does_not_keep_the_end_from_being_told(workshop: Workshop) -> None:
    scene = workshop.scene
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
    assert "could not be looked at and is kept" in waited[0]["changes"]
