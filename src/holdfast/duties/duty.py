"""The base class of what a worker holds by lease: chats, workflow runs, flow runs. It takes what nobody works
on, works on it under the lease of the worker, checks whether it is still ours, and lets it go. A subclass
says how to take it, how to work on it and how to find out what was lost. Hints and a poll wake it, so a lost
hint only causes a delay."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import structlog

from holdfast.core.errors import Bug, HoldfastError, StoreClosed, TryAgain
from holdfast.core.events import BusEvent
from holdfast.core.shortage import shortages_named
from holdfast.duties.lease import LeaseRenewal
from holdfast.telemetry.crash_marks import Duty, DutyKind
from holdfast.telemetry.crashes import Crashes

log = structlog.get_logger(__name__)

# The id of a thing, and the object that works on it in this process.
Key = TypeVar("Key", bound=str)
Held = TypeVar("Held")

# After an error that does not say how long to wait.
ERROR_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Chore:
    """Something to do repeatedly while the duty is performed. `work` says whether there is more to do at
    once; `sooner` wakes it early."""

    seconds: float
    work: Callable[[], Awaitable[bool]]
    sooner: asyncio.Event | None = None


class LeasedDuty(ABC, Generic[Key, Held]):
    def __init__(self, kind: DutyKind, crashes: Crashes | None = None) -> None:
        self.kind: DutyKind = kind
        self._crashes = crashes
        self.held: dict[Key, Held] = {}
        self.stopping = False
        self._lease: LeaseRenewal | None = None
        self._tasks: dict[Key, asyncio.Task[None]] = {}
        self._works: asyncio.TaskGroup | None = None
        self._taking: asyncio.Task[None] | None = None
        self._wanted = asyncio.Event()
        self._look_again = asyncio.Event()

    # --- defined by each kind ---

    @property
    @abstractmethod
    def poll_seconds(self) -> float: ...

    @abstractmethod
    async def take(self) -> bool:
        """Takes things that nobody works on, as many as fit, and passes each to `start`. True: there may be
        more."""

    @abstractmethod
    async def work(self, held: Held) -> None:
        """Works until the thing is at rest or no longer ours. If cancelled, it leaves everything to the next
        owner."""

    @abstractmethod
    async def set_aside(self, held: Held, reason: str) -> None:
        """Ends it without working on it, because the server crashed while working on it too often."""

    @abstractmethod
    async def look(self) -> None:
        """Checks the things held, in case hints were lost: `drop` those that are no longer ours."""

    @abstractmethod
    def hear(self, event: BusEvent) -> None:
        """Something changed. Never waits."""

    def begin(self, lease: LeaseRenewal) -> None:
        """From now on things are held under this lease."""
        self._lease = lease

    def chores(self) -> Sequence[Chore]:
        return ()

    def let_go(self) -> None:
        """Something held has ended: its slot is free."""
        self.wake()

    async def hand_over(self) -> None:
        """The worker stops, still holding its lease: finishes what must be finished first."""

    async def settle(self) -> None:
        """Called when nothing is taken any more. Waits until everything that is just being created has
        started."""

    async def close(self) -> None:
        """Nothing is being worked on any more."""

    # --- shared by all kinds ---

    @property
    def lease(self) -> LeaseRenewal:
        if self._lease is None:
            raise Bug(f"a {self.kind} is worked on without a lease")
        return self._lease

    def wake(self) -> None:
        """There may be something to take."""
        self._wanted.set()

    def look_soon(self) -> None:
        """Something held may no longer be ours."""
        self._look_again.set()

    def stop(self) -> None:
        """Nothing new is taken from now on."""
        self.stopping = True
        self.wake()

    async def perform(self) -> None:
        """Runs until it is cancelled. When this returns, nothing is being worked on."""
        try:
            async with asyncio.TaskGroup() as self._works:
                try:
                    async with asyncio.TaskGroup() as loops:
                        self._taking = loops.create_task(self._take_until_stopped())
                        looking = Chore(
                            seconds=self.poll_seconds, work=self._look_at_held, sooner=self._look_again
                        )
                        for chore in (looking, *self.chores()):
                            loops.create_task(repeat(chore))
                finally:
                    await self.settle()
        finally:
            self.held.clear()
            self._tasks.clear()
            await self.close()

    def start(self, key: Key, held: Held) -> None:
        """Works on a thing that is ours."""
        before = self._tasks.get(key)
        self.held[key] = held
        work = self._work(key, held, before)
        if self._crashes is not None:
            work = self._crashes.executing(Duty(self.kind, key), work)
        self._tasks[key] = self.spawn(work, f"{self.kind} {key}")

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Starts a task that ends no later than the duty."""
        if self._works is None:
            raise Bug(f"a {self.kind} is worked on before its duty is performed")
        return self._works.create_task(work, name=name)

    def drop(self, key: Key, held: Held) -> None:
        """It is no longer ours: its work is cancelled at once."""
        task = self._tasks.get(key)
        if self.held.get(key) is held and task is not None and not task.cancelling():
            task.cancel()

    async def ended(self, timeout_seconds: float) -> None:
        """Waits until nothing is being worked on, or for this long."""
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=timeout_seconds)

    async def taken(self, timeout_seconds: float) -> None:
        """After `stop`: waits until what is just being taken has been started, or for this long."""
        if self._taking is not None:
            await asyncio.wait({self._taking}, timeout=timeout_seconds)

    async def _take_until_stopped(self) -> None:
        while not self.stopping:
            self._wanted.clear()
            try:
                with shortages_named():
                    more = await self.take() if self.lease.steady else False
            except StoreClosed:
                raise
            except HoldfastError as error:
                log.warning("nothing taken", duty=self.kind, reason=error.text, code=error.code)
                await asyncio.sleep(error.after_seconds if isinstance(error, TryAgain) else ERROR_SECONDS)
                continue
            if not more:
                await _wait(self._wanted, self.poll_seconds)

    async def _look_at_held(self) -> bool:
        if self.held:
            await self.look()
        return False

    async def _work(self, key: Key, held: Held, before: asyncio.Task[None] | None) -> None:
        try:
            if before is not None:
                # We had it a moment ago and are still cleaning up.
                await asyncio.wait({before})
            if not await self._is_set_aside(key, held):
                await self.work(held)
        except Exception:
            log.exception("work ended by a fault", duty=self.kind, key=key)
        finally:
            if self.held.get(key) is held:
                del self.held[key], self._tasks[key]
                self.let_go()

    async def _is_set_aside(self, key: Key, held: Held) -> bool:
        crashes, duty = self._crashes, Duty(self.kind, key)
        reason = None if crashes is None else crashes.verdict(duty)
        if crashes is None or reason is None:
            return False
        await self.set_aside(held, reason)
        await crashes.forget(duty)
        return True


async def repeat(chore: Chore) -> None:
    """Forever: at once while there is more, else after its interval, or sooner."""
    sooner = chore.sooner or asyncio.Event()
    while True:
        sooner.clear()
        try:
            with shortages_named():
                more = await chore.work()
        except StoreClosed:
            raise
        except HoldfastError as error:
            log.warning("upkeep put off", reason=error.text, code=error.code)
            more = False
        if not more:
            await _wait(sooner, chore.seconds)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
