"""A store with people, workers and a clock around it. Every transition that goes through a World is read
back: what the store says it will be is what its rows come to."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from holdfast.chats.change import Refusal
from holdfast.chats.commands import (
    BeginAttempt,
    Command,
    CommitStep,
    Create,
    Fence,
    FinishCall,
    FinishTurn,
    NewCall,
    NewMessage,
    NewStep,
    Send,
    StartCalls,
)
from holdfast.chats.view import View
from holdfast.core.chats import Settings
from holdfast.core.clock import SystemClock
from holdfast.core.errors import TryAgain
from holdfast.core.events import Hint
from holdfast.core.ids import CallId, ChatId, RandomIds, UserId, WorkerId
from holdfast.core.messages import Message
from holdfast.core.origins import FromChat
from holdfast.core.parts import Parts, Text, ToolCall
from holdfast.core.usage import Usage
from holdfast.store import messages
from holdfast.store.interface import Applied, Once, Replayed, Store

NO_SETTINGS = Settings()
_ids = RandomIds()


def fresh_id() -> str:
    return _ids.uuid7(SystemClock().now())


def user() -> UserId:
    return UserId(fresh_id())


def text(content: str) -> Parts:
    return (Text(text=content),)


class SetClock:
    """Stands still until it is told to move. It starts at the present: PostgreSQL's clock runs by itself."""

    def __init__(self) -> None:
        self._now = SystemClock().now()
        self._jumped = timedelta()

    def now(self) -> datetime:
        return self._now + self._jumped

    def elapsed(self) -> float:
        return self._now.timestamp()

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)

    def jump(self, seconds: float) -> None:
        """Somebody sets the clock on the wall; no time passes."""
        self._jumped += timedelta(seconds=seconds)


@dataclass
class World:
    store: Store
    clock: SetClock
    hints: list[Hint]
    # Opens the same database again; the store before is closed.
    reopen: Callable[[], Awaitable["World"]]
    owner: UserId = field(default_factory=user)
    worker: WorkerId | None = None

    async def do(
        self,
        chat_id: ChatId,
        *commands: Command,
        fence: Fence | None = None,
        view: View | None = None,
        once: Once | None = None,
    ) -> Applied:
        """A transition that is not refused, and is found in the rows as it was told."""
        told = await self.store.transition(chat_id, *commands, fence=fence, view=view, once=once)
        assert isinstance(told, Applied), told
        assert await self.store.view(chat_id) == told.view
        return told

    async def view(self, chat_id: ChatId) -> View:
        view = await self.store.view(chat_id)
        assert view is not None
        return view

    async def refused(self, chat_id: ChatId, *commands: Command, **more: Any) -> Refusal:
        told = await self.store.transition(chat_id, *commands, **more)
        assert isinstance(told, Refusal), told
        return told

    async def replayed(self, chat_id: ChatId, *commands: Command, once: Once) -> Replayed:
        told = await self.store.transition(chat_id, *commands, once=once)
        assert isinstance(told, Replayed), told
        return told

    # --- people ---

    async def create(
        self,
        content: str = "hello",
        settings: Settings = NO_SETTINGS,
        *,
        owner: UserId | None = None,
        **more: Any,
    ) -> View:
        chat_id = ChatId(fresh_id())
        command = Create(owner_id=owner or self.owner, settings=settings, parts=text(content), **more)
        return view_of(await self.do(chat_id, command))

    async def child(self, parent: View, call_id: str | None = None, content: str = "do this") -> View:
        return await self.create(
            content,
            origin=FromChat(chat_id=parent.chat.id, call_id=None if call_id is None else CallId(call_id)),
            root_id=parent.chat.root_id,
        )

    async def send(self, chat_id: ChatId, content: str, busy: Any = "queue") -> Applied:
        return await self.do(chat_id, Send(parts=text(content), busy=busy, created_by=self.owner))

    async def idle(self, content: str = "hello", settings: Settings = NO_SETTINGS, **more: Any) -> View:
        """A chat whose first turn is over."""
        return await self.finish(await self.own(await self.create(content, settings, **more)))

    async def history(self, chat_id: ChatId, *, removed: bool = False) -> tuple[Message, ...]:
        return await self.store.read(messages.page(chat_id, limit=10_000, removed=removed, for_model=True))

    # --- the worker ---

    async def register(self, lease_seconds: float = 15) -> WorkerId:
        self.worker = await self.store.register_worker("test", lease_seconds)
        return self.worker

    async def renew(self, worker: WorkerId, lease_seconds: float) -> bool:
        return await renewed(self.store, worker, lease_seconds)

    async def own(self, view: View) -> View:
        """Acquires whatever is wanted; the view is that of this chat."""
        worker = self.worker or await self.register(3600)
        for owned in await self.store.acquire(worker, limit=100, agents_limit=100):
            assert await self.store.view(owned.chat.id) == owned
        owned = await self.view(view.chat.id)
        assert owned.chat.lease is not None
        assert owned.chat.lease.worker_id == worker
        return owned

    async def work(self, view: View, *commands: Command) -> View:
        """The owner's commands, decided on its own view."""
        return view_of(await self.do(view.chat.id, *commands, fence=fence_of(view), view=view))

    async def step(self, view: View, *calls: NewCall, content: str = "Let me see.") -> View:
        """The model answers with these calls; those that wait for nobody are started."""
        view = await self.work(view, BeginAttempt())
        start = tuple(call.call_id for call in calls if call.waits_for is None and call.outcome is None)
        commands: tuple[Command, ...] = (StartCalls(call_ids=start),) if start else ()
        return await self.work(view, answer(*calls, content=content), *commands)

    async def finish(self, view: View, content: str = "Done.") -> View:
        return await self.work(await self.step(view, content=content), FinishTurn())


class Renews(Protocol):
    def renew(self, worker_id: WorkerId, lease_seconds: float) -> bool: ...


async def renewed(store: Renews, worker: WorkerId, lease_seconds: float) -> bool:
    """However long the database takes to answer: "try again" says nothing of the lease."""
    while True:
        try:
            return await asyncio.to_thread(store.renew, worker, lease_seconds)
        except TryAgain:
            await asyncio.sleep(0.1)


def view_of(applied: Applied) -> View:
    assert applied.view is not None
    return applied.view


def fence_of(view: View) -> Fence:
    assert view.chat.lease is not None
    return Fence(lease_number=view.chat.lease.number)


def call(call_id: str, **more: Any) -> NewCall:
    return NewCall(call_id=CallId(call_id), name="execute", **more)


def answer(*calls: NewCall, content: str = "Let me see.", usage: Usage | None = None) -> CommitStep:
    usage = usage or Usage(input=10, output=5, total=15, cost_usd_micros=3, context_used=10)
    asked = tuple(ToolCall(call_id=c.call_id, name=c.name, input={"command": "ls"}) for c in calls)
    message = NewMessage(role="assistant", parts=(*text(content), *asked), model="default", usage=usage)
    step = NewStep(model="default", usage=usage, started_at=SystemClock().now())
    return CommitStep(step=step, messages=(message,), calls=calls)


def finished(call_id: str, output: object = "done", *, run: int = 1, **more: Any) -> FinishCall:
    return FinishCall(call_id=CallId(call_id), run=run, outcome="succeeded", output=output, **more)
