"""What every bus offers. Events are hints: each may be lost, duplicated, reordered or late, and the database
is read to know what is true."""

from types import TracebackType
from typing import Protocol, Self

import msgspec

from holdfast.bus.listener import Listener
from holdfast.core.events import BusEvent
from holdfast.core.ids import ChatId, RunId, UserId


class Counters(msgspec.Struct):
    """What a bus has done since it was made; for metrics, so the numbers only rise."""

    published: int = 0
    overflows: int = 0
    # Towards other processes.
    notifications_sent: int = 0
    bytes_sent: int = 0
    live_dropped: int = 0
    too_large: int = 0
    rereads_sent: int = 0
    # From other processes.
    notifications_received: int = 0
    events_received: int = 0
    garbled: int = 0
    connects: int = 0
    # Broken connections and failed attempts to make one.
    failures: int = 0


class Bus(Protocol):
    @property
    def counters(self) -> Counters: ...

    def publish(self, event: BusEvent) -> None:
        """Gives the event to the listeners of this process at once and to other processes soon. Never waits
        and never raises. Called from another thread, it is passed to the loop first."""
        ...

    def listen(
        self,
        *,
        chat_id: ChatId | None = None,
        owner_id: UserId | None = None,
        run_id: RunId | None = None,
        live: bool = True,
    ) -> Listener:
        """Listens from this call on: to everything of one chat, to the hints of one owner's chats and runs,
        to those of one run, or (none named) to every chat and run. Without `live` no parts are delivered,
        only hints. Only on the loop."""
        ...

    def listen_for_settings(self) -> Listener:
        """Listens for changes other than chats that all processes should re-read. Only on the loop."""
        ...

    async def close(self) -> None:
        """Sends what is waiting (for a second at most), ends every listener, leaves no task."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
