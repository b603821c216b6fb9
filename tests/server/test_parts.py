"""The parts of a server, put together: what only shows when they are."""

from pathlib import Path

import pytest

from holdfast.server.parts import opened
from holdfast.store.query import query
from tests.api.serving import config_for


@pytest.mark.heavy
async def test_time_is_the_databases(tmp_path: Path, postgres_url: str) -> None:
    """Replicas whose clocks differ must judge a lease alike: none of them tells the database what time it
    is."""
    config = config_for(tmp_path / "data", postgres_url)
    async with opened(config, lambda: config, {}) as parts:
        told = query(
            "SELECT coalesce(current_setting('holdfast.now', true), '')", read=lambda rows: str(rows[0][0])
        )
        assert await parts.services.store.read(told) == ""
