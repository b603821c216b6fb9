"""A workflow that starts many agents at once, run by Holdfast's own worker, and then once more with
everything reused: `python -m bench.ours.fan_out`."""

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
from holdfast.core.events import BusEvent, Hint, RunHint
from holdfast.core.ids import RandomIds
from holdfast.core.runs import OVER, RunDetails
from holdfast.duties.worker import Worker
from holdfast.scripts.reader import ScriptReader
from holdfast.scripts.runs.agent_chats import AgentChats
from holdfast.scripts.runs.library import Library
from holdfast.scripts.runs.run_driver import RunResources
from holdfast.scripts.runs.run_duty import RunDuty
from holdfast.scripts.runs.run_start import RunRequest, Runs
from holdfast.scripts.runs.sandboxes import Sandboxes
from holdfast.scripts.runs.settings import RunSettings
from holdfast.store import journals
from holdfast.store.interface import Store
from holdfast.tools.agent_names import AgentNames
from holdfast.tools.family import AgentFamily, AgentLimits
from holdfast.tools.registry import ToolRegistry
from holdfast.worker.chat_duty import ChatDuty
from holdfast.worker.models import Models
from holdfast.worker.settings import WorkerSettings

SCRIPT = """\
export const meta = {name: 'fan-out', description: 'Many agents at once'}
return await parallel([...Array(args.agents).keys()].map(n => () => agent(`agent ${args.run} ${n}`)))
"""


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

        async def ran(agents: int, number: int) -> RunDetails:
            wanted = RunRequest(
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


async def _ran(store: Store, bus: Bus, commands: Runs, wanted: RunRequest) -> RunDetails:
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
    clock, ids, tools = SystemClock(), RandomIds(), ToolRegistry()
    commands = Runs(
        store=store,
        clock=clock,
        ids=ids,
        library=Library(None, None, ScriptReader()),
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
    resources = RunResources(
        store=store,
        clock=clock,
        ids=ids,
        agent_chats=AgentChats(family),
        library=commands.library,
        sandboxes=Sandboxes(spares=True),
        settings=lambda: RunSettings(max_concurrency=task.at_once),
    )
    settings = WorkerSettings(max_per_user=task.at_once + 1)
    chats = ChatDuty(store=store, bus=bus, models=models, tools=tools, settings=settings)
    worker = Worker(
        [chats, RunDuty(resources, commands, chats)],
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


if __name__ == "__main__":
    serve(run)
