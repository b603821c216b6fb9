"""The worker of a process: takes chats that are wanted, runs them, keeps their lease, and hands them over
when it stops. Woken by hints and by a poll, so that a lost hint only delays."""

import asyncio
import os
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Protocol

import structlog

from holdfast.bus.interface import Bus
from holdfast.chats.view import View
from holdfast.core.clock import Clock, SystemClock
from holdfast.core.errors import HoldfastError, StoreClosed, TryAgain
from holdfast.core.events import Hint, Repeat, Reread
from holdfast.core.ids import ChatId, Ids, RandomIds, UserId, WorkerId
from holdfast.files.kept import Files
from holdfast.store.hints import owned as owned_by
from holdfast.store.interface import Store
from holdfast.store.sweep import sweep
from holdfast.telemetry.metrics import Metrics
from holdfast.tools.family import Isolation
from holdfast.tools.registry import Registry
from holdfast.worker.deliveries import tell_parents
from holdfast.worker.hands import Founded, Hands
from holdfast.worker.lease import LeaseKeeper
from holdfast.worker.models import Models
from holdfast.worker.owned import OwnedChat, Texts
from holdfast.worker.run import Run, Surroundings
from holdfast.worker.runner import Runner
from holdfast.worker.settings import WorkerSettings
from holdfast.worker.titles import describe

log = structlog.get_logger(__name__)

INDEX_SECONDS = 1.0
# So long may taking chats still take when the worker stops.
HAND_OVER_SECONDS = 1.0


class Beside(Protocol):
    """What else is done under the lease of this worker."""

    async def work(self, worker_id: WorkerId, hands: Hands) -> None:
        """Until it is cancelled; whatever it held is free then."""
        ...


class Worker:
    def __init__(
        self,
        *,
        store: Store,
        bus: Bus,
        models: Models,
        tools: Registry,
        settings: WorkerSettings | None = None,
        metrics: Metrics | None = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
        surroundings: Surroundings | None = None,
        files: Files | None = None,
        isolation: Isolation | None = None,
        beside: Beside | None = None,
    ) -> None:
        self._store = store
        self._bus = bus
        self._models = models
        self._tools = tools
        self._settings = settings or WorkerSettings()
        self._metrics = metrics or Metrics()
        self._clock = clock or SystemClock()
        self._ids = ids or RandomIds()
        self._surroundings = surroundings
        self._files = files
        self._isolation = isolation
        self._beside = beside
        self._runners: dict[ChatId, Runner] = {}
        self._tasks: dict[ChatId, asyncio.Task[None]] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._wanted = asyncio.Event()
        # Whether chats may wait for a place: else nobody comes when one is free.
        self._crowded = True
        self._look_again = asyncio.Event()
        self._untold = asyncio.Event()
        self._lease_lost = asyncio.Event()
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Until `stop`. A lost lease ends all work; then the worker begins anew under another name."""
        try:
            while not self._stopping.is_set():
                await self._run_under_a_lease()
        except StoreClosed:
            log.info("worker stopped", reason="the store is closed")

    def stop(self) -> None:
        """Nothing new is begun from here on; `run` returns when everything is handed over."""
        self._stopping.set()
        self._wanted.set()
        for runner in self._runners.values():
            runner.run.stopping = True

    def use(self, settings: WorkerSettings) -> None:
        """For chats that are taken from now on; the lease stays as it was given."""
        self._settings = settings

    @property
    def chats(self) -> int:
        """How many chats are being run."""
        return len(self._tasks)

    # --- the life of a lease ---

    async def _run_under_a_lease(self) -> None:
        settings = self._settings
        registered_at = self._clock.elapsed()
        worker_id = await self._register()
        if worker_id is None:
            return
        self._lease_lost.clear()
        lease = LeaseKeeper(
            self._store,
            worker_id,
            settings.lease_seconds,
            self._clock,
            self._lose,
            registered_at=registered_at,
        )
        lease.start()
        acquiring = asyncio.create_task(self._acquire(worker_id, lease))
        upkeep = [
            asyncio.create_task(self._listen()),
            acquiring,
            asyncio.create_task(self._watch(worker_id)),
            asyncio.create_task(lease.watch()),
            asyncio.create_task(self._every(settings.poll_seconds, self._sweep)),
            asyncio.create_task(self._every(settings.poll_seconds, self._tell, self._untold)),
            asyncio.create_task(self._every(INDEX_SECONDS, self._index)),
        ]
        hands = Hands(
            worker_id,
            settings.lease_seconds,
            store=self._store,
            clock=self._clock,
            surroundings=self._surroundings,
            room=self._room,
            start=lambda view, founded: self._adopt(view, lease, founded),
        )
        beside: list[asyncio.Task[None]] = []
        if self._beside is not None:
            beside = [asyncio.create_task(self._beside.work(worker_id, hands))]
        upkeep += beside
        ends = [asyncio.create_task(self._stopping.wait()), asyncio.create_task(self._lease_lost.wait())]
        try:
            await asyncio.wait([*ends, *upkeep], return_when=asyncio.FIRST_COMPLETED)
            for task in upkeep:
                if task.done():
                    task.result()
            if self._stopping.is_set():
                # First those who would start more chats.
                await _cancel(beside)
                await hands.settle(HAND_OVER_SECONDS)
                # What it is just taking is started, and handed over with the rest.
                await asyncio.wait({acquiring}, timeout=HAND_OVER_SECONDS)
                await self._hand_over()
        finally:
            await _cancel([*ends, *upkeep])
            await hands.close(HAND_OVER_SECONDS)
            await _cancel([*self._tasks.values(), *self._background])
            self._runners.clear()
            self._tasks.clear()
            lease.stop()
            await lease.join()
            with suppress(TryAgain):
                await self._store.retire(worker_id)

    async def _register(self) -> WorkerId | None:
        """None when it was not possible: after a while it may be."""
        name = f"{socket.gethostname()}:{os.getpid()}"
        try:
            return await self._store.register_worker(name, self._settings.lease_seconds)
        except StoreClosed:
            raise
        except TryAgain as error:
            log.warning("worker not registered", reason=error.text)
            with suppress(TimeoutError):
                async with asyncio.timeout(error.after_seconds):
                    await self._stopping.wait()
            return None

    def _lose(self) -> None:
        self._metrics.leases_lost.inc()
        self._lease_lost.set()

    async def _hand_over(self) -> None:
        """Everybody at once: what runs no call ends now, the others within the grace."""
        grace = self._settings.grace_seconds
        runners, tasks = list(self._runners.values()), list(self._tasks.values())
        await asyncio.gather(*(runner.hand_over(grace) for runner in runners))
        if tasks:
            await asyncio.wait(tasks, timeout=self._settings.cancel_seconds * 2)

    # --- chats ---

    async def _acquire(self, worker_id: WorkerId, lease: LeaseKeeper) -> None:
        while not self._stopping.is_set():
            self._wanted.clear()
            try:
                views = await self._take(worker_id) if lease.fresh else []
            except StoreClosed:
                raise
            except HoldfastError as error:
                log.warning("no chats acquired", reason=error.text, code=error.code)
                await asyncio.sleep(error.after_seconds if isinstance(error, TryAgain) else 1.0)
                continue
            for view in views:
                self._start(view, lease)
            if not views:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._settings.poll_seconds):
                        await self._wanted.wait()

    async def _take(self, worker_id: WorkerId) -> list[View]:
        settings = self._settings
        running = [runner.run.chat.view.chat for runner in self._runners.values() if not runner.only_waits]
        agents = sum(1 for chat in running if chat.parent_id is not None or chat.run_id is not None)
        counts = Counter[UserId](chat.owner_id for chat in running)
        full = [owner for owner, count in counts.items() if count >= settings.max_per_user]
        limits = capacity(
            top_level=max(settings.max_chats - (len(running) - agents), 0),
            agents=max(settings.max_agents - agents, 0),
            # Whoever's they are, so many more are within every owner's limit.
            room=min(
                (settings.max_per_user - count for count in counts.values() if count < settings.max_per_user),
                default=settings.max_per_user,
            ),
        )
        self._crowded = True
        for limit, agents_limit in limits:
            views = await self._store.acquire(
                worker_id, limit=limit, agents_limit=agents_limit, skip_owners=full
            )
            if views:
                return views
        # All that could be taken, unless it was somebody's whom we did not ask for.
        self._crowded = bool(full) or not all(min(limit) > 0 for limit in limits)
        return []

    def _room(self, owner_id: UserId) -> int:
        """How many more agents of this owner may be run."""
        if self._stopping.is_set():
            return 0
        running = [runner.run.chat.view.chat for runner in self._runners.values() if not runner.only_waits]
        agents = sum(1 for chat in running if chat.parent_id is not None or chat.run_id is not None)
        own = sum(1 for chat in running if chat.owner_id == owner_id)
        return min(self._settings.max_agents - agents, self._settings.max_per_user - own)

    def _adopt(self, view: View, lease: LeaseKeeper, founded: Founded | None) -> None:
        if view.chat.id not in self._runners:
            self._start(view, lease, founded)

    def _start(self, view: View, lease: LeaseKeeper, founded: Founded | None = None) -> None:
        run = Run(
            OwnedChat(self._store, lease, view, self._bus.publish, self._metrics),
            settings=self._settings,
            models=self._models,
            tools=self._tools,
            clock=self._clock,
            ids=self._ids,
            surroundings=self._surroundings,
            files=self._files,
            new=None if founded is None else founded.agent,
        )
        run.stopping = self._stopping.is_set()
        runner = Runner(run, self._turn_ended, founded)
        chat_id = view.chat.id
        before = self._tasks.get(chat_id)
        self._runners[chat_id] = runner
        self._metrics.chats.set(len(self._runners))
        self._tasks[chat_id] = asyncio.create_task(self._run_chat(runner, before), name=f"chat {chat_id}")

    async def _run_chat(self, runner: Runner, before: asyncio.Task[None] | None) -> None:
        chat_id = runner.run.chat.chat_id
        if before is not None:
            # We owned it a moment ago and are still putting things away.
            await asyncio.wait({before})
        try:
            await runner.until_it_rests()
        finally:
            if self._runners.get(chat_id) is runner:
                del self._runners[chat_id], self._tasks[chat_id]
                self._metrics.chats.set(len(self._runners))
                if self._crowded:
                    self._wanted.set()

    def _turn_ended(self, run: Run, texts: Texts) -> None:
        if run.chat.view.chat.run_id is not None:
            return  # an agent of a run: it has its name from there, and nobody lists it
        task = asyncio.create_task(describe(run, texts))
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    # --- what goes on beside ---

    async def _listen(self) -> None:
        async with self._bus.listen(live=False) as events:
            async for event in events:
                match event:
                    case Hint():
                        runner = self._runners.get(event.chat_id)
                        if runner is not None:
                            runner.hint(event)
                            if runner.only_waits:
                                self._wanted.set()
                        elif event.wanted:
                            self._wanted.set()
                        if event.delivery:
                            self._untold.set()
                    case Repeat():
                        runner = self._runners.get(event.chat_id)
                        if runner is not None:
                            runner.run.chat.live.repeat(event)
                    case Reread():
                        self._wanted.set()
                        self._look_again.set()
                    case _:
                        pass
        # Nobody tells us anything any more: the polls find it.
        await self._stopping.wait()

    async def _watch(self, worker_id: WorkerId) -> None:
        """What moved under the runners without a hint, or with one that was lost."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._settings.poll_seconds):
                    await self._look_again.wait()
            self._look_again.clear()
            runners = dict(self._runners)
            if not runners:
                continue
            try:
                owned = {hint.chat_id: hint for hint in await self._store.read(owned_by(worker_id))}
            except StoreClosed:
                raise
            except TryAgain as error:
                log.warning("chats not looked at", reason=error.text)
                continue
            for chat_id, runner in runners.items():
                if self._runners.get(chat_id) is not runner:
                    continue
                if (hint := owned.get(chat_id)) is not None:
                    runner.run.chat.hear(hint)
                else:
                    runner.gone()

    async def _every(
        self, seconds: float, work: Callable[[], Awaitable[bool]], sooner: asyncio.Event | None = None
    ) -> None:
        """As long as there is more at once; else after so long, or sooner."""
        waking = sooner or asyncio.Event()
        while True:
            waking.clear()
            try:
                more = await work()
            except StoreClosed:
                raise
            except HoldfastError as error:
                log.warning("upkeep put off", reason=error.text, code=error.code)
                more = False
            if not more:
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await waking.wait()

    async def _sweep(self) -> bool:
        return (await sweep(self._store)).more

    async def _tell(self) -> bool:
        return await tell_parents(self._store, self._isolation, self._settings.notice_seconds)

    async def _index(self) -> bool:
        return await self._store.index_pending() > 0


def capacity(*, top_level: int, agents: int, room: int) -> list[tuple[int, int]]:
    """How many top-level chats and agents to ask for, in tries of which the first that finds any counts. Both
    together are never more than the room, for all of them may be one owner's."""
    if room == 1:
        return [(min(top_level, 1), 0), (0, min(agents, 1))]
    for_agents = min(agents, room // 2)
    for_top_level = min(top_level, room - for_agents)
    return [(for_top_level, min(agents, room - for_top_level))]


async def _cancel(tasks: list[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
