"""Every test that asks for `world` runs once on each engine; on PostgreSQL, where each needs a database made
for it, only in `make test`."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.store.interface import Store
from holdfast.store.open import open_store
from tests.ready_databases import prepare
from tests.store.world import SetClock, World

ENGINES = ("sqlite", pytest.param("postgres", marks=pytest.mark.heavy))


@pytest.fixture(params=ENGINES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:{tmp_path / 'holdfast.db'}"


@pytest.fixture
async def world(url: str, tmp_path: Path) -> AsyncIterator[World]:
    opened: list[Store] = []
    prepare(url, tmp_path)

    async def reopen() -> World:
        if opened:
            await opened.pop().close()
        clock, hints = SetClock(), list[Any]()
        store = await open_store(url, data=tmp_path, publish=hints.append, clock=clock)
        opened.append(store)
        return World(store, clock, hints, reopen)

    yield await reopen()
    await opened.pop().close()
