"""A contender's process: takes tasks from its input, one a line, and answers each with its figures. It ends
when its input does, so that it never outlives the bench for longer than a task. Standard library alone."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine
from importlib import import_module
from typing import Any

from bench.task import Figures, Task, line_of, task_of

LOOP_VARIABLE = "HOLDFAST_BENCH_LOOP"
READY = "ready\n"


def serve(run: Callable[[Task], Coroutine[Any, Any, Figures]]) -> None:
    # Whatever a library prints must not look like an answer.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    answers.write(READY)
    answers.flush()
    # One loop for all tasks: libraries keep connections that belong to it.
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        for line in sys.stdin:
            figures = runner.run(run(task_of(line)))
            answers.write(line_of(figures))
            answers.flush()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if os.environ.get(LOOP_VARIABLE) == "uvloop":
        return import_module("uvloop").new_event_loop
    return None


async def side_by_side(count: int, work: Callable[[int], Awaitable[object]]) -> None:
    """`count` of them at the same time; if one fails, so do all."""
    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(_await(work, number))


async def _await(work: Callable[[int], Awaitable[object]], number: int) -> None:
    await work(number)
