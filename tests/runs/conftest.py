"""Every test that asks for `stage` runs on SQLite; `stage_everywhere` on each engine."""

from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.runs.stage import Stage
from tests.worker.conftest import opened
from tests.worker.toolbox import Toolbox


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with opened("sqlite", tmp_path, Toolbox()) as engine:
        with closing(Stage(engine, tmp_path / "home")) as stage:
            yield stage


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.heavy)])
async def stage_everywhere(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stage]:
    url = "sqlite" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    async with opened(url, tmp_path, Toolbox()) as engine:
        with closing(Stage(engine, tmp_path / "home")) as stage:
            yield stage
