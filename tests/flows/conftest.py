"""One evaluator process and one reader for the tests of a module."""

from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.flows.discovery import FlowLibrary
from holdfast.flows.evaluator import FlowEvaluator
from holdfast.scripts.reader import ScriptReader
from tests.flows.stage import FlowStage
from tests.worker.conftest import opened
from tests.worker.toolbox import Toolbox


@pytest.fixture(scope="session")
def reader() -> Generator[ScriptReader]:
    made = ScriptReader()
    yield made
    made.close()


@pytest.fixture
async def evaluator() -> AsyncGenerator[FlowEvaluator]:
    made = FlowEvaluator()
    yield made
    await made.close()


@pytest.fixture
def library(evaluator: FlowEvaluator, reader: ScriptReader) -> FlowLibrary:
    return FlowLibrary(None, None, evaluator, reader)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[FlowStage]:
    async with opened("sqlite", tmp_path, Toolbox()) as engine:
        with closing(FlowStage(engine, tmp_path / "home")) as made:
            yield made
            await made.evaluator.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.heavy)])
async def stage_everywhere(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[FlowStage]:
    url = "sqlite" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    async with opened(url, tmp_path, Toolbox()) as engine:
        with closing(FlowStage(engine, tmp_path / "home")) as made:
            yield made
            await made.evaluator.close()
