"""A process that runs a worker and is there to be killed: it takes orders on its standard input, commits what
they ask for, and answers each after its commit. Started with a `Setup` as its argument."""

import asyncio
import hashlib
import os
import signal
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import BinaryIO

import msgspec
import structlog

from holdfast.bus.interface import Bus
from holdfast.bus.memory import MemoryBus
from holdfast.bus.postgres import PostgresBus
from holdfast.chats.change import Refusal
from holdfast.chats.commands import Create
from holdfast.core.clock import SystemClock
from holdfast.core.errors import TryAgain
from holdfast.core.events import LiveParts
from holdfast.core.ids import ChatId, RandomIds
from holdfast.core.messages import Message
from holdfast.duties.worker import Worker
from holdfast.providers.configs import ModelConfig, ProviderConfig
from holdfast.providers.registry import ModelRegistry as Providers
from holdfast.providers.registry import complete
from holdfast.store import calls, chats, children, messages, steps, views
from holdfast.store.interface import Applied, Once, Replayed
from holdfast.store.open import is_postgres, open_store
from holdfast.telemetry.metrics import Metrics
from holdfast.tools.agent_names import AgentNames
from holdfast.tools.agents import agent_tools
from holdfast.tools.family import AgentFamily, AgentLimits
from holdfast.tools.registry import ToolRegistry
from holdfast.worker.chat_duty import ChatDuty
from tests.crash.inside import Inside
from tests.crash.ledger import Ledger
from tests.crash.orders import PERSONS, USER, Answer, Counts, Dump, Order, Setup, Told, encode, read_order
from tests.crash.points import FragileModels, FragileStore, Point, Points
from tests.crash.tools import tools

# Models by the family of providers whose format they speak.
MODELS = {"plain": "compatible", "claude": "anthropic", "mistral": "mistral", "deepseek": "deepseek"}
CONTEXT_LIMIT = 100_000
_ALL = 1_000_000


def registry(provider_url: str) -> Providers:
    providers = [
        ProviderConfig(
            name=family,
            kind="openai" if family == "compatible" else family,
            base_url=f"{provider_url}/{family}" + ("" if family in ("anthropic", "deepseek") else "/v1"),
            api_key="sk-test",
        )
        for family in MODELS.values()
    ]
    models = [
        ModelConfig(
            name=name,
            provider=family,
            model="claude-sonnet-5" if family == "anthropic" else f"{name}-model",
            context_limit=CONTEXT_LIMIT,
        )
        for name, family in MODELS.items()
    ]
    return Providers(complete(providers, models, {}), environ={})


class Victim:
    def __init__(self, store: FragileStore, bus: Bus, metrics: Metrics, points: Points) -> None:
        self._fragile = store
        self._store = store.as_store()
        self._bus = bus
        self._metrics = metrics
        self._points = points
        self._ids = RandomIds()
        self._clock = SystemClock()
        self.may_work = asyncio.Event()
        self.left = asyncio.Event()

    async def obey(self, order: Order) -> Answer:
        match order.kind:
            case "arm":
                self._points.arm(msgspec.json.decode(order.command, type=Point | None))
                return Answer(number=order.number)
            case "chats":
                page = await self._store.read(chats.page(USER, limit=1000))
                return Answer(number=order.number, chats=page.items)
            case "family":
                assert order.chat_id is not None
                family, untold = await self._store.read(chats.family(order.chat_id), children.untold(_ALL))
                return Answer(number=order.number, chats=family, untold=len(untold))
            case "dump":
                return Answer(number=order.number, dumps=await self._dumps())
            case "counts":
                return Answer(number=order.number, counts=self._counts())
            case "work":
                self.may_work.set()
                return Answer(number=order.number)
            case "leave":
                self.left.set()
                return Answer(number=order.number)
            case _:
                return await self._ask(order)

    async def watch(self, order: Order, answers: BinaryIO) -> None:
        """Live parts of a chat, as a watcher would get them."""
        async with self._bus.listen(chat_id=order.chat_id) as events:
            answers.write(encode(Answer(number=order.number)) + b"\n")
            answers.flush()
            async for event in events:
                if isinstance(event, LiveParts):
                    answers.write(encode(Answer(number=order.number, live=event)) + b"\n")
                    answers.flush()

    async def _ask(self, order: Order) -> Answer:
        """As a server would: a new chat is given its id here, so only the key tells that it was asked for
        twice."""
        command = msgspec.json.decode(order.command, type=PERSONS[order.kind])
        chat_id = order.chat_id or ChatId(self._ids.uuid7(self._clock.now()))
        once = None
        if order.key is not None:
            path = "/chats" if isinstance(command, Create) else f"/chats/{chat_id}/{order.kind}"
            fingerprint = hashlib.sha256(bytes(order.command)).hexdigest()
            once = Once(USER, "POST", path, order.key, fingerprint, _respond)
        result = await self._store.transition(chat_id, command, once=once)
        match result:
            case Refusal():
                return Answer(number=order.number, refusal=result)
            case Replayed():
                return Answer(
                    number=order.number, told=msgspec.json.decode(result.body, type=Told), replayed=True
                )
            case Applied():
                return Answer(number=order.number, told=_told(result))

    async def _dumps(self) -> tuple[Dump, ...]:
        page = await self._store.read(chats.page(USER, limit=1000))
        families = [await self._store.read(chats.family(root.id)) for root in page.items]
        return tuple([await self._dump(chat.id) for family in families for chat in family])

    async def _dump(self, chat_id: ChatId) -> Dump:
        chat, view, history, called, stepped, turned = await self._store.read(
            chats.chat(chat_id),
            views.view(chat_id),
            messages.page(chat_id, limit=_ALL, removed=True, for_model=True),
            calls.calls_of_turns(chat_id, 0, _ALL),
            steps.steps_of_turns(chat_id, 0, _ALL),
            steps.turns(chat_id, limit=_ALL),
        )
        assert chat is not None
        assert view is not None
        return Dump(chat=chat, view=view, messages=history, calls=called, steps=stepped, turns=turned[::-1])

    def _counts(self) -> Counts:
        lost = self._metrics.registry.get_sample_value("holdfast_leases_lost_total")
        return Counts(refused=self._fragile.refused, leases_lost=int(lost or 0))


def _respond(applied: Applied) -> tuple[int, bytes]:
    return 200, encode(_told(applied))


def _told(applied: Applied) -> Told:
    answer, chat_id = applied.change.answer, applied.change.chat_id
    if isinstance(answer, Message):
        return Told(chat_id=chat_id, message_id=answer.id)
    return Told(chat_id=chat_id, item_id=None if answer is None else answer.id)


async def live(setup: Setup, answers: BinaryIO) -> None:
    points, inside, ledger = Points(setup.point), Inside(), Ledger(Path(setup.ledger))
    async with _bus(setup) as bus, registry(setup.provider_url) as models:
        store = await open_store(setup.database, data=Path(setup.data), publish=bus.publish)
        fragile = FragileStore(store, points, inside, ledger)
        metrics = Metrics()
        family = AgentFamily(
            store=fragile.as_store(),
            agents=AgentNames(fragile.as_store(), None),
            bus=bus,
            clock=SystemClock(),
            ids=RandomIds(),
            limits=lambda: AgentLimits(depth=40, per_chat=40),
            check_model=lambda name: None,
            has_tool=lambda name: True,
        )
        chats = ChatDuty(
            store=fragile.as_store(),
            bus=bus,
            models=FragileModels(models, points),
            tools=ToolRegistry([*tools(ledger, points, setup.kept_open), *agent_tools(family)]),
            settings=setup.settings,
            metrics=metrics,
        )
        worker = Worker(
            [chats],
            store=fragile.as_store(),
            bus=bus,
            lease_seconds=lambda: setup.settings.lease_seconds,
            metrics=metrics,
        )
        victim = Victim(fragile, bus, metrics, points)
        if setup.working:
            victim.may_work.set()
        await _serve(victim, worker, answers)
        await store.close()


def _bus(setup: Setup) -> AbstractAsyncContextManager[Bus]:
    return PostgresBus(setup.database) if is_postgres(setup.database) else MemoryBus()


async def _serve(victim: Victim, worker: Worker, answers: BinaryIO) -> None:
    async with asyncio.TaskGroup() as tasks:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, victim.left.set)
        reading = tasks.create_task(_read(victim, answers))
        working = tasks.create_task(_work(victim, worker))
        answers.write(encode(Answer(number=0)) + b"\n")
        answers.flush()
        await victim.left.wait()
        worker.stop()
        await working
        reading.cancel()


async def _work(victim: Victim, worker: Worker) -> None:
    starting = [asyncio.create_task(event.wait()) for event in (victim.may_work, victim.left)]
    await asyncio.wait(starting, return_when=asyncio.FIRST_COMPLETED)
    for task in starting:
        task.cancel()
    if not victim.left.is_set():
        await worker.run()


async def _read(victim: Victim, answers: BinaryIO) -> None:
    """Each order in a task of its own: one that waits for the database holds up no other."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=2**24)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

    async def answer(order: Order) -> None:
        while True:
            try:
                told = await victim.obey(order)
                break
            except TryAgain as error:
                # What a client would do; the key sees to it that it counts once.
                await asyncio.sleep(error.after_seconds)
        answers.write(encode(told) + b"\n")
        answers.flush()

    async with asyncio.TaskGroup() as tasks:
        while line := await reader.readline():
            order = read_order(line)
            tasks.create_task(victim.watch(order, answers) if order.kind == "watch" else answer(order))
        # Whoever gave the orders is gone.
        victim.left.set()


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    asyncio.run(live(msgspec.json.decode(sys.argv[1], type=Setup), answers))


if __name__ == "__main__":
    main()
