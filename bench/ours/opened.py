"""A store and the bus that goes with it, opened as a server opens them: within the process on SQLite, LISTEN
and NOTIFY on PostgreSQL."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from bench.task import Task
from holdfast.bus.interface import Bus
from holdfast.bus.memory import MemoryBus
from holdfast.bus.postgres import PostgresBus
from holdfast.cli.server_process import settle
from holdfast.core.events import BusEvent
from holdfast.store.interface import Store
from holdfast.store.open import open_store


@asynccontextmanager
async def opened(
    task: Task, seen: Callable[[BusEvent], None] | None = None, *, data: Path | None = None
) -> AsyncGenerator[tuple[Store, Bus]]:
    """`seen` is told of every hint, before anybody on the bus is. `data`: a server's own directory."""
    url = "sqlite" if task.engine == "sqlite" else task.database
    # One replica: nobody else wants the live parts.
    bus: Bus = MemoryBus() if task.engine == "sqlite" else PostgresBus(url, peers=lambda: False)

    def publish(hint: BusEvent) -> None:
        if seen is not None:
            seen(hint)
        bus.publish(hint)

    async with bus:
        store = await open_store(url, data=data or Path(task.database), publish=publish)
        settle()
        try:
            yield store, bus
        finally:
            await store.close()
