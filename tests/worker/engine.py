"""The engine at work for tests: a store, a bus, workers, and the scripted provider over HTTP. Tests wait for
conditions, woken by the bus, never for time to pass."""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from holdfast.bus.memory import MemoryBus
from holdfast.chats.change import Change, Refusal
from holdfast.chats.commands import Command, Create, Send
from holdfast.chats.view import Call, View
from holdfast.core.accounts import NamedAgent, User
from holdfast.core.calls import ActionCall
from holdfast.core.chats import Chat, Settings
from holdfast.core.clock import SystemClock
from holdfast.core.events import BusEvent, LiveParts, LiveStep
from holdfast.core.ids import CallId, ChatId, NamedAgentId, RandomIds, UserId
from holdfast.core.messages import Busy, Message
from holdfast.core.parts import LivePart, Text, ToolCall, ToolResult
from holdfast.core.steps import Step
from holdfast.duties.duty import LeasedDuty
from holdfast.duties.worker import Worker
from holdfast.providers.backoff import RetryRule
from holdfast.providers.configs import ModelConfig, ProviderConfig
from holdfast.providers.prices import Prices
from holdfast.providers.registry import ModelRegistry as Providers
from holdfast.providers.registry import Setup, complete
from holdfast.providers.wire import StreamLimits
from holdfast.store import calls as call_queries
from holdfast.store import chats as chat_queries
from holdfast.store import messages as message_queries
from holdfast.store import named_agents, users
from holdfast.store import steps as step_queries
from holdfast.store.calls import FullCall
from holdfast.store.interface import Applied, Store
from holdfast.telemetry.metrics import Metrics
from holdfast.tools.registry import ToolRegistry
from holdfast.worker.chat_duty import ChatDuty
from holdfast.worker.models import ConfiguredModels
from holdfast.worker.settings import WorkerSettings
from tests.providers.answering import Asked
from tests.providers.server import ProviderServer

OWNER = UserId("019df000-0000-7000-8000-00000000beef")
STRANGER = UserId("019df000-0000-7000-8000-00000000cafe")
# Long enough for the slowest machine; a test that needs it all has failed.
PATIENCE_SECONDS = 40.0
# Waits between attempts that a test can afford. What Retry-After asks for is cut to `most_seconds`.
QUICK_RETRIES = RetryRule(first_seconds=0.005, most_seconds=0.02)
SETTINGS = WorkerSettings(retry=QUICK_RETRIES, poll_seconds=0.2)


class ShiftedClock:
    """The real clock, and as much more of it as a test needs."""

    def __init__(self) -> None:
        self.offset = timedelta()
        # By how much the clock on the wall was set, while no time passed.
        self.jumped = timedelta()
        self._real = SystemClock()

    def now(self) -> datetime:
        return self._real.now() + self.offset + self.jumped

    def elapsed(self) -> float:
        return self._real.elapsed() + self.offset.total_seconds()


class Hints:
    """The way from the store to the bus, on which hints may get lost, or worse."""

    def __init__(self, bus: MemoryBus) -> None:
        self.lost = False
        self.forward: Callable[[BusEvent], None] = bus.publish

    def publish(self, hint: BusEvent) -> None:
        if not self.lost:
            self.forward(hint)


class Live:
    """What a watcher of one chat is shown while it is made."""

    def __init__(self) -> None:
        self.events: list[LiveParts] = []
        self.steps: list[LiveStep] = []
        self._more = asyncio.Event()

    def add(self, event: LiveParts | LiveStep) -> None:
        if isinstance(event, LiveStep):
            self.steps.append(event)
        else:
            self.events.append(event)
        self._more.set()

    @property
    def parts(self) -> list[LivePart]:
        return [part for event in self.events for part in event.parts]

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    async def until(self, condition: Callable[["Live"], bool]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not condition(self):
                self._more.clear()
                await self._more.wait()


def _nothing(_: ChatDuty) -> Sequence[LeasedDuty[Any, Any]]:
    return ()


class Engine:
    """`default` is a model in the OpenAI chat format, `claude` in Anthropic's, `demo` needs no provider."""

    def __init__(
        self,
        store: Store,
        clock: ShiftedClock,
        bus: MemoryBus,
        hints: Hints,
        providers: Providers,
        server: ProviderServer,
        tools: ToolRegistry,
    ) -> None:
        self.hints = hints
        self.store = store
        self.clock = clock
        self.bus = bus
        self.providers = providers
        self.server = server
        self.tools = tools
        self.metrics = Metrics()
        self._ids = RandomIds()
        self._workers: list[tuple[Worker, asyncio.Task[None]]] = []

    async def named_agent(self, name: str, **more: Any) -> str:
        """An agent of the owner's; its id."""
        fields: dict[str, Any] = {
            "description": "",
            "instructions": "",
            "model": None,
            "effort": None,
            "tools": None,
            "published": False,
            **more,
        }
        now = self.clock.now()
        owner = User(id=OWNER, name="owner", role="member", suspended_at=None, created_at=now)
        await self.store.write(users.create_first(owner))
        agent_id = NamedAgentId(self._ids.uuid7(now))
        agent = NamedAgent(id=agent_id, owner_id=OWNER, name=name, created_at=now, updated_at=now, **fields)
        await self.store.write(named_agents.create(agent))
        return agent_id

    # Workers

    def worker(self, settings: WorkerSettings = SETTINGS, **more: Any) -> Worker:
        """One that is not run yet. `beside` makes more duties, given the one for chats."""
        beside: Callable[[ChatDuty], Sequence[LeasedDuty[Any, Any]]] = more.pop("beside", _nothing)
        given: dict[str, Any] = {
            "store": self.store,
            "bus": self.bus,
            "models": ConfiguredModels(self.providers, Prices()),
            "tools": self.tools,
            "metrics": self.metrics,
            "clock": self.clock,
            **more,
        }
        chats = ChatDuty(settings=settings, **given)
        return Worker(
            [chats, *beside(chats)],
            lease_seconds=lambda: settings.lease_seconds,
            **{name: given[name] for name in ("store", "bus", "metrics", "clock")},
        )

    def start(self, settings: WorkerSettings = SETTINGS, **more: Any) -> Worker:
        worker = self.worker(settings, **more)
        self._workers.append((worker, asyncio.create_task(worker.run())))
        return worker

    async def stop(self, worker: Worker | None = None) -> None:
        """Stops one worker gracefully, or all."""
        stopped = [pair for pair in self._workers if worker in (None, pair[0])]
        for running, _ in stopped:
            running.stop()
        for _, task in stopped:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await task
        self._workers = [pair for pair in self._workers if pair not in stopped]

    # What people do

    async def create(
        self, text: str, *, owner: UserId = OWNER, model: str | None = None, **more: Any
    ) -> ChatId:
        chat_id = ChatId(self._ids.uuid7(SystemClock().now()))
        settings = Settings(model=model, **more)
        await self.do(chat_id, Create(owner_id=owner, settings=settings, parts=(Text(text=text),)))
        return chat_id

    async def send(self, chat_id: ChatId, text: str, busy: Busy = "queue", **more: Any) -> Change:
        return await self.do(chat_id, Send(parts=(Text(text=text),), busy=busy, created_by=OWNER, **more))

    async def do(self, chat_id: ChatId, *commands: Command) -> Change:
        result = await self.store.transition(chat_id, *commands)
        assert isinstance(result, Applied), result
        return result.change

    async def refused(self, chat_id: ChatId, command: Command) -> Refusal:
        result = await self.store.transition(chat_id, command)
        assert isinstance(result, Refusal), result
        return result

    # What is so

    async def until(self, chat_id: ChatId, condition: Callable[[View], bool]) -> View:
        """The first view seen that is like this."""
        view: View | None = None
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                async with self.bus.listen(chat_id=chat_id, live=False) as hints:
                    while True:
                        view = await self.store.view(chat_id)
                        assert view is not None, "the chat is gone"
                        if condition(view):
                            return view
                        try:
                            await asyncio.wait_for(hints.get(), 0.1)
                        except TimeoutError:
                            pass
        except TimeoutError:
            raise AssertionError(f"it never came to be; the chat is {view}") from None

    async def settled(self, chat_id: ChatId) -> View:
        """The chat when nobody works on it any more."""
        return await self.until(chat_id, is_settled)

    async def idle(self, chat_id: ChatId) -> View:
        view = await self.settled(chat_id)
        assert view.chat.status == "idle", view.chat.last_error or view
        return view

    async def failed(self, chat_id: ChatId) -> View:
        view = await self.settled(chat_id)
        assert view.chat.status == "error", view
        return view

    async def waits(self, chat_id: ChatId) -> View:
        """The chat when somebody must act."""
        return await self.until(chat_id, lambda view: view.chat.status == "requires_action")

    async def history(
        self, chat_id: ChatId, *, for_model: bool = False, removed: bool = False
    ) -> list[Message]:
        page = message_queries.page(chat_id, limit=1000, for_model=for_model, removed=removed)
        return list(await self.store.read(page))

    async def texts(self, chat_id: ChatId) -> list[tuple[str, str]]:
        """Who said what; calls and results are left out."""
        return [(message.role, text) for message in await self.history(chat_id) if (text := text_of(message))]

    async def results(self, chat_id: ChatId) -> list[ToolResult]:
        return [
            part
            for message in await self.history(chat_id)
            for part in message.parts
            if isinstance(part, ToolResult)
        ]

    async def calls(self, chat_id: ChatId) -> list[Call]:
        return list(await self.store.read(call_queries.calls_of_turns(chat_id, 0, 1000)))

    async def call(self, chat_id: ChatId, call_id: CallId) -> FullCall:
        found = await self.store.read(call_queries.call(chat_id, call_id))
        assert found is not None
        return found

    async def steps(self, chat_id: ChatId) -> list[Step]:
        return list(await self.store.read(step_queries.steps_of_turns(chat_id, 0, 1000)))

    async def chat(self, chat_id: ChatId) -> Chat:
        found = await self.store.read(chat_queries.chat(chat_id))
        assert found is not None
        return found

    async def asked_for(self, chat_id: ChatId) -> tuple[ActionCall, ...]:
        """What somebody must do."""
        action = (await self.chat(chat_id)).action
        assert action is not None
        return action.calls

    @asynccontextmanager
    async def watch(self, chat_id: ChatId) -> AsyncGenerator[Live]:
        live = Live()

        async def listen() -> None:
            async with self.bus.listen(chat_id=chat_id) as events:
                async for event in events:
                    if isinstance(event, LiveParts | LiveStep):
                        live.add(event)

        task = asyncio.create_task(listen())
        await asyncio.sleep(0)
        try:
            yield live
        finally:
            task.cancel()
            await asyncio.wait({task})

    # The provider

    @property
    def asked(self) -> list[Asked]:
        """What the provider was asked, in order."""
        return self.server.log

    async def until_asked(self, count: int) -> None:
        await eventually(lambda: len(self.server.log) >= count)

    def configure(self, *models: ModelConfig) -> None:
        """Other models from the next call on."""
        setup = self.providers.setup
        named = {model.name: model for model in models}
        default = models[0].name if models else None
        self.providers.replace(Setup(providers=setup.providers, models=named, default=default))


def model(name: str = "default", **more: Any) -> ModelConfig:
    """A model of the scripted provider."""
    given = {"claude": ("anthropic", "claude-sonnet-5"), "demo": ("demo", "demo")}
    provider, wire_name = given.get(name, ("here", "test-model"))
    fields: dict[str, Any] = {"name": name, "provider": provider, "model": wire_name, **more}
    return ModelConfig(**fields)


def providers(server: ProviderServer, **limits: float) -> Providers:
    setup = complete(
        [
            ProviderConfig(
                name="here", kind="openai", base_url=server.base_url("compatible"), api_key="sk-test-123456"
            ),
            ProviderConfig(
                name="anthropic",
                kind="anthropic",
                base_url=server.base_url("anthropic"),
                api_key="sk-ant-123456",
            ),
            ProviderConfig(name="demo", kind="demo"),
        ],
        [model("default"), model("claude"), model("demo")],
        {},
    )
    quick = StreamLimits(connect_seconds=5.0, silence_seconds=20.0)
    return Providers(setup, environ={}, limits=replace(quick, **limits))


async def eventually(condition: Callable[[], bool]) -> None:
    """For what no event tells of: looks again and again."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        for seconds in itertools.chain((0.0, 0.001, 0.005), itertools.repeat(0.01)):
            if condition():
                return
            await asyncio.sleep(seconds)


def is_settled(view: View) -> bool:
    return view.chat.status in ("idle", "error")


def text_of(message: Message) -> str:
    return "".join(part.text for part in message.parts if isinstance(part, Text))


def calls_of(messages: Sequence[Message]) -> list[ToolCall]:
    return [part for message in messages for part in message.parts if isinstance(part, ToolCall)]


def said_to_model(asked: Asked) -> str:
    """All texts of the messages of a request, whatever its format."""
    texts: list[str] = []
    for message in asked.body["messages"]:
        content = message["content"]
        blocks = [{"text": content}] if isinstance(content, str) else content or []
        texts += [str(block.get("text", block.get("content", ""))) for block in blocks]
    return "\n".join(texts)
