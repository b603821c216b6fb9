"""A server on SQLite and one on PostgreSQL: every test of the API runs on both."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.api.serving import Client, Serving, config_for, serving


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.heavy)])
def database_url(request: pytest.FixtureRequest) -> str:
    return "sqlite" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
async def server(database_url: str, tmp_path: Path) -> AsyncGenerator[Serving]:
    async with serving(config_for(tmp_path / "data", database_url)) as running:
        yield running


@pytest.fixture
def admin(server: Serving) -> Client:
    return server.admin
