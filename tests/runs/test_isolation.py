"""Agents of runs with worktrees of their own."""

from pathlib import Path

import pytest

from holdfast.tools.registry import ToolRegistry
from tests.providers.replies import call
from tests.runs.stage import Stage, js, texts, texts_of
from tests.worker.workshop import Workshop

pytestmark = pytest.mark.heavy


@pytest.fixture
def workshop(stage: Stage, tmp_path: Path) -> Workshop:
    workshop = Workshop(stage.engine, tmp_path)
    stage.isolation = workshop.isolation
    stage.tools = ToolRegistry([*stage.tools, workshop.touch])
    return workshop


async def test_unchanged_it_is_removed_changed_it_is_kept_and_named(stage: Stage, workshop: Workshop) -> None:
    stage.answers = lambda prompt, asked: (
        call("touch", {"name": "new.txt"}) if prompt == "write" and not texts_of(asked, "tool") else None
    )
    stage.work()
    ran = await stage.ran(
        js(
            "const alone = p => agent(p, {label: p, isolation: 'worktree'})\n"
            "return await parallel(['read', 'write'].map(p => () => alone(p)))"
        ),
        workspace_id=await workshop.workspace(),
    )
    assert ran.run.result == ["<read>", "<write>"]
    assert len(workshop.worktrees) == 1
    (said,) = texts(ran, "log")
    assert said.startswith("The agent “write”: Its changes are in ")
    assert "branch holdfast/" in said
    assert not (workshop.repository / "new.txt").exists()


@pytest.mark.usefixtures("workshop")
async def test_without_a_repository_there_is_no_worktree(stage: Stage) -> None:
    stage.work()
    ran = await stage.ran(js("return await agent('x', {isolation: 'worktree'})"))
    assert ran.run.error is not None
    assert "worktree" in ran.run.error.message
