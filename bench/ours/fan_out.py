"""A workflow that starts many agents at once, run by Holdfast's own worker and keeper of runs, and then once
more with everything reused: `python -m bench.ours.fan_out`."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

from bench.measure import Stopwatch
from bench.ours.models import models_for
from bench.ours.opened import opened
from bench.ours.working import OWNER
from bench.serve import serve
from bench.task import Figures, Task
from holdfast.bus.interface import Bus
from holdfast.core.clock import SystemClock
from holdfast.core.events import Hint, RunHint
from holdfast.core.ids import RandomIds
from holdfast.core.runs import OVER, RunDetails
from holdfast.scripts.runs.agents import Agents
from holdfast.scripts.runs.conductor import Means
from holdfast.scripts.runs.keeper import RunKeeper
from holdfast.scripts.runs.library import Library
from holdfast.scripts.runs.settings import RunSettings
from holdfast.scripts.runs.stages import Sandboxes
from holdfast.scripts.runs.starting import Runs, Wanted
from holdfast.store import journals
from holdfast.store.interface import Store
from holdfast.tools.family import AgentLimits, Family
from holdfast.tools.registry import Registry
from holdfast.worker.models import Models
from holdfast.worker.settings import WorkerSettings
from holdfast.worker.worker import Worker

SCRIPT = """\
export const meta = {name: 'fan-out', description: 'Many agents at once'}
return await parallel([...Array(args.agents).keys()].map(n => () => agent(`agent ${args.run} ${n}`)))
"""


async def run(task: Task) -> Figures:
    task = replace(task, steps=1)
    stopwatch = Stopwatch(task)

    def see(hint: Hint) -> None:
        """An agent that rests has ended."""
        if hint.status == "idle":
            stopwatch.end(hint.chat_id)

    async with (
        opened(task, see) as (store, bus),
        models_for(task, stopwatch) as models,
        _working(store, bus, models, task) as commands,
    ):

        async def ran(agents: int, number: int) -> RunDetails:
            wanted = Wanted(
                owner_id=OWNER,
                script=SCRIPT,
                language="javascript",
                args={"agents": agents, "run": number},
                max_concurrency=task.at_once,
            )
            return await _ran(store, bus, commands, wanted)

        await ran(2, 0)

        async def work() -> None:
            await ran(task.each, 1)

        figures = await stopwatch.time(work(), task.each)
        start = time.perf_counter()
        again = await ran(task.each, 1)
        figures.also["again ms"] = (time.perf_counter() - start) * 1000
        if again.reused != task.each:
            raise RuntimeError("not everything was reused")
        return figures


async def _ran(store: Store, bus: Bus, commands: Runs, wanted: Wanted) -> RunDetails:
    """From the wish to the end."""
    started = await commands.start(wanted)
    async with bus.listen(run_id=started.id) as hints:
        while True:
            found = await store.read(journals.details(started.id))
            assert found is not None
            if found.run.status in OVER:
                if found.run.status != "succeeded":
                    raise RuntimeError(f"the run failed: {found.run.error}")
                return found
            while isinstance(hint := await hints.get(), RunHint) and not hint.over:
                pass


@asynccontextmanager
async def _working(store: Store, bus: Bus, models: Models, task: Task) -> AsyncGenerator[Runs]:
    """A worker with a keeper of runs; if it fails, so does what is done meanwhile."""
    clock, ids, tools = SystemClock(), RandomIds(), Registry()
    commands = Runs(
        store=store,
        publish=bus.publish,
        clock=clock,
        ids=ids,
        library=Library(None, None),
        check_model=lambda _: None,
    )
    family = Family(
        store=store,
        bus=bus,
        clock=clock,
        ids=ids,
        limits=AgentLimits,
        check_model=lambda _: None,
        has_tool=lambda _: False,
    )
    means = Means(
        store=store,
        publish=bus.publish,
        clock=clock,
        ids=ids,
        agents=Agents(family),
        library=commands.library,
        sandboxes=Sandboxes(spares=True),
        settings=lambda: RunSettings(max_concurrency=task.at_once),
    )
    worker = Worker(
        store=store,
        bus=bus,
        models=models,
        tools=tools,
        settings=WorkerSettings(max_per_user=task.at_once + 1),
        beside=RunKeeper(bus, means, commands),
    )
    async with asyncio.TaskGroup() as group:
        group.create_task(worker.run())
        try:
            yield commands
        finally:
            worker.stop()


if __name__ == "__main__":
    serve(run)
