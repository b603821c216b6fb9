"""Durable turns by Holdfast's own worker, as a contender: `python -m bench.ours.turns`."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from bench.measure import Stopwatch
from bench.ours.models import models_for
from bench.ours.opened import opened
from bench.ours.seeded import seed
from bench.ours.working import OWNER, TOOL, said
from bench.serve import serve, side_by_side
from bench.task import Figures, Task
from holdfast.bus.interface import Bus
from holdfast.chats.commands import Create, Send
from holdfast.core.chats import Settings
from holdfast.core.clock import SystemClock
from holdfast.core.events import BusEvent, Hint
from holdfast.core.ids import ChatId, RandomIds
from holdfast.duties.worker import Worker
from holdfast.store.interface import Applied, Store
from holdfast.telemetry.debug_recording import DebugRecorder
from holdfast.telemetry.metrics import Metrics
from holdfast.tools.contract import Input, Tool, ToolAnswer, ToolContext
from holdfast.tools.registry import ToolRegistry
from holdfast.worker.chat_duty import ChatDuty
from holdfast.worker.models import Models
from holdfast.worker.settings import WorkerSettings


class Add(Input, frozen=True, kw_only=True):
    a: int
    b: int


async def add(_: ToolContext, numbers: Add) -> ToolAnswer:
    return ToolAnswer(output=str(numbers.a + numbers.b))


async def run(task: Task, *, recorded: bool = False) -> Figures:
    ends = Ends()
    async with opened(task, ends.see) as (store, bus):
        chats = task.at_once * task.each
        seeded = await seed(store, chats, task.history) if task.history else []
        stopwatch = Stopwatch(task)
        async with models_for(task, stopwatch) as models, _working(store, bus, models, task, recorded):

            async def chat(_: int) -> None:
                for _ in range(task.each):
                    stopwatch.end(await _ask(store, ends, seeded.pop() if seeded else None))

            await _ask(store, ends, None)
            return await stopwatch.time(side_by_side(task.at_once, chat), chats * task.steps)


class Ends:
    """Who waits for which chat to rest."""

    def __init__(self) -> None:
        self._waiting: dict[ChatId, asyncio.Future[None]] = {}

    def wait_for(self, chat_id: ChatId) -> asyncio.Future[None]:
        future = self._waiting[chat_id] = asyncio.get_running_loop().create_future()
        return future

    def see(self, hint: BusEvent) -> None:
        if not isinstance(hint, Hint) or hint.status not in {"idle", "error"}:
            return
        if (future := self._waiting.get(hint.chat_id)) is None:
            return
        if not future.done():
            future.set_result(None)
        del self._waiting[hint.chat_id]


async def _ask(store: Store, ends: Ends, seeded: ChatId | None) -> ChatId:
    """One turn, from the message that starts it until the chat rests: of a new chat, or of one that has a
    history."""
    chat_id = seeded or ChatId(RandomIds().uuid7(SystemClock().now()))
    rests = ends.wait_for(chat_id)
    if seeded:
        asked = await store.transition(chat_id, Send(parts=said("go"), created_by=OWNER))
    else:
        asked = await store.transition(chat_id, Create(owner_id=OWNER, settings=Settings(), parts=said("go")))
    assert isinstance(asked, Applied), asked
    await rests
    return chat_id


@asynccontextmanager
async def _working(
    store: Store, bus: Bus, models: Models, task: Task, recorded: bool
) -> AsyncGenerator[None]:
    """A worker; if it fails, so does what is done meanwhile."""
    tool = Tool(name=TOOL, description="Adds two numbers.", input=Add, run=add, effect="read")
    room = task.at_once + 1
    settings = WorkerSettings(max_chats=room, max_per_user=room, debug="on" if recorded else "off")
    debug = DebugRecorder(store, SystemClock(), RandomIds(), Metrics(), lambda: ["a-key-of-ours"])
    chats = ChatDuty(
        store=store, bus=bus, models=models, tools=ToolRegistry([tool]), settings=settings, debug=debug
    )
    worker = Worker([chats], store=store, bus=bus, lease_seconds=lambda: settings.lease_seconds)
    async with debug, asyncio.TaskGroup() as group:
        group.create_task(worker.run())
        try:
            yield
        finally:
            worker.stop()


if __name__ == "__main__":
    serve(run)
