"""The flows of the guide, run on a real worker; whoever is asked approves."""

import asyncio
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.errors import WrongState
from holdfast.core.ids import FlowRunId
from tests.flows.stage import FlowStage, states

pytestmark = pytest.mark.heavy

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "flows.md"
EXAMPLES = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(), re.DOTALL)
ARGS: dict[str, Any] = {
    "release-notes": {"since": "v1.2", "breaking": True},
    "two-ways": {"files": ["a", "b", "c"]},
    "careful": {},
}


async def approving(stage: FlowStage, run_id: FlowRunId) -> None:
    while True:
        for row in (await stage.flow_details(run_id)).steps:
            if row.kind == "approval" and row.state == "waiting":
                with suppress(WrongState):
                    await stage.approve(run_id, row.id)
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("text", EXAMPLES, ids=lambda text: text.split("\n")[0])
async def test_an_example(stage: FlowStage, text: str) -> None:
    stage.work()
    name = text.split("\n", maxsplit=1)[0].removeprefix("name: ")
    run = await stage.start_flow(text, args=ARGS[name])
    person = asyncio.create_task(approving(stage, run.id))
    try:
        ran = await stage.flow_over(run.id)
    finally:
        person.cancel()
    assert ran.run.status == "succeeded", (ran.run.error, states(ran))
    match name:
        case "release-notes":
            assert str(ran.run.result).startswith(
                "<Write release notes from: <List the features since v1.2.>"
            )
        case "two-ways":
            assert ran.run.result == {"end": ["lint", "size", "types", "way"]}
        case _:
            assert states(ran)["maybe"] == "skipped"
            assert ran.run.result == {"last": "<Say goodbye, dry.>"}
