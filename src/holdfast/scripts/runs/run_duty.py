"""Workflow runs as a duty of a worker: takes those that nobody works on, within the limit, oldest first, and
drives each. Runs that nobody needs any more are cancelled, agents that outlived their run are stopped."""

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import suppress

import structlog
from typing_extensions import override

from holdfast.chats.commands import Stop
from holdfast.core.errors import HoldfastError
from holdfast.core.events import BusEvent, Hint, Reread, RunHint
from holdfast.core.ids import RunId
from holdfast.duties.duty import Chore, LeasedDuty
from holdfast.scripts.runs.run_driver import RunDriver, RunResources
from holdfast.scripts.runs.run_notices import tell_chats
from holdfast.scripts.runs.run_start import Runs
from holdfast.store import runs
from holdfast.telemetry.crashes import Crashes
from holdfast.worker.chat_duty import ChatDuty

log = structlog.get_logger(__name__)

SWEPT_AT_ONCE = 100


class RunDuty(LeasedDuty[RunId, RunDriver]):
    def __init__(
        self, resources: RunResources, commands: Runs, chats: ChatDuty, crashes: Crashes | None = None
    ) -> None:
        """`chats`: the duty of the same worker that runs the agents."""
        super().__init__("run", crashes)
        self._resources = resources
        self._commands = commands
        self._chats = chats
        # A chat may have something to hear of a run.
        self._untold = asyncio.Event()
        # Whether we may hold a run that we do not drive.
        self._dropped = False

    @property
    @override
    def poll_seconds(self) -> float:
        return self._resources.settings().poll_seconds

    @override
    async def take(self) -> bool:
        store = self._resources.store
        free = self._resources.settings().max_runs - len(self.held)
        if free <= 0 or not (self._dropped or await store.read(runs.wanted())):
            return False
        self._dropped = False
        for run in await store.write(runs.acquire(self.lease.worker_id, free)):
            if run.id not in self.held:
                self.start(run.id, RunDriver(run, self._resources, self._chats.agent_starts))
        return False

    @override
    async def work(self, held: RunDriver) -> None:
        await self._attend(held, held.drive())

    async def _attend(self, held: RunDriver, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception:
            # Not even its failure could be written: perhaps it can be later.
            log.exception("run dropped", run_id=held.run.id)
            await asyncio.sleep(self.poll_seconds)
            self._dropped = True

    @override
    async def set_aside(self, held: RunDriver, reason: str) -> None:
        await self._attend(held, held.set_aside(reason))

    @override
    async def look(self) -> None:
        """Runs that were cancelled, or that somebody else has: they end here at once."""
        before = dict(self.held)
        ours = await self._resources.store.read(runs.standing(self.lease.worker_id))
        for run_id, driver in before.items():
            if run_id not in ours:
                self.drop(run_id, driver)

    @override
    def hear(self, event: BusEvent) -> None:
        match event:
            case Hint(chat_id=chat_id, status=status):
                for driver in self.held.values():
                    driver.hear(chat_id, status)
            case RunHint(run_id=run_id, version=version, wanted=wanted, over=over):
                driver = self.held.get(run_id)
                if wanted or over:
                    self._untold.set()
                if wanted:
                    self.wake()
                elif driver is not None and version > driver.version:
                    self.look_soon()
            case Reread():
                self.wake()
                self.look_soon()
                for driver in self.held.values():
                    driver.wake()
            case _:
                pass

    @override
    def chores(self) -> Sequence[Chore]:
        return (
            Chore(seconds=self.poll_seconds, work=self._sweep),
            Chore(seconds=self.poll_seconds, work=self._tell_chats, sooner=self._untold),
        )

    @override
    async def close(self) -> None:
        """Others need not wait for the lease to expire."""
        await self._resources.sandboxes.close()
        with suppress(HoldfastError):
            await self._resources.store.write(runs.release(self.lease.worker_id))

    async def _tell_chats(self) -> bool:
        return await tell_chats(self._resources.store)

    async def _sweep(self) -> bool:
        """Runs that nobody needs any more, and agents that outlived their run."""
        store = self._resources.store
        unwanted, left_over = await store.read(runs.unwanted(SWEPT_AT_ONCE), runs.left_over(SWEPT_AT_ONCE))
        for run_id in unwanted:
            await self._commands.cancel(run_id)
        for chat_id in left_over:
            await store.transition(chat_id, Stop())
        return False
