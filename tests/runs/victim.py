"""A process that drives runs and is there to be killed. Started with an `Order` as its argument: it starts
the run unless it exists, works on it, and prints its end when it is over. It may end itself at a write to
the journal."""

import asyncio
import os
import signal
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Literal

import msgspec
import structlog

from holdfast.bus.interface import Bus
from holdfast.bus.memory import MemoryBus
from holdfast.bus.postgres import PostgresBus
from holdfast.chats.commands import CallFence
from holdfast.core.clock import SystemClock
from holdfast.core.ids import RandomIds, UserId
from holdfast.core.runs import OVER, Run
from holdfast.core.shapes import Json
from holdfast.duties.worker import Worker
from holdfast.providers.backoff import RetryRule
from holdfast.providers.configs import ModelConfig, ProviderConfig
from holdfast.providers.prices import Prices
from holdfast.providers.registry import ModelRegistry as Providers
from holdfast.providers.registry import complete
from holdfast.providers.wire import StreamLimits
from holdfast.scripts.reader import ScriptReader
from holdfast.scripts.runs.agent_chats import AgentChats
from holdfast.scripts.runs.library import Library
from holdfast.scripts.runs.run_driver import RunResources
from holdfast.scripts.runs.run_duty import RunDuty
from holdfast.scripts.runs.run_start import RunRequest, Runs
from holdfast.scripts.runs.sandboxes import Sandboxes
from holdfast.scripts.runs.settings import RunSettings
from holdfast.store import runs
from holdfast.store.interface import Store
from holdfast.store.journals import MOVE
from holdfast.store.open import is_postgres, open_store
from holdfast.store.query import Query
from holdfast.tools.agent_names import AgentNames
from holdfast.tools.family import AgentFamily, AgentLimits
from holdfast.tools.registry import ToolRegistry
from holdfast.worker.chat_duty import ChatDuty
from holdfast.worker.models import ConfiguredModels
from holdfast.worker.settings import WorkerSettings

OWNER = UserId("019df000-0000-7000-8000-00000000beef")


class Order(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    data: str
    provider: str
    script: str
    budget: int | None = None
    lease_seconds: float = 15.0
    # Dies at the write of this number, just before or just after it.
    die_at: int | None = None
    when: Literal["before", "after"] = "before"


class Told(msgspec.Struct, frozen=True, kw_only=True):
    status: str
    result: Json
    error: str | None
    # How many times this process wrote to the journal.
    writes: int


class FragileStore:
    """The store, with a counter of writes to journals. What is not here is the store's own."""

    def __init__(self, store: Store, order: Order) -> None:
        self._store = store
        self._order = order
        self.writes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def write(self, query: Query[Any], on_behalf: CallFence | None = None) -> Any:
        if not any(sql == MOVE for sql, _ in query.statements):
            return await self._store.write(query, on_behalf=on_behalf)
        self.writes += 1
        self._die("before")
        answer = await self._store.write(query, on_behalf=on_behalf)
        self._die("after")
        return answer

    def _die(self, when: str) -> None:
        if self.writes == self._order.die_at and when == self._order.when:
            os.kill(os.getpid(), signal.SIGKILL)


def bus_of(url: str) -> AbstractAsyncContextManager[Bus]:
    return PostgresBus(url) if is_postgres(url) else MemoryBus()


def providers_of(order: Order) -> Providers:
    provider = ProviderConfig(name="here", kind="openai", base_url=order.provider, api_key="sk-test")
    model = ModelConfig(name="default", provider="here", model="test-model")
    limits = StreamLimits(connect_seconds=5.0, silence_seconds=1.0)
    return Providers(complete([provider], [model], {}), environ={}, limits=limits)


async def main(order: Order) -> None:
    clock, ids = SystemClock(), RandomIds()
    async with bus_of(order.url) as bus, providers_of(order) as providers:
        real = await open_store(order.url, data=Path(order.data), publish=bus.publish)
        fragile = FragileStore(real, order)
        store: Any = fragile
        commands = Runs(
            store=store,
            clock=clock,
            ids=ids,
            library=Library(None, None, ScriptReader()),
            check_model=lambda _: None,
        )
        tools = ToolRegistry()
        family = AgentFamily(
            store=store,
            agents=AgentNames(store, None),
            bus=bus,
            clock=clock,
            ids=ids,
            limits=AgentLimits,
            check_model=lambda _: None,
            has_tool=lambda _: False,
        )
        resources = RunResources(
            store=store,
            clock=clock,
            ids=ids,
            agent_chats=AgentChats(family),
            library=commands.library,
            sandboxes=Sandboxes(),
            settings=lambda: RunSettings(poll_seconds=0.2),
        )
        chats = ChatDuty(
            store=store,
            bus=bus,
            models=ConfiguredModels(providers, Prices()),
            tools=tools,
            settings=WorkerSettings(
                retry=RetryRule(first_seconds=0.005, most_seconds=0.05, attempts=500),
                poll_seconds=0.2,
                lease_seconds=order.lease_seconds,
            ),
        )
        worker = Worker(
            [chats, RunDuty(resources, commands, chats)],
            store=store,
            bus=bus,
            lease_seconds=lambda: order.lease_seconds,
        )
        run = await the_run(store, commands, order)
        working = asyncio.create_task(worker.run())
        while run.status not in OVER:
            await asyncio.sleep(0.05)
            run = await the_run(store, commands, order)
        tell(
            Told(
                status=run.status,
                result=run.result,
                error=None if run.error is None else run.error.message,
                writes=fragile.writes,
            )
        )
        await asyncio.to_thread(sys.stdin.read)
        worker.stop()
        await working
        await real.close()


async def the_run(store: Store, commands: Runs, order: Order) -> Run:
    found = await store.read(runs.page(OWNER))
    if found:
        run = await store.read(runs.run(found[0].id))
        assert run is not None
        return run
    wanted = RunRequest(owner_id=OWNER, script=order.script, language="javascript", budget=order.budget)
    return await commands.start(wanted)


def tell(told: Told) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(told) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    asyncio.run(main(msgspec.json.decode(sys.argv[1], type=Order)))
