"""Queries that are retried while the database is unavailable."""

import pytest

from holdfast.core.errors import StoreClosed, TryAgain
from holdfast.tools.waits import patiently


async def test_it_is_asked_until_it_is_answered() -> None:
    problems = [TryAgain("away", 0.0), TryAgain("busy", 0.0)]

    async def ask(what: str) -> str:
        if problems:
            raise problems.pop()
        return f"{what}: here"

    assert await patiently(ask)("workspace") == "workspace: here"


async def test_a_closed_store_stays_closed() -> None:
    async def ask() -> None:
        raise StoreClosed("closed")

    with pytest.raises(StoreClosed):
        await patiently(ask)()
