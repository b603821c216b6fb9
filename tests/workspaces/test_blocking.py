"""Work in threads: if cancelled, it is waited for."""

import asyncio
import threading

import pytest

from holdfast.workspaces.blocking import blocking, finishing


class Thread:
    """Work that says when it has begun and ends when it is let."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()
        self.ended = False

    def __call__(self) -> str:
        self.begun.set()
        self.go.wait(60)
        self.ended = True
        return "done"

    async def cancel_halfway(self, work: "asyncio.Task[str]") -> None:
        """Cancels while it runs, and lets it end only afterwards."""
        await asyncio.to_thread(self.begun.wait, 60)
        work.cancel()
        for _ in range(5):
            await asyncio.sleep(0)
        assert not work.done(), "the thread has not ended yet"
        self.go.set()
        await asyncio.wait({work})


@pytest.mark.parametrize("way", [blocking, finishing])
async def test_results_and_errors_come_back(way: type) -> None:
    assert await way(lambda: threading.current_thread().name) == "holdfast-files"
    with pytest.raises(ZeroDivisionError):
        await way(lambda: 1 / 0)


async def test_what_has_effects_tells_what_it_came_to() -> None:
    thread = Thread()
    work = asyncio.create_task(finishing(thread))
    await thread.cancel_halfway(work)
    assert work.result() == "done"


async def test_the_rest_is_cancelled_when_the_thread_has_ended() -> None:
    thread = Thread()
    work = asyncio.create_task(blocking(thread))
    await thread.cancel_halfway(work)
    assert work.cancelled()
    assert thread.ended


async def test_a_second_cancellation_is_not_kept_waiting() -> None:
    thread = Thread()
    work = asyncio.create_task(finishing(thread))
    await asyncio.to_thread(thread.begun.wait, 60)
    work.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    work.cancel()
    await asyncio.wait({work})
    assert work.cancelled()
    thread.go.set()


async def test_a_time_limit_holds() -> None:
    go = threading.Event()
    asyncio.get_running_loop().call_later(0.2, go.set)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await blocking(lambda: go.wait(60))
