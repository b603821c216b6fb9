"""Every test that asks for `stage` runs on SQLite; `stage_everywhere` also on PostgreSQL."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.feed.stage import Stage, staged


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged("sqlite", tmp_path) as stage:
        yield stage


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.heavy)])
async def stage_everywhere(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stage]:
    url = "sqlite" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    async with staged(url, tmp_path) as stage:
        yield stage
