"""The stage that most crash tests play on, once for each engine."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.crash.stage import QUICK, Stage, a_stage


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> str:
    """The address of an empty database."""
    return "sqlite" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
async def stage(database: str, tmp_path: Path) -> AsyncGenerator[Stage]:
    async with a_stage(tmp_path, database, QUICK) as stage:
        yield stage
