"""Blocking work, each piece in a thread of its own: what blocks holds up neither the loop nor the pools that
others wait for, and a process can end while it still runs."""

import asyncio
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar

from holdfast.core.shortage import shortages_named
from holdfast.telemetry.crash_marks import marked_thread

T = TypeVar("T")


def start_thread(function: Callable[..., T], *args: Any, name: str) -> "asyncio.Future[T]":
    """The future of what the function returns or raises. Cancelling it does not stop the thread. Shortage:
    nothing was begun."""
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
    # A future cannot carry the first, which would end the coroutine that waits. The others end a process only
    # where it has its main thread.
    if isinstance(error, StopIteration | KeyboardInterrupt | SystemExit):
        return RuntimeError(f"{type(error).__name__} was raised")
    return error


def _answer(future: "asyncio.Future[Any]", result: Any) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: "asyncio.Future[Any]", error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
