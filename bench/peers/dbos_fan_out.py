"""Many agents at once by dbos: each a workflow of one step that another workflow starts. What has an id that
was there before is not run again but answered from the database."""

# Its packages are in .venv-bench alone.
# pyright: basic, reportMissingImports=false

import asyncio
import time

from dbos import DBOS, SetWorkflowID

from bench.measure import Stopwatch
from bench.peers.dbos_turns import Timing, launched
from bench.serve import serve
from bench.task import Figures, Task


class Counted:
    calls = 0


@DBOS.step()
async def answer(prompt: str) -> str:
    Counted.calls += 1
    Timing.stopwatch.lap(prompt)
    return "done"


@DBOS.workflow()
async def agent(prompt: str) -> str:
    return await answer(prompt)


@DBOS.workflow()
async def flow(name: str, agents: int, at_once: int) -> list[str]:
    room = asyncio.Semaphore(at_once)

    async def one(prompt: str) -> str:
        async with room:
            with SetWorkflowID(prompt):
                handle = await DBOS.start_workflow_async(agent, prompt)
            return await handle.get_result()

    return list(await asyncio.gather(*(one(f"agent {name} {number}") for number in range(agents))))


async def run(task: Task) -> Figures:
    Timing.stopwatch = stopwatch = Stopwatch(task)
    async with launched(task):

        async def ran(name: str, agents: int) -> None:
            if len(await flow(name, agents, task.at_once)) != agents:
                raise RuntimeError("the run is not whole")

        await ran("first", 2)

        async def work() -> None:
            await ran("all", task.each)
            for number in range(task.each):
                stopwatch.end(f"agent all {number}")

        figures = await stopwatch.time(work(), task.each)
        Counted.calls, start = 0, time.perf_counter()
        await ran("all", task.each)
        figures.also["again ms"] = (time.perf_counter() - start) * 1000
        if Counted.calls:
            raise RuntimeError("not everything was reused")
        return figures


if __name__ == "__main__":
    serve(run)
