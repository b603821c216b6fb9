"""Every test that asks for `house` runs once on each engine."""

from pathlib import Path

import pytest

from tests.accounts.house import House
from tests.store.conftest import url, world
from tests.store.world import World

__all__ = ["url", "world"]


@pytest.fixture
def house(world: World, tmp_path: Path) -> House:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    return House(world.store, world.clock, data)
