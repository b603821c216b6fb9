"""Blocking work, each piece in its own thread: it blocks neither the loop nor the pools that others wait for,
and the process can exit while it is still running."""

import asyncio
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar

from holdfast.core.shortage import shortages_named
from holdfast.telemetry.crash_marks import marked_thread

T = TypeVar("T")


def start_thread(function: Callable[..., T], *args: Any, name: str) -> "asyncio.Future[T]":
    """A future for what the function returns or raises. Cancelling it does not stop the thread. Raises
    Shortage if nothing was started."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = copy_context()
    function = marked_thread(function)

    def run() -> None:
        try:
            result = context.run(function, *args)
        except BaseException as error:  # noqa: BLE001 - whoever waits for it hears of it
            end(_fail, future, _raisable(error))
        else:
            end(_answer, future, result)

    def end(how: Callable[[Any, Any], None], *what: Any) -> None:
        try:
            loop.call_soon_threadsafe(how, *what)
        except RuntimeError:
            pass  # the loop is closed, so nobody waits

    with shortages_named():
        threading.Thread(target=run, name=name, daemon=True).start()
    return future


def _raisable(error: BaseException) -> BaseException:
    # A future cannot carry StopIteration, which would end the waiting coroutine. The others end a process
    # only in its main thread.
    if isinstance(error, StopIteration | KeyboardInterrupt | SystemExit):
        return RuntimeError(f"{type(error).__name__} was raised")
    return error


def _answer(future: "asyncio.Future[Any]", result: Any) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: "asyncio.Future[Any]", error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
