"""Durable turns by dbos: a turn is a workflow, each call of the model and of the tool one of its steps, as a
contender. It keeps no history of a chat: what a turn knows is what its steps have returned."""

# Its packages are in .venv-bench alone.
# pyright: basic, reportMissingImports=false

import logging
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from dbos import DBOS, SetWorkflowID

from bench.measure import Stopwatch
from bench.serve import serve, side_by_side
from bench.task import Figures, Task


class Timing:
    """A workflow is a function of the module, and is given nothing but what can be stored."""

    stopwatch: Stopwatch


@DBOS.step()
async def model(turn: str, answered: int, steps: int) -> dict[str, object]:
    Timing.stopwatch.lap(turn)
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    if answered == steps - 1:
        return {"role": "assistant", "content": "done", "usage": usage}
    return {"call": {"name": "add", "args": {"a": 1, "b": 2}, "id": f"p{answered}"}, "usage": usage}


@DBOS.step()
async def add(a: int, b: int) -> str:
    return str(a + b)


@DBOS.workflow()
async def turn(name: str, steps: int) -> int:
    messages: list[object] = [{"role": "user", "content": "go"}]
    for answered in range(steps):
        messages.append(await model(name, answered, steps))
        if answered < steps - 1:
            messages.append(await add(1, 2))
    return len(messages)


async def run(task: Task) -> Figures:
    if task.history or task.model_url:
        raise NotImplementedError("it keeps no history and calls no model")
    Timing.stopwatch = stopwatch = Stopwatch(task)
    async with launched(task):

        async def chat(_: int) -> None:
            for _ in range(task.each):
                stopwatch.end(await _turn(task))

        await _turn(task)
        return await stopwatch.time(side_by_side(task.at_once, chat), task.at_once * task.each * task.steps)


async def _turn(task: Task) -> str:
    name = str(uuid.uuid4())
    with SetWorkflowID(name):
        messages = await turn(name, task.steps)
    if messages != task.steps * 2:
        raise RuntimeError("the turn is not whole")
    return name


@asynccontextmanager
async def launched(task: Task) -> AsyncGenerator[None]:
    url = f"sqlite:///{Path(task.database) / 'dbos.db'}" if task.engine == "sqlite" else task.database
    DBOS(config={"name": "bench", "system_database_url": url, "run_admin_server": False})
    logging.getLogger("dbos").setLevel(logging.ERROR)
    DBOS.launch()
    try:
        yield
    finally:
        DBOS.destroy()


if __name__ == "__main__":
    serve(run)
