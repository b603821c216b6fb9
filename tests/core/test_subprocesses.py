"""Processes that are cancelled: while they start, and while they still have much output."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.subprocesses import drained, kill_group, read_at_most, start_process, to_the_end

CHATTERS = "import os\nwhile True: os.write(1, b'x' * 65536)"


async def test_one_that_nobody_listens_to_any_more_ends() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHATTERS, stdout=asyncio.subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    assert await read_at_most(process.stdout, 10) == b"x" * 10
    # Until its pipe is full, and asyncio has stopped reading it.
    stdout: Any = process.stdout
    while not stdout._paused:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    kill_group(process)
    async with asyncio.timeout(60):
        await drained(process)
    assert process.returncode == -9


@pytest.mark.parametrize("steps", range(6))
async def test_one_that_is_cancelled_twice_while_it_starts_leaves_nothing(steps: int) -> None:
    children = _children()
    starting = asyncio.create_task(start_process([sys.executable, "-c", "import time; time.sleep(600)"]))
    for _ in range(steps):
        await asyncio.sleep(0)
    starting.cancel()
    await asyncio.sleep(0)
    starting.cancel()
    async with asyncio.timeout(60):
        await asyncio.wait({starting})
    assert starting.cancelled()
    assert _children() == children
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_program_that_does_not_exist_is_told_also_when_it_is_given_up() -> None:
    with pytest.raises(FileNotFoundError):
        await start_process(["/nonexistent/program"])
    starting = asyncio.create_task(start_process(["/nonexistent/program"]))
    await asyncio.sleep(0)
    starting.cancel()
    await asyncio.wait({starting})
    assert starting.cancelled() or isinstance(starting.exception(), FileNotFoundError)


async def test_what_must_be_finished_is_finished_however_often_it_is_cancelled() -> None:
    finished = asyncio.Event()

    async def slow() -> None:
        await asyncio.sleep(0.05)
        finished.set()

    waiting = asyncio.create_task(to_the_end(slow()))
    for _ in range(3):
        await asyncio.sleep(0)
        waiting.cancel()
    await waiting
    assert finished.is_set()


def _children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())
