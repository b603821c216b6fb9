"""Work in threads: cancelled, it is waited for."""

import asyncio
import threading

import pytest

from holdfast.workspaces.blocking import blocking, finishing


async def cancelled_halfway(work: "asyncio.Task[str]", begun: threading.Event, go: threading.Event) -> None:
    """Cancels it while the thread runs, and lets the thread end only afterwards."""
    await asyncio.to_thread(begun.wait, 60)
    work.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not work.done(), "the thread has not ended yet"
    go.set()
    await asyncio.wait({work})


@pytest.mark.parametrize("way", [blocking, finishing])
async def test_results_and_errors_come_back(way: type) -> None:
    assert await way(lambda: threading.current_thread().name) == "holdfast-files"
    with pytest.raises(ZeroDivisionError):
        await way(lambda: 1 / 0)


async def test_what_has_effects_tells_what_it_came_to() -> None:
    begun, go = threading.Event(), threading.Event()
    work = asyncio.create_task(finishing(lambda: begun.set() or go.wait(60) and "done" or ""))
    await cancelled_halfway(work, begun, go)
    assert work.result() == "done"


async def test_the_rest_is_cancelled_when_the_thread_has_ended() -> None:
    begun, go = threading.Event(), threading.Event()
    ended: list[bool] = []
    work = asyncio.create_task(blocking(lambda: begun.set() or go.wait(60) and ended.append(True) or ""))
    await cancelled_halfway(work, begun, go)
    assert work.cancelled()
    assert ended == [True]


async def test_a_second_cancellation_is_not_kept_waiting() -> None:
    begun, go = threading.Event(), threading.Event()
    work = asyncio.create_task(finishing(lambda: begun.set() or go.wait(60) and "late" or ""))
    await asyncio.to_thread(begun.wait, 60)
    work.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    work.cancel()
    await asyncio.wait({work})
    assert work.cancelled()
    go.set()


async def test_a_time_limit_holds() -> None:
    go = threading.Event()
    asyncio.get_running_loop().call_later(0.2, go.set)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await blocking(lambda: go.wait(60))
