"""Rooms for commands, one behind each kind of wall."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from holdfast.workspaces.commands.wall import Kind
from tests.workspaces.rooms import EVERYWHERE, WALLS, Room, room


@pytest.fixture(params=EVERYWHERE)
async def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Room]:
    """Behind each wall, and without one."""
    kind: Kind = request.param
    async with room(tmp_path, kind) as found:
        if found is None:
            pytest.skip(f"this machine has no wall made by {kind}")
        yield found


@pytest.fixture(params=WALLS)
async def walled(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Room]:
    kind: Kind = request.param
    async with room(tmp_path, kind) as found:
        if found is None:
            pytest.skip(f"this machine has no wall made by {kind}")
        yield found
