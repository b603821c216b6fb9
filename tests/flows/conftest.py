"""One evaluator process and one reader for the tests of a module."""

from collections.abc import AsyncGenerator, Generator

import pytest

from holdfast.flows.discovery import FlowLibrary
from holdfast.flows.evaluator import FlowEvaluator
from holdfast.scripts.reader import ScriptReader


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
