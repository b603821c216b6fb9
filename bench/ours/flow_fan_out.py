"""A flow of many agent steps, run by Holdfast's own worker, and then once more with everything reused;
beside it the time of one decision on a graph of a thousand steps: `python -m bench.ours.flow_fan_out`."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime

from bench.measure import Stopwatch
from bench.ours.models import models_for
from bench.ours.opened import opened
from bench.ours.working import OWNER
from bench.serve import serve
from bench.task import Figures, Task
from holdfast.bus.interface import Bus
from holdfast.core.clock import SystemClock
from holdfast.core.events import BusEvent, Hint, RunHint
from holdfast.core.flow_runs import OVER, FlowDetails, FlowStep
from holdfast.core.ids import RandomIds, RunId
from holdfast.duties.worker import Worker
from holdfast.flows.definition import AgentStep, Flow, FlowBatch
from holdfast.flows.discovery import FlowLibrary
from holdfast.flows.evaluator import FlowEvaluator
from holdfast.flows.runs.flow_driver import FlowResources
from holdfast.flows.runs.flow_duty import FlowDuty
from holdfast.flows.runs.flow_start import FlowRequest, FlowRuns
from holdfast.flows.runs.step_inputs import StepInputs
from holdfast.flows.schedule import Graph, decide
from holdfast.scripts.reader import ScriptReader
from holdfast.scripts.runs.agent_chats import AgentChats
from holdfast.scripts.runs.library import Library
from holdfast.scripts.runs.run_start import Runs
from holdfast.scripts.runs.sandboxes import Sandboxes
from holdfast.scripts.runs.settings import RunSettings
from holdfast.store import flow_runs
from holdfast.store.interface import Store
from holdfast.tools.agent_names import AgentNames
from holdfast.tools.family import AgentFamily, AgentLimits
from holdfast.tools.registry import ToolRegistry
from holdfast.worker.chat_duty import ChatDuty
from holdfast.worker.models import Models
from holdfast.worker.settings import WorkerSettings

DECIDED_STEPS = 1000


async def run(task: Task) -> Figures:
    task = replace(task, steps=1)
    stopwatch = Stopwatch(task)

    def see(hint: BusEvent) -> None:
        """An agent that rests has ended."""
        if isinstance(hint, Hint) and hint.status == "idle":
            stopwatch.end(hint.chat_id)

    async with (
        opened(task, see) as (store, bus),
        models_for(task, stopwatch) as models,
        _working(store, bus, models, task) as commands,
    ):

        async def ran(steps: int, number: int, *, reuse: bool = False) -> FlowDetails:
            text = _flow(steps, task.at_once)
            wanted = FlowRequest(owner_id=OWNER, flow=text, args={"run": number}, reuse=reuse)
            return await _ran(store, bus, commands, wanted)

        await ran(2, 0)

        async def work() -> None:
            await ran(task.each, 1)

        figures = await stopwatch.time(work(), task.each)
        start = time.perf_counter()
        again = await ran(task.each, 1, reuse=True)
        figures.also["again ms"] = (time.perf_counter() - start) * 1000
        if sum(row.reused for row in again.steps) != task.each:
            raise RuntimeError("not everything was reused")
        figures.also["decision ms"] = _decision_ms()
        return figures


def _flow(steps: int, at_once: int) -> str:
    lines = [
        f"  - {{id: s{n}, kind: agent, batch: wave, prompt: 'agent {{{{ args.run }}}} {n}'}}"
        for n in range(steps)
    ]
    head = (
        f"name: fan-out\ndescription: Many agents in waves\nbatches: {{wave: {{max: {at_once}}}}}\nsteps:\n"
    )
    return head + "\n".join(lines)


def _decision_ms() -> float:
    """Of the first round, when every step still has to be looked at."""
    steps = tuple(
        AgentStep(id=f"s{n}", deps=tuple(f"s{dep}" for dep in range(max(0, n - 3), n)), prompt="p", batch="b")
        for n in range(DECIDED_STEPS)
    )
    graph = Graph(Flow(name="f", description="d", steps=steps, batches={"b": FlowBatch(max=16)}))
    rows = {
        step.id: FlowStep(id=step.id, kind="agent", position=place, batch="b")
        for place, step in enumerate(steps)
    }
    now, took = datetime.now(UTC), list[float]()
    for _ in range(20):
        start = time.process_time()
        decide(graph, rows, now, slots=16)
        took.append(time.process_time() - start)
    return sorted(took)[len(took) // 2] * 1000


async def _ran(store: Store, bus: Bus, commands: FlowRuns, wanted: FlowRequest) -> FlowDetails:
    """From the wish to the end."""
    started = await commands.start(wanted)
    async with bus.listen(run_id=RunId(started.id)) as hints:
        while True:
            found = await store.read(flow_runs.details(started.id))
            assert found is not None
            if found.run.status in OVER:
                if found.run.status != "succeeded":
                    raise RuntimeError(f"the run failed: {found.run.error}")
                return found
            while isinstance(hint := await hints.get(), RunHint) and not hint.over:
                pass


@asynccontextmanager
async def _working(store: Store, bus: Bus, models: Models, task: Task) -> AsyncGenerator[FlowRuns]:
    """A worker that drives flows; if it fails, so does what is done meanwhile."""
    clock, ids, reader, evaluator = SystemClock(), RandomIds(), ScriptReader(), FlowEvaluator()
    library = FlowLibrary(None, None, evaluator, reader)
    workflows = Runs(
        store=store, clock=clock, ids=ids, library=Library(None, None, reader), check_model=lambda _: None
    )
    commands = FlowRuns(
        store=store,
        clock=clock,
        ids=ids,
        library=library,
        workflows=workflows,
        check_model=lambda _: None,
    )
    family = AgentFamily(
        store=store,
        agents=AgentNames(store, None),
        bus=bus,
        clock=clock,
        ids=ids,
        limits=AgentLimits,
        check_model=lambda _: None,
        has_tool=lambda _: False,
    )
    resources = FlowResources(
        store=store,
        clock=clock,
        ids=ids,
        agent_chats=AgentChats(family),
        inputs=StepInputs(library, reader, Sandboxes()),
        commands=commands,
        settings=lambda: RunSettings(max_concurrency=task.at_once),
    )
    settings = WorkerSettings(max_per_user=task.at_once + 1)
    chats = ChatDuty(store=store, bus=bus, models=models, tools=ToolRegistry(), settings=settings)
    worker = Worker(
        [chats, FlowDuty(resources, chats)],
        store=store,
        bus=bus,
        lease_seconds=lambda: settings.lease_seconds,
    )
    async with asyncio.TaskGroup() as group:
        group.create_task(worker.run())
        try:
            yield commands
        finally:
            worker.stop()
            await evaluator.close()
            await asyncio.to_thread(reader.close)


if __name__ == "__main__":
    serve(run)
