"""The stage that most crash tests play on, once for each engine."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from holdfast.worker.settings import WorkerSettings
from tests.crash.stage import Stage, a_stage

# On PostgreSQL a dead worker's chats wait for the end of its lease.
SETTINGS = WorkerSettings(lease_seconds=3.0, poll_seconds=0.3)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> str:
    """The address of an empty database."""
    return "sqlite" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
async def stage(database: str, tmp_path: Path) -> AsyncGenerator[Stage]:
    async with a_stage(tmp_path, database, SETTINGS) as stage:
        yield stage
