"""The worker of a process: registers, keeps its lease, performs its duties under it, and hands over when it
stops. A lost lease ends all work; then the worker starts again with a new id."""

import asyncio
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, cast

import structlog

from holdfast.bus.interface import Bus
from holdfast.core.clock import Clock, SystemClock
from holdfast.core.errors import StoreClosed, TryAgain
from holdfast.core.ids import WorkerId
from holdfast.core.shortage import shortages_named
from holdfast.duties.duty import Chore, LeasedDuty, repeat
from holdfast.duties.lease import LeaseRenewal
from holdfast.store.interface import Store
from holdfast.telemetry.crashes import Crashes
from holdfast.telemetry.metrics import Metrics

log = structlog.get_logger(__name__)


class Worker:
    """A duty may use those before it in the list: runs hand agents to the duty of chats, never the reverse.
    So the last one is handed over first."""

    def __init__(
        self,
        duties: Sequence[LeasedDuty[Any, Any]],
        *,
        store: Store,
        bus: Bus,
        lease_seconds: Callable[[], float],
        metrics: Metrics | None = None,
        crashes: Crashes | None = None,
        clock: Clock | None = None,
    ) -> None:
        """`lease_seconds` is called for each new lease."""
        self._duties = tuple(duties)
        self._store = store
        self._bus = bus
        self._lease_seconds = lease_seconds
        self._metrics = metrics or Metrics()
        self._crashes = crashes
        self._clock = clock or SystemClock()
        # Set by `stop`, and when the lease is lost.
        self._over = asyncio.Event()
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Runs until `stop`."""
        try:
            while not self._stopping.is_set():
                await self._work_under_a_lease()
        except StoreClosed:
            log.info("worker stopped", reason="the store is closed")
        except BaseExceptionGroup as errors:
            first = _cause(errors)
            if not isinstance(first, StoreClosed):
                raise first from errors
            log.info("worker stopped", reason="the store is closed")

    def stop(self) -> None:
        """Nothing new is started from now on; `run` returns when everything has been handed over."""
        self._stopping.set()
        self._over.set()
        for duty in self._duties:
            duty.stop()

    @property
    def held(self) -> int:
        """How many things are being worked on."""
        return sum(len(duty.held) for duty in self._duties)

    async def _work_under_a_lease(self) -> None:
        seconds, registered_at = self._lease_seconds(), self._clock.elapsed()
        worker_id = await self._register(seconds)
        if worker_id is None:
            return
        if not self._stopping.is_set():
            self._over.clear()
        lease = LeaseRenewal(
            self._store, worker_id, seconds, self._clock, self._lose, registered_at=registered_at
        )
        try:
            with shortages_named():
                lease.start()
        except TryAgain as error:
            await self._register_later(error)
            with suppress(TryAgain):
                await self._store.retire(worker_id)
            return
        try:
            await self._perform_duties(lease)
        finally:
            lease.stop()
            await lease.join()
            with suppress(TryAgain), shortages_named():
                await self._store.retire(worker_id)

    async def _perform_duties(self, lease: LeaseRenewal) -> None:
        for duty in self._duties:
            duty.begin(lease)
        async with asyncio.TaskGroup() as group:
            performing = [(duty, group.create_task(duty.perform())) for duty in self._duties]
            upkeep = [
                group.create_task(self._listen()),
                group.create_task(lease.watch()),
                group.create_task(repeat(self._looking_for_the_dead(lease))),
            ]
            await self._over.wait()
            if not self._stopping.is_set():
                # The lease is lost: nothing continues while other tasks still clean up.
                for _, task in performing:
                    task.cancel()
            for duty, task in reversed(performing):
                if self._stopping.is_set():
                    await duty.hand_over()
                task.cancel()
                await asyncio.wait({task})
            for task in upkeep:
                task.cancel()

    async def _register(self, lease_seconds: float) -> WorkerId | None:
        """None if it was not possible; it may be later."""
        name = f"{socket.gethostname()}:{os.getpid()}"
        try:
            with shortages_named():
                return await self._store.register_worker(name, lease_seconds)
        except StoreClosed:
            raise
        except TryAgain as error:
            await self._register_later(error)
            return None

    async def _register_later(self, error: TryAgain) -> None:
        log.warning("worker not registered", reason=error.text)
        with suppress(TimeoutError):
            async with asyncio.timeout(error.after_seconds):
                await self._stopping.wait()

    def _lose(self) -> None:
        self._metrics.leases_lost.inc()
        self._over.set()

    async def _listen(self) -> None:
        """If no hint arrives any more, the polls find the changes."""
        async with self._bus.listen(live=False) as events:
            async for event in events:
                for duty in self._duties:
                    duty.hear(event)

    def _looking_for_the_dead(self, lease: LeaseRenewal) -> Chore:
        async def look() -> bool:
            if await self._store.bury_absent(lease.worker_id, lease.seconds):
                log.warning("a worker is gone", reason="its connection to the database has ended")
                if self._crashes is not None:
                    await self._crashes.look()
                for duty in self._duties:
                    duty.wake()
            return False

        return Chore(seconds=min(duty.poll_seconds for duty in self._duties), work=look)


def _cause(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error of a group, but a closed store before all others: they follow from it."""
    found = list(_each(errors))
    return next((error for error in found if isinstance(error, StoreClosed)), found[0])


def _each(errors: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in errors.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _each(cast(BaseExceptionGroup[BaseException], error))
        else:
            yield error
