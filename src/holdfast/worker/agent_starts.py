"""Agents that are created in a worker's own process: they belong to it from their first commit, which also
counts their first attempt. Nobody has to look for them, and nothing of them is read before their model is
called."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from holdfast.chats.change import Refusal
from holdfast.chats.commands import Acquire, BeginAttempt, Command
from holdfast.chats.start import NewAgent
from holdfast.chats.view import View
from holdfast.core.clock import Clock
from holdfast.core.errors import HoldfastError, StoreClosed
from holdfast.core.ids import UserId, WorkspaceId
from holdfast.duties.lease import LeaseRenewal
from holdfast.prompt.sources import PromptChat
from holdfast.store.interface import Applied, Store
from holdfast.store.query import Query
from holdfast.worker.active_turn import StartedAgent
from holdfast.worker.resources import Surroundings
from holdfast.worker.surroundings import instructions_of

T = TypeVar("T")


class AgentStarts:
    """`room` says how many more agents of an owner fit; `start` runs a chat that is ours: as it was created,
    or as it was found."""

    def __init__(
        self,
        lease: LeaseRenewal,
        *,
        store: Store,
        clock: Clock,
        surroundings: Surroundings | None,
        room: Callable[[UserId], int],
        start: Callable[[View, StartedAgent | None], None],
    ) -> None:
        self._lease = lease
        self._store = store
        self._clock = clock
        self._surroundings = surroundings
        self._room = room
        self._start = start
        # Slots reserved for agents that are just being created.
        self._claimed = 0
        self._making: set[asyncio.Task[Any]] = set()

    async def make(self, agents: Sequence[NewAgent], beside: Query[T]) -> tuple[T, list[Refusal | None]]:
        """Writes `beside`, which makes the agents known, and creates them: ours as far as there is room; the
        others wait for any worker. Once started this always completes, even if the caller is cancelled: an
        agent that is ours and that nobody runs would wait forever."""
        making = asyncio.create_task(self._make(agents, beside))
        self._making.add(making)
        making.add_done_callback(self._made)
        return await asyncio.shield(making)

    async def settle(self, timeout_seconds: float) -> None:
        """Waits until what is being created has been created, and is running."""
        if self._making:
            await asyncio.wait(self._making, timeout=timeout_seconds)

    async def close(self, timeout_seconds: float) -> None:
        """The same, but gives up what takes longer: its worker runs nothing any more."""
        await self.settle(timeout_seconds)
        for making in self._making:
            making.cancel()
        if self._making:
            await asyncio.wait(self._making)

    def _made(self, making: "asyncio.Task[Any]") -> None:
        self._making.discard(making)
        if not making.cancelled():
            making.exception()  # the caller may have stopped waiting

    async def _make(self, agents: Sequence[NewAgent], beside: Query[T]) -> tuple[T, list[Refusal | None]]:
        ours, others = self._claim(agents)
        try:
            said = await self._said_to(ours)
            acquire = self._acquire()
            wanted = [
                (agent.chat_id, (agent.create, acquire, *begin))
                for agent, begin in zip(ours, said, strict=True)
            ]
            answer, made = await self._store.write_and_create(beside, wanted)
            for agent, begin, one in zip(ours, said, made, strict=True):
                await self._adopt(agent, one, begun=bool(begin))
        finally:
            self._claimed -= len(ours)
        waiting = [await self._store.transition(agent.chat_id, agent.create) for agent in others]
        refused = {
            agent.chat_id: one
            for agent, one in zip((*ours, *others), (*made, *waiting), strict=True)
            if isinstance(one, Refusal)
        }
        return answer, [refused.get(agent.chat_id) for agent in agents]

    def _claim(self, agents: Sequence[NewAgent]) -> tuple[list[NewAgent], list[NewAgent]]:
        """Those that get a slot, which is reserved from now on, and the others."""
        ours: list[NewAgent] = []
        others: list[NewAgent] = []
        for agent in agents:
            if self._room(agent.create.owner_id) > self._claimed:
                self._claimed += 1
                ours.append(agent)
            else:
                others.append(agent)
        return ours, others

    def _acquire(self) -> Acquire:
        expires_at = self._clock.now() + timedelta(seconds=self._lease.seconds)
        return Acquire(worker_id=self._lease.worker_id, expires_at=expires_at)

    async def _said_to(self, agents: Sequence[NewAgent]) -> list[tuple[Command, ...]]:
        """The first attempt of each, with the instructions of its workspace, read once per workspace."""
        asked: dict[WorkspaceId | None, tuple[Command, ...]] = {}
        for agent in agents:
            place = agent.create.settings.workspace_id
            if place not in asked:
                asked[place] = await self._begin(agent)
        return [asked[agent.create.settings.workspace_id] for agent in agents]

    async def _begin(self, agent: NewAgent) -> tuple[Command, ...]:
        """Nothing, if the workspace cannot be read: the turn runs into that again and reports it."""
        if self._surroundings is None:
            return (BeginAttempt(),)
        create = agent.create
        where = PromptChat(
            chat_id=agent.chat_id, owner_id=create.owner_id, workspace_id=create.settings.workspace_id
        )
        try:
            return (BeginAttempt(messages=await instructions_of(where, self._surroundings)),)
        except StoreClosed:
            raise
        except (HoldfastError, OSError):
            return ()

    async def _adopt(self, agent: NewAgent, made: Applied | Refusal, *, begun: bool) -> None:
        if isinstance(made, Applied) and made.view is not None:
            started = StartedAgent(agent=agent, messages=made.change.messages, begun=begun)
            self._start_ours(made.view, started)
        else:
            # It exists already: perhaps by the same commit, whose answer was lost.
            self._start_ours(await self._store.view(agent.chat_id), None)

    def _start_ours(self, view: View | None, started: StartedAgent | None) -> None:
        lease = None if view is None else view.chat.lease
        if view is not None and lease is not None and lease.worker_id == self._lease.worker_id:
            self._start(view, started)
