"""Work that blocks, in a thread of its own, so that a slow disk holds up neither the loop nor a pool that
others wait for. Cancelled, it waits for the real end once: a thread cannot be stopped, and what it did
counts."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


async def blocking(function: Callable[[], T]) -> T:
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(function())
        except BaseException as error:  # noqa: BLE001 - whoever waits hears of it
            done.set_exception(error)

    threading.Thread(target=run, name="holdfast-files", daemon=True).start()
    waiting = asyncio.wrap_future(done)
    waiting.add_done_callback(_hear)
    try:
        await asyncio.wait({waiting})
    except asyncio.CancelledError:
        await asyncio.wait({waiting})
    return waiting.result()


def _hear(future: "asyncio.Future[T]") -> None:
    """An error after everybody left is nobody's."""
    if not future.cancelled():
        future.exception()
