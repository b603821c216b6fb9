"""The event loop of a script. It knows no time and no files: whatever can run is run in the order it was
made ready, and timers are pauses that the server counts. So the same answers in the same order give the same
run."""

import asyncio
from asyncio import events
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context
from typing import Any, NoReturn

from modules import NO_SYSTEM


class ScriptLoop(asyncio.AbstractEventLoop):
    def __init__(self, pause: Callable[[float], int]) -> None:
        self._pause = pause
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: dict[int, asyncio.TimerHandle] = {}
        # Of the script: it moves when a timer is due, and stands still otherwise.
        self._now = 0.0

    def run_ready(self) -> None:
        events._set_running_loop(self)
        try:
            while self._ready:
                handle = self._ready.popleft()
                if not handle.cancelled():
                    handle._run()
        finally:
            events._set_running_loop(None)

    def fire(self, number: int) -> bool:
        """Whether this was a timer; it is due now."""
        handle = self._timers.pop(number, None)
        if handle is None:
            return False
        self._now = max(self._now, handle.when())
        self._ready.append(handle)
        return True

    # What asyncio asks of a loop

    def time(self) -> float:
        return self._now

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._timers[self._pause(max(0.0, when - self._now))] = handle
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """The pause goes on where it is counted, and nobody hears of its end."""

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, **named: Any) -> "asyncio.Task[Any]":
        if not asyncio.iscoroutine(coro):
            coro = _awaited(coro)
        return asyncio.Task(coro, loop=self, **named)

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """What nobody waited for is told elsewhere."""

    def get_task_factory(self) -> None:
        return None

    def _none(self, *_: Any, **__: Any) -> NoReturn:
        raise PermissionError(NO_SYSTEM)

    run_in_executor = subprocess_exec = subprocess_shell = create_connection = create_server = _none
    create_unix_connection = create_unix_server = getaddrinfo = getnameinfo = add_reader = add_writer = _none
    add_signal_handler = create_datagram_endpoint = connect_read_pipe = connect_write_pipe = _none


def _awaited(something: Awaitable[Any]) -> Coroutine[Any, Any, Any]:
    """`create_task(agent(...))`: what runs already, as a coroutine."""
    if not hasattr(something, "__await__"):
        raise TypeError(f"a coroutine was expected, got {something!r}")

    async def wait() -> Any:
        return await something

    return wait()
