"""Listeners, and how an event reaches them within the process. The cost of a delivery depends on the
listeners of that chat and owner. A listener that does not read holds a bounded backlog, and then a single
"read again"."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

from holdfast.bus.backlog import BASE_WEIGHT, Backlog, weigh
from holdfast.core.events import LIVE, BusEvent, Configured, Hint, Reread, RunHint
from holdfast.core.ids import ChatId, RunId, UserId

K = TypeVar("K", ChatId, UserId, RunId)

# Roughly how many bytes of text a listener may leave unread.
LISTENER_LIMIT = 2 * 1024 * 1024


class Listener:
    """One reader's events. Leave it (`async with`, or `close`) to receive nothing more."""

    def __init__(
        self, leave: Callable[["Listener"], None], *, live: bool, limit: int = LISTENER_LIMIT
    ) -> None:
        self._leave = leave
        self._limit = limit
        self._backlog = Backlog()
        self._awake = asyncio.Event()
        self._closed = False
        self.live = live
        self.overflows = 0

    async def get(self) -> BusEvent | None:
        """The next event; None when the listener or the bus was closed, and nothing is left."""
        while not self._backlog:
            if self._closed:
                return None
            self._awake.clear()
            await self._awake.wait()
        return self._backlog.take()

    def get_nowait(self) -> BusEvent | None:
        """The next event if one is already waiting."""
        return self._backlog.take() if self._backlog else None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> BusEvent:
        event = await self.get()
        if event is None:
            raise StopAsyncIteration
        return event

    def put(self, event: BusEvent, weight: int) -> bool:
        """For the bus. False if this was too much: the reader is told to read everything again instead."""
        fits = self._backlog.weight + weight <= self._limit
        if not fits:
            event, weight = Reread(reason="overflow"), BASE_WEIGHT
            self.overflows += 1
        if isinstance(event, Reread):
            self._backlog.clear()  # reading again finds whatever these said
        self._backlog.put(event, weight)
        self._awake.set()
        return fits

    def close(self) -> None:
        self._closed = True
        self._awake.set()
        self._leave(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Listeners:
    """All listeners of a process, found by what they listen to. Only on the loop."""

    def __init__(self) -> None:
        # Sets that keep order, so that delivery is deterministic.
        self._by_chat: dict[ChatId, dict[Listener, None]] = {}
        self._by_owner: dict[UserId, dict[Listener, None]] = {}
        self._by_run: dict[RunId, dict[Listener, None]] = {}
        self._everything: dict[Listener, None] = {}
        self._settings: dict[Listener, None] = {}
        self._closed = False

    def listen(
        self, chat_id: ChatId | None, owner_id: UserId | None, live: bool, run_id: RunId | None = None
    ) -> Listener:
        if sum(named is not None for named in (chat_id, owner_id, run_id)) > 1:
            raise ValueError("listen to a chat, to an owner or to a run, not to both")
        if chat_id is not None:
            listener = Listener(lambda one: _remove(self._by_chat, chat_id, one), live=live)
            self._by_chat.setdefault(chat_id, {})[listener] = None
        elif owner_id is not None:
            listener = Listener(lambda one: _remove(self._by_owner, owner_id, one), live=False)
            self._by_owner.setdefault(owner_id, {})[listener] = None
        elif run_id is not None:
            listener = Listener(lambda one: _remove(self._by_run, run_id, one), live=False)
            self._by_run.setdefault(run_id, {})[listener] = None
        else:
            listener = Listener(lambda one: self._everything.pop(one, None), live=live)
            self._everything[listener] = None
        return self._entered(listener)

    def listen_for_settings(self) -> Listener:
        listener = Listener(lambda one: self._settings.pop(one, None), live=False)
        self._settings[listener] = None
        return self._entered(listener)

    def _entered(self, listener: Listener) -> Listener:
        if self._closed:
            listener.close()
        return listener

    def deliver(self, event: BusEvent) -> int:
        """Gives the event to everybody it is for; returns for how many it was too much."""
        if isinstance(event, Reread):
            for listener in self._all():
                listener.put(event, BASE_WEIGHT)
            return 0
        if isinstance(event, Configured):
            for listener in self._settings:
                listener.put(event, BASE_WEIGHT)
            return 0
        if isinstance(event, RunHint):
            of_owner = self._by_owner.get(event.owner_id, ())
            readers = [*self._by_run.get(event.run_id, ()), *self._everything, *of_owner]
        else:
            readers = [*self._by_chat.get(event.chat_id, ()), *self._everything]
        if isinstance(event, LIVE):
            readers = [listener for listener in readers if listener.live]
        elif isinstance(event, Hint):
            readers += self._by_owner.get(event.owner_id, ())
        if not readers:  # like most live events
            return 0
        weight = weigh(event)
        return sum(not listener.put(event, weight) for listener in readers)

    def close(self) -> None:
        """Nobody receives anything any more, including later listeners."""
        self._closed = True
        for listener in self._all():
            listener.close()

    def _all(self) -> list[Listener]:
        of_chats = [one for listeners in self._by_chat.values() for one in listeners]
        of_owners = [one for listeners in self._by_owner.values() for one in listeners]
        of_runs = [one for listeners in self._by_run.values() for one in listeners]
        return [*of_chats, *of_owners, *of_runs, *self._everything, *self._settings]


def _remove(table: dict[K, dict[Listener, None]], key: K, listener: Listener) -> None:
    listeners = table.get(key)
    if listeners is not None:
        listeners.pop(listener, None)
        if not listeners:
            del table[key]
