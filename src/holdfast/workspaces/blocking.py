"""Blocking work in its own thread, so that a slow disk blocks neither the loop nor a pool that others wait
for. A thread cannot be stopped: a cancelled caller first waits for its real end."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from holdfast.core.shortage import shortages_named

T = TypeVar("T")


async def blocking(function: Callable[[], T]) -> T:
    """If cancelled, the cancellation takes effect once the thread has ended."""
    work = _start(function)
    try:
        await asyncio.wait({work})
    except asyncio.CancelledError:
        await asyncio.wait({work})
        raise
    return work.result()


async def finishing(function: Callable[[], T]) -> T:
    """For work with effects: if cancelled, it still returns the thread's result, because that has
    happened."""
    work = _start(function)
    try:
        await asyncio.wait({work})
    except asyncio.CancelledError:
        await asyncio.wait({work})
    return work.result()


def _start(function: Callable[[], T]) -> "asyncio.Future[T]":
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(function())
        except BaseException as error:  # noqa: BLE001 - whoever waits hears of it
            done.set_exception(error)

    with shortages_named():
        threading.Thread(target=run, name="holdfast-files", daemon=True).start()
    work = asyncio.wrap_future(done)
    work.add_done_callback(_hear)
    return work


def _hear(work: "asyncio.Future[T]") -> None:
    """Retrieves an error that nobody waits for any more."""
    if not work.cancelled():
        work.exception()
