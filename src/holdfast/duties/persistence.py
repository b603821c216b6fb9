"""Retries while the database is unavailable. Work whose lease is lost meanwhile is cancelled, or decides
itself when to give up."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from holdfast.core.errors import StoreClosed, TryAgain

T = TypeVar("T")

AGAIN_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0)


def _never(_: TryAgain) -> None:
    pass


async def persist(ask: Callable[[], Awaitable[T]], give_up: Callable[[TryAgain], None] = _never) -> T:
    """`give_up` is called after each failure; it raises when there is no point in continuing."""
    tries = 0
    while True:
        try:
            return await ask()
        except StoreClosed:
            raise
        except TryAgain as error:
            give_up(error)
            await asyncio.sleep(AGAIN_SECONDS[min(tries, len(AGAIN_SECONDS) - 1)])
            tries += 1
