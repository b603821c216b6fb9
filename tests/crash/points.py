"""Named points at which a victim ends itself (SIGKILL) or freezes (SIGSTOP). They lie in wrappers around the
store, the models and the tools: the program under test knows nothing of them.

  before X, after X   a transition with command X is about to be asked for; is committed and nobody has heard
  inside X            its commit is on the way: what it writes is written, and is not committed yet
  before acquire, after acquire
  stream, summary     an event of a model's answer; of a compaction's
  before T, after T   test tool T has begun and had no effect yet; has had its effect and not answered
"""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from typing import Literal, cast

from msgspec.structs import replace

from holdfast.chats.change import Refusal
from holdfast.chats.commands import CallFence, Command, Fence, FinishCall, name_of
from holdfast.chats.view import View
from holdfast.core.failures import ModelLimits
from holdfast.core.ids import ChatId, UserId, WorkerId
from holdfast.core.shapes import Record
from holdfast.core.usage import Usage
from holdfast.providers.assemble import ModelAnswer
from holdfast.providers.interface import Adapter, Event, ModelRequest
from holdfast.providers.registry import Model, ModelRegistry
from holdfast.store.interface import Applied, Once, Replayed, Store
from tests.crash.inside import Inside
from tests.crash.ledger import Ledger, Line


class Point(Record, frozen=True, kw_only=True):
    name: str
    # At which time of reaching it, from 1.
    count: int = 1
    ends_in: Literal["death", "freeze"] = "death"

    @property
    def words(self) -> str:
        return f"{self.name} #{self.count}" + (" (freeze)" if self.ends_in == "freeze" else "")


class Points:
    def __init__(self, armed: Point | None) -> None:
        self._armed = armed
        self._left = armed.count if armed else 0

    def arm(self, point: Point | None) -> None:
        self._armed = point
        self._left = point.count if point else 0

    def reach(self, name: str) -> None:
        if self.is_next(name):
            point, self._armed = self._armed, None
            assert point is not None
            end_here(point.ends_in)

    def is_next(self, name: str) -> bool:
        """Counts, and says whether this is the time."""
        if self._armed is None or self._armed.name != name:
            return False
        self._left -= 1
        return self._left <= 0


def end_here(how: Literal["death", "freeze"] = "death") -> None:
    os.kill(os.getpid(), signal.SIGKILL if how == "death" else signal.SIGSTOP)


class FragileStore:
    """The store, with points around its transitions. What is not here is the store's own."""

    def __init__(self, store: Store, points: Points, inside: Inside, ledger: Ledger) -> None:
        self._store = store
        self._points = points
        self._inside = inside
        self._ledger = ledger
        # Commits of work that was out of date.
        self.refused = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def as_store(self) -> Store:
        return cast(Store, self)

    async def transition(
        self,
        chat_id: ChatId,
        *commands: Command,
        fence: Fence | None = None,
        view: View | None = None,
        once: Once | None = None,
        on_behalf: CallFence | None = None,
    ) -> Applied | Refusal | Replayed:
        names = [name_of(command) for command in commands]
        for name in names:
            self._points.reach(f"before {name}")
            if self._points.is_next(f"inside {name}"):
                self._inside.die_with(chat_id)
        asking = asyncio.ensure_future(
            self._store.transition(chat_id, *commands, fence=fence, view=view, once=once, on_behalf=on_behalf)
        )
        asking.add_done_callback(self._hear)
        # A store finishes what it was asked for, whether or not the caller still waits.
        result = await asyncio.shield(asking)
        if isinstance(result, Applied):
            for name in names:
                self._points.reach(f"after {name}")
            self._note_ends(chat_id, commands, result)
        return result

    def _hear(self, asked: asyncio.Future[Applied | Refusal | Replayed]) -> None:
        if not asked.cancelled() and asked.exception() is None:
            result = asked.result()
            self.refused += isinstance(result, Refusal) and result.code == "stale"

    def _note_ends(self, chat_id: ChatId, commands: Collection[Command], applied: Applied) -> None:
        ends = {command.call_id for command in commands if isinstance(command, FinishCall)}
        for call in applied.change.calls_put:
            if call.call_id in ends:
                line = Line(
                    event="finished",
                    tool=call.name,
                    chat_id=chat_id,
                    call_id=call.call_id,
                    run=call.run,
                    pid=os.getpid(),
                )
                self._ledger.append(line)

    async def register_worker(self, name: str, lease_seconds: float) -> WorkerId:
        worker_id = await self._store.register_worker(name, lease_seconds)
        self._ledger.append(Line(event="registered", pid=os.getpid()))
        return worker_id

    async def acquire(
        self,
        worker_id: WorkerId,
        *,
        limit: int,
        agents_limit: int,
        skip_owners: Collection[UserId] = (),
    ) -> list[View]:
        self._points.reach("before acquire")
        views = await self._store.acquire(
            worker_id, limit=limit, agents_limit=agents_limit, skip_owners=skip_owners
        )
        if views:
            self._points.reach("after acquire")
        return views


class FragileModels:
    """The models of a registry, with a point at every event of an answer. Nothing has a price."""

    def __init__(self, registry: ModelRegistry, points: Points) -> None:
        self._registry = registry
        self._points = points

    def resolve(self, name: str | None) -> Model:
        model = self._registry.resolve(name)
        return replace(model, adapter=_FragileAdapter(model.adapter, self._points))

    def learn(self, model: Model, limits: ModelLimits) -> None:
        self._registry.learn(model, limits)

    async def prepare(self, model: Model) -> None:
        pass

    def priced(self, model: Model, answer: ModelAnswer) -> Usage:
        return replace(
            answer.usage, context_used=answer.usage.input, context_limit=model.config.context_limit
        )


class _FragileAdapter:
    def __init__(self, adapter: Adapter, points: Points) -> None:
        self._adapter = adapter
        self._points = points

    @property
    def kind(self) -> str:
        return self._adapter.kind

    def body(self, request: ModelRequest) -> bytes:
        return self._adapter.body(request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event, None]:
        point = "summary" if request.purpose == "compaction" else "stream"
        async with aclosing(self._adapter.stream(request)) as events:
            async for event in events:
                self._points.reach(point)
                yield event
