"""Runs of flows for tests: the stage of workflow runs with a worker that drives flows too."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from typing_extensions import override

from holdfast.core.flow_runs import OVER, Answer, FlowDetails, FlowRun, FlowStep
from holdfast.core.ids import FlowRunId, RandomIds, RunId, UserId
from holdfast.core.shapes import Json
from holdfast.duties.duty import LeasedDuty
from holdfast.flows.discovery import FlowLibrary
from holdfast.flows.evaluator import FlowEvaluator
from holdfast.flows.runs.driven_run import FlowResources
from holdfast.flows.runs.flow_duty import FlowDuty
from holdfast.flows.runs.flow_start import FlowRequest, FlowRuns
from holdfast.flows.runs.step_inputs import StepInputs
from holdfast.scripts.runs.agent_chats import AgentChats
from holdfast.scripts.runs.sandboxes import Sandboxes
from holdfast.store import flow_runs
from holdfast.worker.chat_duty import ChatDuty
from tests.runs.stage import Stage
from tests.worker.engine import OWNER, PATIENCE_SECONDS, Engine

HEAD = "name: test\ndescription: a test\n"


def flow_text(steps: str, more: str = "") -> str:
    """Steps as a list of mappings, one a line."""
    lines = "\n".join(f"  - {line.strip()}" for line in steps.strip().splitlines())
    return f"{HEAD}{more}\nsteps:\n{lines}\n"


class FlowStage(Stage):
    def __init__(self, engine: Engine, home: Path) -> None:
        super().__init__(engine, home)
        self.evaluator = FlowEvaluator()
        self.flow_library = FlowLibrary(None, home, self.evaluator, self.reader)
        self.flows = FlowRuns(
            store=engine.store,
            clock=engine.clock,
            ids=RandomIds(),
            library=self.flow_library,
            workflows=self.runs,
            check_model=self._require_model,
        )

    @override
    def beside(self) -> Callable[[ChatDuty], Sequence[LeasedDuty[Any, Any]]]:
        engine, runs = self.engine, super().beside()
        resources = FlowResources(
            store=engine.store,
            clock=engine.clock,
            ids=RandomIds(),
            agent_chats=AgentChats(self._family()),
            inputs=StepInputs(self.flow_library, self.reader, Sandboxes()),
            commands=self.flows,
            settings=lambda: self.settings,
        )
        return lambda chats: (*runs(chats), FlowDuty(resources, chats))

    # What people do

    async def start_flow(self, text: str, **more: Any) -> FlowRun:
        return await self.flows.start(FlowRequest(owner_id=OWNER, flow=text, **more))

    async def ran_flow(self, text: str, **more: Any) -> FlowDetails:
        return await self.flow_over((await self.start_flow(text, **more)).id)

    async def flow_result(self, text: str, **more: Any) -> Json:
        ran = await self.ran_flow(text, **more)
        assert ran.run.status == "succeeded", (ran.run.error, states(ran), [line.text for line in ran.lines])
        return ran.run.result

    async def approve(
        self, run_id: FlowRunId, step: str, decision: Any = "approve", **more: Any
    ) -> FlowDetails:
        user = more.pop("user_id", OWNER)
        return await self.flows.answer(
            run_id, step, UserId(user), Answer(decision=decision, by="ann", **more)
        )

    # What is so

    async def flow_details(self, run_id: FlowRunId) -> FlowDetails:
        found = await self.engine.store.read(flow_runs.details(run_id))
        assert found is not None
        return found

    async def flow_until(self, run_id: FlowRunId, condition: Callable[[FlowDetails], bool]) -> FlowDetails:
        seen: FlowDetails | None = None
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                async with self.engine.bus.listen(run_id=RunId(run_id)) as hints:
                    while True:
                        seen = await self.flow_details(run_id)
                        if condition(seen):
                            return seen
                        try:
                            await asyncio.wait_for(hints.get(), 0.1)
                        except TimeoutError:
                            pass
        except TimeoutError:
            what = seen and (seen.run.status, states(seen), [line.text for line in seen.lines])
            raise AssertionError(f"it never came to be; the run is {what}") from None

    async def flow_over(self, run_id: FlowRunId) -> FlowDetails:
        return await self.flow_until(run_id, lambda seen: seen.run.status in OVER)

    async def step_is(self, run_id: FlowRunId, step: str, state: str) -> FlowStep:
        seen = await self.flow_until(run_id, lambda seen: states(seen)[step] == state)
        return by_id(seen)[step]


def states(ran: FlowDetails) -> dict[str, str]:
    return {row.id: row.state for row in ran.steps}


def by_id(ran: FlowDetails) -> dict[str, FlowStep]:
    return {row.id: row for row in ran.steps}
