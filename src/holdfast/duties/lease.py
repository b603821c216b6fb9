"""The lease of this process, renewed from a thread with its own connection so that a busy loop does not lose
it. `fresh` is checked directly before every effect: it compares clocks and never waits."""

import asyncio
import threading
from collections.abc import Callable

import structlog

from holdfast.core.clock import Clock
from holdfast.core.errors import TryAgain
from holdfast.core.ids import WorkerId
from holdfast.store.interface import Store

log = structlog.get_logger(__name__)

# Renewed three times in its lifetime; given up when two renewals failed, before anybody else may take over.
RENEWALS = 3
# Where others can see that a process is gone (PostgreSQL), they do not wait for its lease to expire. So it is
# renewed at least this often, and nothing is started on a renewal that is older than the time others wait
# (see `store.postgres.presence`).
RENEW_SECONDS = 2.5
SURE_SECONDS = 4.0
RETRY_SECONDS = 0.5
# How often the thread looks at the clock: a system timer may not count the time a laptop slept.
LOOK_SECONDS = 0.5
DOUBT_SECONDS = 0.02
# A renewal that is later than this, in periods, is treated as a failing one.
STEADY_PERIODS = 1.75


class LeaseRenewal:
    """`lost` is called once, on the loop, when the lease could not be kept. `registered_at` is a clock
    reading from before the worker was registered."""

    def __init__(
        self,
        store: Store,
        worker_id: WorkerId,
        lease_seconds: float,
        clock: Clock,
        lost: Callable[[], None],
        *,
        registered_at: float | None = None,
    ) -> None:
        self._store = store
        self.worker_id = worker_id
        self.seconds = lease_seconds
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._lost = lost
        self._renewed_at = clock.elapsed() if registered_at is None else registered_at
        self._kept_seconds = lease_seconds * 2 / RENEWALS
        self._period, self._sure_seconds = lease_seconds / RENEWALS, self._kept_seconds
        if store.engine == "postgres":
            self._period = min(self._period, RENEW_SECONDS)
            self._sure_seconds = min(self._sure_seconds, SURE_SECONDS)
        # Whether the last renewal got no answer.
        self._failing = False
        self._over = False
        self._told = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="holdfast-lease", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stops renewing. The worker is about to retire, and other workers may take what it had."""
        self._over = True
        self._stop.set()

    async def join(self) -> None:
        # Polled, not joined in a thread: the machine may have no thread to spare, and the worker has to start
        # again all the same.
        while self._thread.is_alive():  # noqa: ASYNC110
            await asyncio.sleep(DOUBT_SECONDS)

    @property
    def fresh(self) -> bool:
        """Whether it is certain that nobody else can own this worker's chats yet, whatever happened to its
        connection."""
        return not self._over and self._age < self._sure_seconds

    @property
    def steady(self) -> bool:
        """Whether renewals currently succeed. Chats are taken only then: after a database crash a worker that
        still has a lease may be about to lose it, and would lose what it took."""
        return not self._failing and self.fresh and self._age < self._period * STEADY_PERIODS

    @property
    def _kept(self) -> bool:
        """Whether the lease has not been given up yet. Work that runs may go on: a renewal may still
        succeed."""
        return not self._over and self._age < self._kept_seconds

    @property
    def _age(self) -> float:
        return self._clock.elapsed() - self._renewed_at

    @property
    def over(self) -> bool:
        """Whether it was given up, permanently."""
        return self._over

    async def until_fresh(self) -> bool:
        """Waits out a moment of doubt (the process was frozen, a renewal is late). False: the lease is
        lost."""
        while not self.fresh:
            if self._over:
                return False
            await asyncio.sleep(DOUBT_SECONDS)
        return True

    def until_fresh_in_thread(self) -> bool:
        """The same for a thread, which may block."""
        while not self.fresh:
            if self._over or self._stop.wait(DOUBT_SECONDS):
                return False
        return True

    async def watch(self) -> None:
        """On the loop, forever: gives the lease up when a renewal hangs, because the renewal itself reports
        that too late. After a freeze it waits for the answer first, like `until_fresh`."""
        loop, patience = self._loop, self._period / 4
        doubtful_at: float | None = None
        while True:
            await asyncio.sleep(min(LOOK_SECONDS, patience / 4))
            if self._kept or self._over:
                doubtful_at = None
            elif doubtful_at is None:
                doubtful_at = loop.time()
            elif loop.time() - doubtful_at > patience:
                self._give_up()

    def _keep(self) -> None:
        period = self._period
        next_at = self._renewed_at + period
        while not self._stop.wait(min(LOOK_SECONDS, period / 4)):
            if self._clock.elapsed() < next_at:
                continue
            # Always ask, however late it is: the database decides whether the lease is still ours.
            if self._renew():
                next_at = self._renewed_at + period
            elif self._kept:
                next_at = self._clock.elapsed() + min(RETRY_SECONDS, period / 4)
            else:
                self._give_up()
                return

    def _renew(self) -> bool:
        # Taken before the query: the answer may have taken long.
        asked_at = self._clock.elapsed()
        try:
            kept = self._store.renew(self.worker_id, self.seconds)
        except TryAgain as error:
            self._failing = True
            log.warning("lease not renewed", worker_id=self.worker_id, reason=error.text)
            return False
        except Exception:
            self._failing = True
            # If the thread died of it, the worker would neither work nor stop.
            log.exception("lease not renewed", worker_id=self.worker_id)
            return False
        if kept:
            self._renewed_at, self._failing = asked_at, False
        else:
            self._over = True
        return kept

    def _give_up(self) -> None:
        self._over = True
        if self._told:
            return
        self._told = True
        log.error("lease lost", worker_id=self.worker_id)
        try:
            self._loop.call_soon_threadsafe(self._lost)
        except RuntimeError:
            pass  # the loop is closed: there is nothing left to stop
