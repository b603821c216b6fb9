"""Keeps runs going in this process: takes those that nobody works on, within the limit, drives each, and lets
go of those that are not its own any more. Woken by hints and by a poll, so that a lost hint only delays."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

from holdfast.bus.interface import Bus
from holdfast.chats.commands import Stop
from holdfast.core.errors import HoldfastError, StoreClosed
from holdfast.core.events import Hint, Reread, RunHint
from holdfast.core.ids import RunId, WorkerId
from holdfast.core.runs import Run
from holdfast.scripts.runs.agents import Hands
from holdfast.scripts.runs.conductor import Conductor, Means
from holdfast.scripts.runs.starting import Runs, hint_of
from holdfast.store import runs

log = structlog.get_logger(__name__)

SWEPT_AT_ONCE = 100


class RunKeeper:
    """What a worker does beside its chats: `work` under its lease, until it is cancelled."""

    def __init__(self, bus: Bus, means: Means, commands: Runs) -> None:
        self._bus = bus
        self._means = means
        self._commands = commands
        self._conductors: dict[RunId, Conductor] = {}
        self._tasks: dict[RunId, asyncio.Task[None]] = {}
        self._wanted = asyncio.Event()
        self._look_again = asyncio.Event()
        # Whether we may hold a run that we do not drive.
        self._dropped = False

    async def work(self, worker_id: WorkerId, hands: Hands) -> None:
        upkeep = (
            self._listen(),
            self._every(lambda: self._acquire(worker_id, hands), self._wanted),
            self._every(lambda: self._watch(worker_id), self._look_again),
            self._every(self._sweep, asyncio.Event()),
        )
        tasks = [asyncio.create_task(work) for work in upkeep]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            await _cancel([*tasks, *self._tasks.values()])
            self._tasks.clear()
            self._conductors.clear()
            await self._means.sandboxes.close()
            await self._release(worker_id)

    async def _release(self, worker_id: WorkerId) -> None:
        """Others need not wait for the lease to run out."""
        with suppress(HoldfastError):
            for hint in await self._means.store.write(runs.release(worker_id)):
                self._means.publish(hint)

    async def _listen(self) -> None:
        async with self._bus.listen(live=False) as events:
            async for event in events:
                match event:
                    case Hint(chat_id=chat_id, status=status):
                        for conductor in self._conductors.values():
                            conductor.hear(chat_id, status)
                    case RunHint(run_id=run_id, version=version, wanted=wanted):
                        conductor = self._conductors.get(run_id)
                        if wanted:
                            self._wanted.set()
                        elif conductor is not None and version > conductor.version:
                            self._look_again.set()
                    case Reread():
                        self._wanted.set()
                        self._look_again.set()
                        for conductor in self._conductors.values():
                            conductor.wake()
                    case _:
                        pass
        # Nobody tells us anything any more: the polls find it.
        await asyncio.Event().wait()

    async def _acquire(self, worker_id: WorkerId, hands: Hands) -> None:
        store = self._means.store
        free = self._means.settings().max_runs - len(self._tasks)
        if free <= 0 or not (self._dropped or await store.read(runs.wanted())):
            return
        self._dropped = False
        for run in await store.write(runs.acquire(worker_id, free)):
            if run.id not in self._tasks:
                self._start(run, hands)

    def _start(self, run: Run, hands: Hands) -> None:
        conductor = self._conductors[run.id] = Conductor(run, self._means, hands)
        self._tasks[run.id] = asyncio.create_task(self._drive(conductor), name=f"run {run.id}")
        self._means.publish(hint_of(run))

    async def _drive(self, conductor: Conductor) -> None:
        run_id = conductor.run.id
        try:
            await conductor.conduct()
        except Exception:
            # Not even its failure could be written: perhaps it can be later.
            log.exception("run dropped", run_id=run_id)
            await asyncio.sleep(self._means.settings().poll_seconds)
            self._dropped = True
        finally:
            if self._conductors.get(run_id) is conductor:
                del self._conductors[run_id], self._tasks[run_id]
                self._wanted.set()

    async def _watch(self, worker_id: WorkerId) -> None:
        """Runs that were cancelled, or that somebody else has: they end here at once."""
        if not self._tasks:
            return
        before = dict(self._tasks)
        ours = await self._means.store.read(runs.standing(worker_id))
        for run_id, task in before.items():
            if run_id not in ours and self._tasks.get(run_id) is task and not task.cancelling():
                task.cancel()

    async def _sweep(self) -> None:
        """Runs that nobody wants any more, and agents that outlived their run."""
        store = self._means.store
        unwanted, left_over = await store.read(runs.unwanted(SWEPT_AT_ONCE), runs.left_over(SWEPT_AT_ONCE))
        for run_id in unwanted:
            await self._commands.cancel(run_id)
        for chat_id in left_over:
            await store.transition(chat_id, Stop())

    async def _every(self, work: Callable[[], Awaitable[None]], sooner: asyncio.Event) -> None:
        while True:
            sooner.clear()
            try:
                await work()
            except StoreClosed:
                raise
            except HoldfastError as error:
                log.warning("upkeep of runs put off", reason=error.text, code=error.code)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._means.settings().poll_seconds):
                    await sooner.wait()


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
