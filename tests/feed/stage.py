"""A chat at work for tests of its feed: a worker's commits, made by the test, on a real store; a bus that may
lose, duplicate and delay what is sent over it; and the hub."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Literal, cast

from msgspec.structs import replace

from holdfast.bus.interface import Bus
from holdfast.bus.memory import MemoryBus
from holdfast.bus.postgres import PostgresBus
from holdfast.chats.commands import (
    BeginAttempt,
    Command,
    Create,
    FailTurn,
    Fence,
    FinishInterrupt,
    FinishTurn,
    NewMessage,
    NoteRetry,
    Send,
)
from holdfast.chats.view import View
from holdfast.core.chats import Settings
from holdfast.core.events import BusEvent, Episode, LiveParts, Repeat, Reread, Skipped
from holdfast.core.failures import Failure
from holdfast.core.ids import ChatId, UserId
from holdfast.core.parts import LivePart, Text
from holdfast.feed.hub import Hub
from holdfast.feed.limits import FeedLimits
from holdfast.store.interface import Applied, Store
from holdfast.store.open import open_store
from holdfast.worker.live import LiveText
from tests.feed.client import Client
from tests.ready_databases import prepare
from tests.store.world import answer, fresh_id, text, user

# A lost hint is to be found soon.
QUICK = FeedLimits(poll_seconds=0.05, ask_seconds=0.2, gather_seconds=0.02)
OVERLOADED = Failure(kind="overloaded", message="Too much.", retryable=True)


Fate = Literal["arrives", "lost", "doubled", "late", "too large", "overflow"]


class Way:
    """What is published passes here, and fares as it is fated to. What is late comes after the next; what is
    too large, or too much, is said to have been there."""

    def __init__(self) -> None:
        self.bus: Bus | None = None
        self.fate: Callable[[], Fate] = lambda: "arrives"
        self._late: list[BusEvent] = []

    def publish(self, event: BusEvent) -> None:
        assert self.bus is not None
        for arriving in self._arriving(event, self.fate()):
            self.bus.publish(arriving)
            self.release()

    def _arriving(self, event: BusEvent, fate: Fate) -> list[BusEvent]:
        match fate, event:
            case "lost", _:
                return []
            case "doubled", _:
                return [event, event]
            case "late", _:
                self._late.append(event)
                return []
            case "too large", LiveParts(chat_id=chat_id, episode=episode, first=first, parts=parts):
                return [Skipped(chat_id=chat_id, episode=episode, first=first, count=len(parts))]
            case "overflow", _:
                return [Reread(reason="overflow")]
            case _:
                return [event]

    def release(self) -> None:
        assert self.bus is not None
        late, self._late = self._late, []
        for event in late:
            self.bus.publish(event)


class LossyBus:
    """A bus whose publishing passes a way. Only what a hub needs of one."""

    def __init__(self, bus: Bus, way: Way) -> None:
        self._bus = bus
        self._way = way

    def publish(self, event: BusEvent) -> None:
        self._way.publish(event)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bus, name)


class Chatting:
    """One chat with its owner and its worker. `told` is what was streamed, by episode."""

    def __init__(self, store: Store, way: Way) -> None:
        self.store = store
        self.way = way
        self.owner: UserId = user()
        self.id = ChatId(fresh_id())
        self.live = LiveText(self.id, way.publish)
        self.told: dict[tuple[int, int], str] = {}
        self.streaming: Episode | None = None
        self._worker: Any = None

    async def do(self, *commands: Command, fence: Fence | None = None) -> View:
        told = await self.store.transition(self.id, *commands, fence=fence)
        assert isinstance(told, Applied), told
        assert told.view is not None
        return told.view

    async def view(self) -> View:
        view = await self.store.view(self.id)
        assert view is not None
        return view

    # --- people ---

    async def create(self, content: str = "hello", **settings: Any) -> None:
        await self.do(Create(owner_id=self.owner, settings=Settings(**settings), parts=text(content)))

    async def send(self, content: str, busy: Any = "queue") -> None:
        await self.do(Send(parts=text(content), busy=busy, created_by=self.owner))

    # --- the worker ---

    async def own(self) -> None:
        if self._worker is None:
            self._worker = await self.store.register_worker("test", 3600)
        await self.store.acquire(self._worker, limit=100, agents_limit=100)

    async def take_over(self) -> None:
        """The worker is dead; the next one owns the chat."""
        await self.store.retire(self._worker)
        self._worker = None
        await self.own()

    async def begin(self, *messages: NewMessage) -> None:
        """A model call begins."""
        if (await self.view()).chat.lease is None:
            await self.own()
        view = await self.do(BeginAttempt(messages=messages))
        self.streaming = Episode(history_version=view.chat.history_version, attempt=view.chat.attempt)
        self.live.begin(self.streaming)
        self.live.step(view.chat.turn, view.chat.turn_steps + 1, answer().step)

    def stream(self, *deltas: str) -> None:
        for delta in deltas:
            self.show(Text(text=delta))

    def show(self, part: LivePart) -> None:
        assert self.streaming is not None
        key = (self.streaming.history_version, self.streaming.attempt)
        self.told[key] = self.told.get(key, "") + getattr(part, "text", "")
        self.live.send(part)

    @property
    def streamed(self) -> str:
        assert self.streaming is not None
        return self.told.get((self.streaming.history_version, self.streaming.attempt), "")

    async def commit(self, *calls: Any, and_then: tuple[Command, ...] = ()) -> None:
        """The answer is what was streamed."""
        assert self.streaming is not None
        made = answer(*calls, content=self.streamed or "nothing")
        step = replace(made.step, attempts=self.streaming.attempt)
        await self.do(replace(made, step=step), *and_then)
        self._forget()

    async def finish(self) -> None:
        await self.commit(and_then=(FinishTurn(),))

    async def answer(self, *deltas: str) -> None:
        """A whole model call that ends the turn."""
        await self.begin()
        self.stream(*deltas)
        await self.finish()

    async def fail_attempt(self) -> None:
        await self.do(NoteRetry(failure=OVERLOADED, delay_ms=1))
        self._forget()

    async def fail_turn(self) -> None:
        await self.do(FailTurn(failure=OVERLOADED))
        self._forget()

    async def finish_interrupt(self) -> None:
        kept = self.streamed if self.streaming else ""
        message = NewMessage(role="assistant", parts=text(kept), interrupted=True) if kept else None
        step = None
        if self.streaming is not None:
            step = replace(answer().step, attempts=self.streaming.attempt)
        await self.do(FinishInterrupt(message=message, step=step))
        self._forget()

    def crash(self) -> None:
        """Nobody remembers what was streamed."""
        self._forget()

    def _forget(self) -> None:
        self.live.end()
        self.streaming = None

    def hear(self, event: BusEvent) -> None:
        if isinstance(event, Repeat) and event.chat_id == self.id:
            self.live.repeat(event)


class Stage:
    """A store, a bus and a hub; chats are made on it. Whoever owns a chat answers who asks it to repeat."""

    def __init__(self, store: Store, bus: Bus, way: Way, *hubs: Hub) -> None:
        self.store = store
        self.bus = bus
        self.way = way
        # Of each replica one; the first is the owner's.
        self.hubs = hubs
        self.chats: dict[ChatId, Chatting] = {}

    @property
    def hub(self) -> Hub:
        return self.hubs[0]

    async def chat(self, content: str = "hello", **settings: Any) -> Chatting:
        chat = Chatting(self.store, self.way)
        self.chats[chat.id] = chat
        await chat.create(content, **settings)
        return chat

    async def answer_repeats(self) -> None:
        async with self.bus.listen(live=False) as events:
            async for event in events:
                if isinstance(event, Repeat) and event.chat_id in self.chats:
                    self.chats[event.chat_id].hear(event)


@asynccontextmanager
async def watching(
    stage: Stage, chat: Chatting, client: Client | None = None, **more: Any
) -> AsyncGenerator[Client]:
    """A client that watches meanwhile; what it complains about fails the test."""
    client = client or Client()
    task = asyncio.create_task(client.connect(stage.hub, chat.id, **more))
    task.add_done_callback(client.note_end)
    try:
        yield client
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def staged(url: str, data: Path, limits: FeedLimits = QUICK) -> AsyncGenerator[Stage]:
    """On one bus of this process."""
    way = Way()
    way.bus = bus = MemoryBus()
    prepare(url, data)
    store = await open_store(url, data=data, publish=way.publish)
    stage = Stage(store, bus, way, Hub(store, cast(Bus, LossyBus(bus, way)), limits))
    async with serving(stage):
        yield stage


@asynccontextmanager
async def replicated(url: str, data: Path, limits: FeedLimits = QUICK) -> AsyncGenerator[Stage]:
    """Two replicas on PostgreSQL, each with its bus and its hub. Chats are run by the first."""
    way = Way()
    async with PostgresBus(url) as bus, PostgresBus(url) as other_bus:
        way.bus = bus
        store = await open_store(url, data=data, publish=way.publish)
        other = await open_store(url, data=data, publish=other_bus.publish)
        hubs = Hub(store, cast(Bus, LossyBus(bus, way)), limits), Hub(other, other_bus, limits)
        try:
            async with serving(Stage(store, bus, way, *hubs)) as stage:
                yield stage
        finally:
            await other.close()


@asynccontextmanager
async def serving(stage: Stage) -> AsyncGenerator[Stage]:
    repeating = asyncio.create_task(stage.answer_repeats())
    try:
        yield stage
    finally:
        for hub in stage.hubs:
            await hub.close()
        repeating.cancel()
        await asyncio.wait([repeating])
        await stage.bus.close()
        await stage.store.close()
