"""The bus of a single process: listeners are told at once, and there is nobody else."""

import asyncio
import threading
from types import TracebackType
from typing import Self

from holdfast.bus.interface import Counters
from holdfast.bus.listener import Listener, Listeners
from holdfast.core.events import BusEvent
from holdfast.core.ids import ChatId, RunId, UserId


class MemoryBus:
    """Made on the loop whose listeners it serves. Use as `async with`."""

    def __init__(self) -> None:
        self.counters = Counters()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._listeners = Listeners()

    def publish(self, event: BusEvent) -> None:
        if threading.get_ident() == self._thread:
            self._publish(event)
            return
        try:
            self._loop.call_soon_threadsafe(self._publish, event)
        except RuntimeError:
            pass  # the loop is closed: nobody listens, and nobody could be told

    def listen(
        self,
        *,
        chat_id: ChatId | None = None,
        owner_id: UserId | None = None,
        run_id: RunId | None = None,
        live: bool = True,
    ) -> Listener:
        return self._listeners.listen(chat_id, owner_id, live, run_id)

    def listen_for_settings(self) -> Listener:
        return self._listeners.listen_for_settings()

    async def close(self) -> None:
        self._listeners.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _publish(self, event: BusEvent) -> None:
        self.counters.published += 1
        self.counters.overflows += self._listeners.deliver(event)
