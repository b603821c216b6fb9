"""Which run's calls are reused, and when a workspace counts as unchanged."""

import os
import subprocess
from pathlib import Path

import pytest

from holdfast.core.clock import SystemClock
from holdfast.core.ids import RunId, UserId, WorkspaceId
from holdfast.core.runs import Run, RunStatus
from holdfast.core.shapes import Json
from holdfast.scripts.engines.messages import AgentCall, AgentOptions
from holdfast.scripts.runs.reuse import Earlier, decide, is_as_left, reads_workspace
from holdfast.scripts.runs.workspace_state import state_of
from holdfast.workspaces.files.file_root import Root
from tests.workspaces.walls import walled_in

OLD, OTHER = RunId("old"), RunId("other")
PLACE = WorkspaceId("place")


@pytest.mark.parametrize(
    "newest, named, fresh, reuse, always, lender, why",
    [
        (None, None, False, False, False, None, None),
        (None, None, False, True, True, None, None),
        ("failed", None, False, False, False, OLD, "because it failed"),
        ("cancelled", None, False, False, False, OLD, "because it was cancelled"),
        ("succeeded", None, False, False, False, None, "Ask with reuse"),
        ("succeeded", None, False, True, False, OLD, "as asked for"),
        ("succeeded", None, False, False, True, OLD, "meta.reuse"),
        ("succeeded", OTHER, False, False, False, OTHER, "as asked for"),
        ("failed", None, True, False, True, None, "a fresh run"),
        ("failed", OTHER, True, False, False, None, "a fresh run"),
    ],
)
def test_who_lends(
    newest: RunStatus | None,
    named: RunId | None,
    fresh: bool,
    reuse: bool,
    always: bool,
    lender: RunId | None,
    why: str | None,
) -> None:
    earlier = None if newest is None else Earlier(id=OLD, status=newest)
    found = decide(named=named, fresh=fresh, reuse=reuse, always=always, newest=earlier)
    assert found.lender == lender
    assert (found.why is None) if why is None else why in (found.why or "")


def run(workspace_id: WorkspaceId | None = PLACE, tools: Json = None, **more: str | None) -> Run:
    return Run(
        id=OLD,
        owner_id=UserId("owner"),
        name="n",
        language="python",
        created_at=SystemClock().now(),
        workspace_id=workspace_id,
        args_hash="",
        script="",
        tools=tools,
        **more,  # pyright: ignore[reportArgumentType]
    )


def test_the_workspace_counts_as_it_was_left() -> None:
    now = run(workspace_state="b")
    assert is_as_left(now, run(workspace_state="a", final_state="b"))
    assert not is_as_left(now, run(workspace_state="b", final_state="c"))
    # One that was killed while it was cancelled.
    assert is_as_left(now, run(workspace_state="b"))
    assert not is_as_left(run(), run())
    assert is_as_left(run(None), run(None))
    assert not is_as_left(run(WorkspaceId("elsewhere"), workspace_state="b"), run(final_state="b"))


def test_who_may_read_the_workspace() -> None:
    def call(**options: object) -> AgentCall:
        return AgentCall(
            number=1,
            prompt="p",
            options=AgentOptions(**options),  # pyright: ignore[reportArgumentType]
            phase=None,
            branch=None,
        )

    assert reads_workspace(run(), call())
    assert not reads_workspace(run(None), call())
    assert not reads_workspace(run(), call(tools=()))
    assert not reads_workspace(run(), call(max_tool_calls=0))
    assert not reads_workspace(run(tools=[]), call())
    assert reads_workspace(run(tools=["read_file"]), call(tools=("read_file",)))


async def test_the_state_of_a_plain_directory_follows_its_files(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b.txt"
    file.parent.mkdir()
    file.write_text("one")
    root = Root(tmp_path)
    first = await state_of(None, root, ())
    assert first is not None
    assert first.startswith("files:")
    assert await state_of(None, root, ()) == first
    file.write_text("two")
    os.utime(file, (1, 1))
    second = await state_of(None, root, ())
    assert second != first
    (tmp_path / "new").touch()
    assert await state_of(None, root, ()) not in (first, second)


async def test_the_state_of_a_repository_follows_what_git_sees(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True)

    git("init", "-q")
    file = tmp_path / "a.txt"
    file.write_text("one\n")
    (tmp_path / ".gitignore").write_text("build\n")
    git("add", ".")
    git("-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "first")
    root, walled = Root(tmp_path), walled_in(tmp_path_factory.mktemp("data"))
    first = await state_of(walled, root, ())
    assert first is not None
    assert first.startswith("git:")
    file.write_text("two\n")
    changed = await state_of(walled, root, ())
    assert changed != first
    file.write_text("one\n")
    (tmp_path / "build").write_text("not seen")
    assert await state_of(walled, root, ()) == first
    # What a diff does not show is told by times.
    (tmp_path / "picture").write_bytes(b"\0\1\2")
    assert (await state_of(walled, root, ()) or "").startswith("files:")


async def test_a_directory_that_is_gone_has_no_state(tmp_path: Path) -> None:
    assert await state_of(None, Root(tmp_path / "gone"), ()) is None
