"""One leased duty: takes what nobody works on, works on it under the worker's lease, looks whether it is
still ours, and lets it go. Generic in what is held; a kind of duty says how to take it, how to work on it and
how to tell what was lost. Woken by hints and by a poll, so that a lost hint only delays."""

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

# What something is known by, and what works on it in this process.
Key = TypeVar("Key", bound=str)
Held = TypeVar("Held")

# After an error that does not say how long to wait.
ERROR_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Chore:
    """Something to do again and again while the duty is performed. `work` says whether there is more to do at
    once; `sooner` wakes it before its time."""

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

    # --- what each kind says of itself ---

    @property
    @abstractmethod
    def poll_seconds(self) -> float: ...

    @abstractmethod
    async def take(self) -> bool:
        """Takes what nobody works on, as much as fits, and gives each to `start`. True: there may be more."""

    @abstractmethod
    async def work(self, held: Held) -> None:
        """Until it rests or is not ours. Cancelled, it leaves everything to whoever comes next."""

    @abstractmethod
    async def set_aside(self, held: Held, reason: str) -> None:
        """Ends it without working on it: the server died of it too often."""

    @abstractmethod
    async def look(self) -> None:
        """What became of the things held, in case no hint said so: `drop` what is not ours any more."""

    @abstractmethod
    def hear(self, event: BusEvent) -> None:
        """Something moved. Never waits."""

    def begin(self, lease: LeaseRenewal) -> None:
        """From here on things are held under this lease."""
        self._lease = lease

    def chores(self) -> Sequence[Chore]:
        return ()

    def let_go(self) -> None:
        """Something held has ended: its place is free."""
        self.wake()

    async def hand_over(self) -> None:
        """The worker stops and keeps its lease meanwhile: what has to be brought to an end first."""

    async def settle(self) -> None:
        """Nothing is taken any more: waits for what is just being started."""

    async def close(self) -> None:
        """Nothing is worked on any more."""

    # --- what they share ---

    @property
    def lease(self) -> LeaseRenewal:
        if self._lease is None:
            raise Bug(f"a {self.kind} is worked on without a lease")
        return self._lease

    def wake(self) -> None:
        """There may be something to take."""
        self._wanted.set()

    def look_soon(self) -> None:
        """Something held may not be ours any more."""
        self._look_again.set()

    def stop(self) -> None:
        """Nothing new is taken from here on."""
        self.stopping = True
        self.wake()

    async def perform(self) -> None:
        """Until it is cancelled. When this returns, nothing is worked on."""
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
        """Works on something that is ours."""
        before = self._tasks.get(key)
        self.held[key] = held
        work = self._work(key, held, before)
        if self._crashes is not None:
            work = self._crashes.executing(Duty(self.kind, key), work)
        self._tasks[key] = self.spawn(work, f"{self.kind} {key}")

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Something that ends with the duty at the latest."""
        if self._works is None:
            raise Bug(f"a {self.kind} is worked on before its duty is performed")
        return self._works.create_task(work, name=name)

    def drop(self, key: Key, held: Held) -> None:
        """It is not ours any more: its work ends at once."""
        task = self._tasks.get(key)
        if self.held.get(key) is held and task is not None and not task.cancelling():
            task.cancel()

    async def ended(self, timeout_seconds: float) -> None:
        """Waits until nothing is worked on, or so long."""
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=timeout_seconds)

    async def taken(self, timeout_seconds: float) -> None:
        """After `stop`: waits until what is just being taken is started, or so long."""
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
                # We had it a moment ago and are still putting things away.
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
    """For ever: at once while there is more, else after its time, or sooner."""
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
