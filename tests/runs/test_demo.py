"""Whoever has no key can try every workflow of the catalogue: the demo model brings each to its end."""

import pytest

from holdfast.scripts.runs.run_start import RunRequest
from tests.runs.stage import Stage, texts
from tests.scripts.test_catalogue import ARGS, NAMES
from tests.worker.engine import OWNER


@pytest.mark.heavy
@pytest.mark.parametrize("name", NAMES)
async def test_the_catalogue_runs_on_the_demo_model(stage: Stage, name: str) -> None:
    stage.work()
    run = await stage.runs.start(RunRequest(owner_id=OWNER, name=name, args=ARGS[name], model="demo"))
    ran = await stage.over(run.id)
    assert ran.run.status == "succeeded", (ran.run.error, texts(ran))
    assert ran.run.result
    # One of them wants a worktree, of which there is none here.
    failed = [call.error.message if call.error else "" for call in ran.calls if call.outcome != "succeeded"]
    assert all("worktrees" in message for message in failed), failed
