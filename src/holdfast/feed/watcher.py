"""One connection's side of a feed: what it is given to send, and how it ends. A watcher first reads what it
missed, at its own pace, and then the log that all watchers of the same thing share."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import Protocol, Self

from holdfast.core.feed_events import Closing, ClosingReason
from holdfast.core.shapes import encode
from holdfast.feed.cursor import Position
from holdfast.feed.frames import Batch, Frame
from holdfast.feed.limits import LIMITS, FeedLimits
from holdfast.feed.log import FrameLog


class WatchedSource(Protocol):
    """What a watcher needs of the thing it watches; see `FeedSource`."""

    async def catch_up(self, watcher: "Watcher") -> None: ...

    def leave(self, watcher: "Watcher") -> None: ...


class Watcher:
    """`label` identifies the credential by which it watches: see `Hub.cut`."""

    def __init__(
        self,
        source: WatchedSource,
        *,
        about: str,
        label: object = None,
        spans: bool = True,
        limits: FeedLimits = LIMITS,
    ) -> None:
        self.about = about
        self.label = label
        self.spans = spans
        self.at = 0
        self.ending: ClosingReason | None = None
        # Called once, when it ends for another reason than its client leaving.
        self.when_ended: Callable[[], None] | None = None
        self.source = source
        self._limits = limits
        # The log that it reads, and the callback for continuing elsewhere when the log ends for it.
        self._log: FrameLog | None = None
        self._go_back: GoBack | None = None
        self._ready: deque[Batch] = deque()
        self._waiter: asyncio.Future[None] | None = None
        # For how many polls it has been sending the same batch; None: it waits for one.
        self._sending: int | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Batch:
        self._sending = None
        batch = self._next()
        while batch is None:
            if self.ending is not None:
                raise StopAsyncIteration
            if self._log is not None:
                await self.sleep()
            else:
                await self.source.catch_up(self)
            batch = self._next()
        self._sending = 0
        return batch

    def _next(self) -> Batch | None:
        if self._ready:
            return self._ready.popleft()
        while self._log is not None:
            batch = self._log.take(self)
            if batch is None:
                return None
            if batch.leave is not None and self._go_back is not None:
                self._leave_log()
                self._go_back(self, batch.leave)
            if batch.frames:
                return batch
        return None

    # --- for the thing that is watched ---

    def give(self, frames: Iterable[Frame]) -> None:
        """To be sent before anything from the log."""
        if self.ending is not None:
            return
        some: list[Frame] = []
        size = 0
        for frame in frames:
            if frame.event == "span" and not self.spans:
                continue
            if some and size + frame.size > self._limits.batch_bytes:
                self._ready.append(Batch(some))
                some, size = [], 0
            some.append(frame)
            size += frame.size
        if some:
            self._ready.append(Batch(some))
        self.wake()

    def enter_log(self, log: FrameLog, go_back: "GoBack | None" = None) -> None:
        """From now on it reads what everybody reads. `go_back`: for a log that may send its readers away, to
        read for themselves from some position."""
        if self.ending is not None:
            return
        self._log, self._go_back = log, go_back
        log.enter(self)
        self.wake()

    def _leave_log(self) -> None:
        if self._log is not None:
            self._log.leave(self)
            self._log = None

    @property
    def sleeps(self) -> bool:
        """It has read everything it was given."""
        return self._waiter is not None

    async def sleep(self) -> None:
        """Waits until somebody wakes it."""
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # --- the end ---

    def end(self, ending: ClosingReason) -> None:
        """It is told so, if it reads at all, and is sent nothing else."""
        if self.ending is not None:
            return
        self.ending = ending
        self._leave_log()
        self._ready.clear()
        if ending != "slow":
            self._ready.append(Batch([Frame("closing", "", encode(Closing(reason=ending)))]))
        self.wake()
        if self.when_ended is not None:
            self.when_ended()

    def fall_behind(self) -> None:
        self.end("slow")

    def look(self) -> None:
        """Called by every poll: a client that has been receiving the same batch for long is considered
        gone."""
        if self._sending is None:
            return
        self._sending += 1
        if self._sending * self._limits.poll_seconds > self._limits.send_seconds:
            self.end("slow")


GoBack = Callable[[Watcher, Position], None]
