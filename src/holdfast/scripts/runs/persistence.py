"""Asking the database again while it cannot be asked: whoever loses its lease meanwhile is cancelled."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from holdfast.core.errors import StoreClosed, TryAgain

T = TypeVar("T")

AGAIN_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0)


async def persist(ask: Callable[[], Awaitable[T]]) -> T:
    tries = 0
    while True:
        try:
            return await ask()
        except StoreClosed:
            raise
        except TryAgain:
            await asyncio.sleep(AGAIN_SECONDS[min(tries, len(AGAIN_SECONDS) - 1)])
            tries += 1
