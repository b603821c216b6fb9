"""A process that drives a flow run and is there to be killed. Started with an `Order` as its argument: it
starts the run unless it exists, works on it, and prints its end when it is over. It may end itself at a
write to the rows of the run."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec
import structlog

from holdfast.core.clock import SystemClock
from holdfast.core.flow_runs import OVER, FlowRun
from holdfast.core.ids import RandomIds
from holdfast.duties.worker import Worker
from holdfast.flows.discovery import FlowLibrary
from holdfast.flows.evaluator import FlowEvaluator
from holdfast.flows.runs.driven_run import FlowResources
from holdfast.flows.runs.flow_duty import FlowDuty
from holdfast.flows.runs.flow_start import FlowRequest, FlowRuns
from holdfast.flows.runs.step_inputs import StepInputs
from holdfast.providers.backoff import RetryRule
from holdfast.providers.prices import Prices
from holdfast.scripts.reader import ScriptReader
from holdfast.scripts.runs.agent_chats import AgentChats
from holdfast.scripts.runs.library import Library
from holdfast.scripts.runs.run_start import Runs
from holdfast.scripts.runs.sandboxes import Sandboxes
from holdfast.scripts.runs.settings import RunSettings
from holdfast.store import flow_runs
from holdfast.store.flow_rows import MOVE
from holdfast.store.interface import Store
from holdfast.store.open import open_store
from holdfast.store.query import Query
from holdfast.tools.agent_names import AgentNames
from holdfast.tools.family import AgentFamily, AgentLimits
from holdfast.tools.registry import ToolRegistry
from holdfast.worker.chat_duty import ChatDuty
from holdfast.worker.models import ConfiguredModels
from holdfast.worker.settings import WorkerSettings
from tests.runs.victim import OWNER, Order, Told, bus_of, providers_of, tell


class FragileStore:
    """The store, with a counter of writes to rows of runs. What is not here is the store's own."""

    def __init__(self, store: Store, order: Order) -> None:
        self._store = store
        self._order = order
        self.writes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def write_and_create(self, query: Query[Any], chats: Any) -> Any:
        if not any(sql == MOVE for sql, _ in query.statements):
            return await self._store.write_and_create(query, chats)
        self.writes += 1
        self._die("before")
        answer = await self._store.write_and_create(query, chats)
        self._die("after")
        return answer

    def _die(self, when: str) -> None:
        if self.writes == self._order.die_at and when == self._order.when:
            os.kill(os.getpid(), signal.SIGKILL)


async def main(order: Order) -> None:
    clock, ids, reader = SystemClock(), RandomIds(), ScriptReader()
    async with bus_of(order.url) as bus, providers_of(order) as providers:
        real = await open_store(order.url, data=Path(order.data), publish=bus.publish)
        fragile = FragileStore(real, order)
        store: Any = fragile
        workflows = Runs(
            store=store,
            clock=clock,
            ids=ids,
            library=Library(None, None, reader),
            check_model=lambda _: None,
        )
        library = FlowLibrary(None, None, FlowEvaluator(), reader)
        commands = FlowRuns(
            store=store,
            clock=clock,
            ids=ids,
            library=library,
            workflows=workflows,
            check_model=lambda _: None,
        )
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
        resources = FlowResources(
            store=store,
            clock=clock,
            ids=ids,
            agent_chats=AgentChats(family),
            inputs=StepInputs(library, reader, Sandboxes()),
            commands=commands,
            settings=lambda: RunSettings(poll_seconds=0.2),
        )
        chats = ChatDuty(
            store=store,
            bus=bus,
            models=ConfiguredModels(providers, Prices()),
            tools=ToolRegistry(),
            settings=WorkerSettings(
                retry=RetryRule(first_seconds=0.005, most_seconds=0.05, attempts=500),
                poll_seconds=0.2,
                lease_seconds=order.lease_seconds,
            ),
        )
        worker = Worker(
            [chats, FlowDuty(resources, chats)],
            store=store,
            bus=bus,
            lease_seconds=lambda: order.lease_seconds,
        )
        run = await the_run(store, commands, order)
        working = asyncio.create_task(worker.run())
        while run.status not in OVER:
            await asyncio.sleep(0.05)
            run = await the_run(store, commands, order)
        error = None if run.error is None else run.error.message
        tell(Told(status=run.status, result=run.result, error=error, writes=fragile.writes))
        await asyncio.to_thread(sys.stdin.read)
        worker.stop()
        await working
        await real.close()


async def the_run(store: Store, commands: FlowRuns, order: Order) -> FlowRun:
    found = await store.read(flow_runs.page(OWNER))
    if found:
        run = await store.read(flow_runs.run(found[0].id))
        assert run is not None
        return run
    return await commands.start(FlowRequest(owner_id=OWNER, flow=order.script, args={"topic": "boats"}))


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    asyncio.run(main(msgspec.json.decode(sys.argv[1], type=Order)))
