"""Chats as a duty of a worker: takes those that are running or interrupting and have no owner, within the
limits, and gives each a runner."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from functools import partial

from typing_extensions import override

from holdfast.bus.interface import Bus
from holdfast.chats.view import View
from holdfast.core.clock import Clock, SystemClock
from holdfast.core.errors import Bug
from holdfast.core.events import BusEvent, Hint, Repeat, Reread
from holdfast.core.ids import ChatId, Ids, RandomIds, UserId
from holdfast.duties.duty import Chore, LeasedDuty
from holdfast.duties.lease import LeaseRenewal
from holdfast.files.stored_files import StoredFiles
from holdfast.store.hints import owned as owned_by
from holdfast.store.interface import Store
from holdfast.store.sweep import sweep
from holdfast.telemetry.crashes import Crashes
from holdfast.telemetry.debug_recording import DebugRecorder
from holdfast.telemetry.metrics import Metrics
from holdfast.telemetry.trace_context import Tracing
from holdfast.tools.family import Isolation
from holdfast.tools.hooks.hooks import Hooks
from holdfast.tools.registry import ToolRegistry, ToolSource
from holdfast.worker.active_turn import ActiveTurn, StartedAgent
from holdfast.worker.agent_starts import AgentStarts
from holdfast.worker.debug_steps import record_turn_end
from holdfast.worker.deliveries import tell_parents
from holdfast.worker.models import Models
from holdfast.worker.owned_chat import OwnedChat, Texts
from holdfast.worker.resources import CallWatch, Resources, Surroundings
from holdfast.worker.runner import Runner
from holdfast.worker.settings import WorkerSettings
from holdfast.worker.titles import describe

INDEX_SECONDS = 1.0
# How long taking or creating chats may still take when the worker stops.
HAND_OVER_SECONDS = 1.0


class ChatDuty(LeasedDuty[ChatId, Runner]):
    def __init__(
        self,
        *,
        store: Store,
        bus: Bus,
        models: Models,
        tools: ToolRegistry,
        settings: WorkerSettings | None = None,
        metrics: Metrics | None = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
        surroundings: Surroundings | None = None,
        files: StoredFiles | None = None,
        checkpoints: CallWatch | None = None,
        hooks: Hooks | None = None,
        isolation: Isolation | None = None,
        tool_sources: tuple[ToolSource, ...] = (),
        crashes: Crashes | None = None,
        debug: DebugRecorder | None = None,
        tracing: Tracing | None = None,
    ) -> None:
        super().__init__("chat", crashes)
        self.settings = settings or WorkerSettings()
        self._store = store
        self._bus = bus
        self._models = models
        self._tools = tools
        self._metrics = metrics or Metrics()
        self._clock = clock or SystemClock()
        self._ids = ids or RandomIds()
        self._surroundings = surroundings
        self._files = files
        self._checkpoints = checkpoints
        self._hooks = hooks
        self._isolation = isolation
        self._tool_sources = tool_sources
        self._debug = debug
        self._tracing = tracing
        self._agent_starts: AgentStarts | None = None
        # Whether chats may be waiting for a slot: otherwise nobody takes them when one becomes free.
        self._crowded = True
        self._untold = asyncio.Event()

    def use(self, settings: WorkerSettings) -> None:
        """Applies to chats taken from now on; the lease stays as it was given."""
        self.settings = settings

    @property
    @override
    def poll_seconds(self) -> float:
        return self.settings.poll_seconds

    # --- lifetime of a lease ---

    @override
    def begin(self, lease: LeaseRenewal) -> None:
        super().begin(lease)
        self._agent_starts = AgentStarts(
            lease,
            store=self._store,
            clock=self._clock,
            surroundings=self._surroundings,
            room=self._room,
            start=self._adopt,
        )

    @property
    def agent_starts(self) -> AgentStarts:
        """Creates agents that belong to this worker from their first commit."""
        if self._agent_starts is None:
            raise Bug("agents are started without a lease")
        return self._agent_starts

    @override
    def stop(self) -> None:
        super().stop()
        for runner in self.held.values():
            runner.turn.stopping = True

    @override
    async def hand_over(self) -> None:
        """All at once: chats that run no call end now, the others within the grace period. What is just being
        created or taken is started first, and handed over with the rest."""
        await self.agent_starts.settle(HAND_OVER_SECONDS)
        await self.taken(HAND_OVER_SECONDS)
        grace = self.settings.grace_seconds
        await asyncio.gather(*(runner.hand_over(grace) for runner in list(self.held.values())))
        await self.ended(self.settings.cancel_seconds * 2)

    @override
    async def settle(self) -> None:
        await self.agent_starts.close(HAND_OVER_SECONDS)

    # --- taking chats ---

    @override
    async def take(self) -> bool:
        views = await self._acquire()
        for view in views:
            self._begin(view)
        return bool(views)

    async def _acquire(self) -> list[View]:
        settings = self.settings
        running = [runner.turn.chat.view.chat for runner in self.held.values() if not runner.only_waits]
        agents = sum(1 for chat in running if chat.is_agent)
        counts = Counter[UserId](chat.owner_id for chat in running)
        full = [owner for owner, count in counts.items() if count >= settings.max_per_user]
        limits = capacity(
            top_level=max(settings.max_chats - (len(running) - agents), 0),
            agents=max(settings.max_agents - agents, 0),
            # Whoever owns them, this many more are within every owner's limit.
            room=min(
                (settings.max_per_user - count for count in counts.values() if count < settings.max_per_user),
                default=settings.max_per_user,
            ),
        )
        self._crowded = True
        for limit, agents_limit in limits:
            views = await self._store.acquire(
                self.lease.worker_id, limit=limit, agents_limit=agents_limit, skip_owners=full
            )
            if views:
                return views
        # There are no more, unless they belong to an owner whom we left out.
        self._crowded = bool(full) or not all(min(limit) > 0 for limit in limits)
        return []

    def _room(self, owner_id: UserId) -> int:
        """How many more agents of this owner may be run."""
        if self.stopping:
            return 0
        running = [runner.turn.chat.view.chat for runner in self.held.values() if not runner.only_waits]
        agents = sum(1 for chat in running if chat.is_agent)
        own = sum(1 for chat in running if chat.owner_id == owner_id)
        return min(self.settings.max_agents - agents, self.settings.max_per_user - own)

    def _adopt(self, view: View, started: StartedAgent | None) -> None:
        if view.chat.id not in self.held:
            self._begin(view, started)

    def _begin(self, view: View, started: StartedAgent | None = None) -> None:
        resources = Resources(
            settings=self.settings,
            models=self._models,
            tools=self._tools,
            clock=self._clock,
            ids=self._ids,
            surroundings=self._surroundings,
            files=self._files,
            checkpoints=self._checkpoints,
            hooks=self._hooks,
            tool_sources=self._tool_sources,
            debug=self._debug,
            tracing=self._tracing,
        )
        chat = OwnedChat(self._store, self.lease, view, self._bus.publish, self._metrics)
        turn = ActiveTurn(chat, resources, started)
        chat.when_turn_ended = partial(record_turn_end, turn)
        turn.stopping = self.stopping
        self.start(view.chat.id, Runner(turn, self._turn_ended))
        self._metrics.chats.set(len(self.held))

    @override
    async def work(self, held: Runner) -> None:
        await held.until_it_rests()

    @override
    async def set_aside(self, held: Runner, reason: str) -> None:
        await held.set_aside(reason)

    @override
    def let_go(self) -> None:
        self._metrics.chats.set(len(self.held))
        if self._crowded:
            self.wake()

    def _turn_ended(self, turn: ActiveTurn, number: int, texts: Texts) -> None:
        if turn.chat.view.chat.run_id is not None:
            return  # an agent of a run: it has its name from there, and nobody lists it
        self.spawn(describe(turn, number, texts), f"title of {turn.chat.chat_id}")

    # --- changes meanwhile ---

    @override
    def hear(self, event: BusEvent) -> None:
        match event:
            case Hint():
                runner = self.held.get(event.chat_id)
                if runner is not None:
                    runner.hint(event)
                    if runner.only_waits:
                        self.wake()
                elif event.wanted:
                    self.wake()
                if event.delivery:
                    self._untold.set()
            case Repeat():
                runner = self.held.get(event.chat_id)
                if runner is not None:
                    runner.turn.chat.live.repeat(event)
            case Reread():
                self.wake()
                self.look_soon()
            case _:
                pass

    @override
    async def look(self) -> None:
        """Finds changes to the runners' chats without a hint, or with a lost one."""
        runners = dict(self.held)
        owned = {hint.chat_id: hint for hint in await self._store.read(owned_by(self.lease.worker_id))}
        for chat_id, runner in runners.items():
            if self.held.get(chat_id) is not runner:
                continue
            if (hint := owned.get(chat_id)) is not None:
                runner.turn.chat.hear(hint)
            else:
                runner.gone()

    # --- upkeep ---

    @override
    def chores(self) -> Sequence[Chore]:
        return (
            Chore(seconds=self.poll_seconds, work=self._sweep),
            Chore(seconds=self.poll_seconds, work=self._tell_parents, sooner=self._untold),
            Chore(seconds=INDEX_SECONDS, work=self._index),
        )

    async def _sweep(self) -> bool:
        return (await sweep(self._store)).more

    async def _tell_parents(self) -> bool:
        return await tell_parents(self._store, self._isolation, self.settings.notice_seconds)

    async def _index(self) -> bool:
        return await self._store.index_pending() > 0


def capacity(*, top_level: int, agents: int, room: int) -> list[tuple[int, int]]:
    """How many top-level chats and agents to ask for, as a list of tries; the first that finds any counts.
    Both together never exceed the room, because all of them may belong to one owner."""
    if room == 1:
        return [(min(top_level, 1), 0), (0, min(agents, 1))]
    for_agents = min(agents, room // 2)
    for_top_level = min(top_level, room - for_agents)
    return [(for_top_level, min(agents, room - for_top_level))]
