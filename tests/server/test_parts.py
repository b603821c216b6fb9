"""The parts of a server, put together: what only shows when they are."""

import sys
from pathlib import Path

import pytest

from holdfast.config.sections import BusSection
from holdfast.core.errors import CannotStart
from holdfast.core.secret import Secret
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


async def test_a_bus_whose_client_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "redis"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "holdfast.bus.redis", raising=False)
    monkeypatch.setitem(sys.modules, "redis", None)
    config = config_for(tmp_path / "data", bus=BusSection(url=Secret("redis://127.0.0.1:1")))
    with pytest.raises(CannotStart, match=r"holdfast\[redis\]"):
        async with opened(config, lambda: config, {}):
            pass
