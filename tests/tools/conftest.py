"""Tests that ask for `scene` run on SQLite; those that ask for `scene_everywhere` run on each engine."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.tools.families import Scene, a_scene


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with a_scene("sqlite", tmp_path) as scene:
        yield scene


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.heavy)])
async def scene_everywhere(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Scene]:
    url = "sqlite" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    async with a_scene(url, tmp_path) as scene:
        yield scene
