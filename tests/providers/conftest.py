"""The scripted provider, one for each test."""

from collections.abc import AsyncGenerator

import pytest

from tests.providers.server import ProviderServer


@pytest.fixture
async def server() -> AsyncGenerator[ProviderServer]:
    async with ProviderServer() as started:
        yield started
