"""Flow runs as a duty of a worker: takes runs without an owner and those that are due, and drives each.
Runs that no caller waits for any more are cancelled; agents that outlived their run are stopped."""

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import suppress

import structlog
from typing_extensions import override

from holdfast.chats.commands import Stop
from holdfast.core.errors import HoldfastError
from holdfast.core.events import BusEvent, Hint, Reread, RunHint
from holdfast.core.ids import FlowRunId, RunId
from holdfast.duties.duty import Chore, LeasedDuty
from holdfast.flows.runs.driven_run import FlowResources
from holdfast.flows.runs.flow_driver import FlowDriver
from holdfast.store import flow_runs
from holdfast.telemetry.crashes import Crashes
from holdfast.worker.chat_duty import ChatDuty

log = structlog.get_logger(__name__)

SWEPT_AT_ONCE = 100


class FlowDuty(LeasedDuty[FlowRunId, FlowDriver]):
    def __init__(self, resources: FlowResources, chats: ChatDuty, crashes: Crashes | None = None) -> None:
        """`chats`: the duty of the same worker that runs the agents."""
        super().__init__("flow_run", crashes)
        self._resources = resources
        self._chats = chats
        # Whether this worker may hold a run that it does not drive.
        self._dropped = False

    @property
    @override
    def poll_seconds(self) -> float:
        return self._resources.settings().poll_seconds

    @override
    async def take(self) -> bool:
        store = self._resources.store
        free = self._resources.settings().max_runs - len(self.held)
        if free <= 0 or not (self._dropped or await store.read(flow_runs.wanted())):
            return False
        self._dropped = False
        for run in await store.write(flow_runs.acquire(self.lease.worker_id, free)):
            if run.id not in self.held:
                self.start(run.id, FlowDriver(run, self._resources, self._chats.agent_starts))
        return False

    @override
    async def work(self, held: FlowDriver) -> None:
        await self._attend(held, held.drive())

    @override
    async def set_aside(self, held: FlowDriver, reason: str) -> None:
        await self._attend(held, held.fail(reason))

    async def _attend(self, held: FlowDriver, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception:
            # Not even the failure could be written; it may work later.
            log.exception("flow run dropped", run_id=held.run_id)
            await asyncio.sleep(self.poll_seconds)
            self._dropped = True

    @override
    async def look(self) -> None:
        """Stops driving runs that were cancelled or have another owner."""
        before = dict(self.held)
        ours = await self._resources.store.read(flow_runs.standing(self.lease.worker_id))
        for run_id, driver in before.items():
            if run_id not in ours:
                self.drop(run_id, driver)
            else:
                driver.hear_run(RunId(run_id), ours[run_id], over=False)

    @override
    def hear(self, event: BusEvent) -> None:
        match event:
            case Hint(chat_id=chat_id, status=status):
                for driver in self.held.values():
                    driver.hear(chat_id, status)
            case RunHint(run_id=run_id, version=version, wanted=wanted, over=over):
                for driver in self.held.values():
                    driver.hear_run(run_id, version, over)
                if wanted:
                    self.wake()
                elif over and FlowRunId(run_id) in self.held:
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
        return (Chore(seconds=self.poll_seconds, work=self._sweep),)

    @override
    async def close(self) -> None:
        """So that others need not wait for the lease to expire."""
        with suppress(HoldfastError):
            await self._resources.store.write(flow_runs.release(self.lease.worker_id))

    async def _sweep(self) -> bool:
        """Cancels runs that no caller waits for, and stops agents that outlived their run."""
        store = self._resources.store
        unwanted, left_over = await store.read(
            flow_runs.unwanted(SWEPT_AT_ONCE), flow_runs.left_over(SWEPT_AT_ONCE)
        )
        for run_id in unwanted:
            await self._resources.commands.cancel(run_id)
        for chat_id in left_over:
            await store.transition(chat_id, Stop())
        return False
