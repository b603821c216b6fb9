"""Every test that asks for `engine` runs on SQLite; those that ask for `engine_everywhere` run on each
engine."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import structlog

from holdfast.bus.memory import MemoryBus
from holdfast.store.open import open_store
from tests.providers.server import ProviderServer
from tests.ready_databases import prepare
from tests.worker.engine import Engine, Hints, ShiftedClock, providers
from tests.worker.toolbox import Toolbox


@pytest.fixture(scope="session", autouse=True)
def plain_log() -> None:
    """Tracebacks in colour, with every local variable, take longer than what they are about."""
    structlog.configure(
        processors=[structlog.processors.format_exc_info, structlog.processors.KeyValueRenderer()]
    )


@pytest.fixture
def tools() -> Toolbox:
    return Toolbox()


@asynccontextmanager
async def opened(url: str, tmp_path: Path, tools: Toolbox) -> AsyncGenerator[Engine]:
    bus, clock = MemoryBus(), ShiftedClock()
    hints = Hints(bus)
    prepare(url, tmp_path)
    store = await open_store(url, data=tmp_path, publish=hints.publish, clock=clock)
    async with ProviderServer() as server, providers(server) as models:
        engine = Engine(store, clock, bus, hints, models, server, tools.registry())
        try:
            yield engine
        finally:
            tools.release.set()
            await engine.stop()
            await store.close()


@pytest.fixture
async def engine(tmp_path: Path, tools: Toolbox) -> AsyncIterator[Engine]:
    async with opened("sqlite", tmp_path, tools) as engine:
        yield engine


@pytest.fixture
async def engine_on_postgres(postgres_url: str, tmp_path: Path, tools: Toolbox) -> AsyncIterator[Engine]:
    async with opened(postgres_url, tmp_path, tools) as engine:
        yield engine


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.heavy)])
async def engine_everywhere(
    request: pytest.FixtureRequest, tmp_path: Path, tools: Toolbox
) -> AsyncIterator[Engine]:
    url = "sqlite" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    async with opened(url, tmp_path, tools) as engine:
        yield engine
