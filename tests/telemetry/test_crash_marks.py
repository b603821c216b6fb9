"""Marks say what is being executed, and nothing about what is only waiting."""

import asyncio
import gc
from collections.abc import Generator
from pathlib import Path

import pytest

from holdfast.telemetry.crash_marks import CrashMarks, Duty, deaths, marked
from holdfast.worker.threads import start_thread

CHAT = Duty("chat", "019df000-0000-7000-8000-00000000beef")


@pytest.fixture
def marks(tmp_path: Path) -> Generator[CrashMarks]:
    opened = CrashMarks(tmp_path)
    yield opened
    opened.close()
    assert list(tmp_path.iterdir()) == []


async def test_a_duty_is_marked_in_its_steps_tasks_and_threads(marks: CrashMarks) -> None:
    async def below() -> tuple[Duty, ...]:
        await asyncio.sleep(0)
        return marks.duties

    async def work() -> list[tuple[Duty, ...]]:
        first = marks.duties
        in_task = await asyncio.create_task(marked(below()))
        in_thread = await start_thread(lambda: marks.duties, name="a test's")
        return [first, in_task, in_thread]

    assert await asyncio.create_task(marks.executing(CHAT, work())) == [(CHAT,)] * 3
    assert marks.duties == ()


async def test_a_duty_that_waits_is_not_marked(marks: CrashMarks) -> None:
    waits = asyncio.create_task(marks.executing(CHAT, asyncio.sleep(60)))
    await asyncio.sleep(0)
    assert marks.duties == ()
    waits.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waits


async def test_work_that_is_cancelled_before_its_first_step_is_closed(marks: CrashMarks) -> None:
    """A coroutine that nobody awaited is a warning, which fails this test."""

    async def work() -> None:
        inner = asyncio.create_task(marked(asyncio.sleep(60)))
        inner.cancel()
        await asyncio.wait({inner})

    await asyncio.create_task(marks.executing(CHAT, work()))
    never = asyncio.create_task(marks.executing(CHAT, work()))
    never.cancel()
    await asyncio.wait({never})
    gc.collect()


async def test_what_is_raised_and_thrown_passes_through(marks: CrashMarks) -> None:
    async def work() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise ValueError("cancelled") from None
        return "never"

    task = asyncio.create_task(marks.executing(CHAT, work()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(ValueError, match="cancelled"):
        await task


def test_a_process_that_lives_has_not_died(marks: CrashMarks, tmp_path: Path) -> None:
    assert deaths(tmp_path) == ()
    assert deaths(tmp_path / "nowhere") == ()
