"""One helper process and one reader for the tests of a module."""

from collections.abc import AsyncGenerator, Generator

import pytest

from holdfast.flows.discovery import FlowLibrary
from holdfast.flows.helper import FlowHelper
from holdfast.scripts.reader import ScriptReader


@pytest.fixture(scope="session")
def reader() -> Generator[ScriptReader]:
    made = ScriptReader()
    yield made
    made.close()


@pytest.fixture
async def helper() -> AsyncGenerator[FlowHelper]:
    made = FlowHelper()
    yield made
    await made.close()


@pytest.fixture
def library(helper: FlowHelper, reader: ScriptReader) -> FlowLibrary:
    return FlowLibrary(None, None, helper, reader)
