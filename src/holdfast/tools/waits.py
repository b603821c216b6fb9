"""How tools wait: for the database when it is unavailable, for what others do, and for their own end when
they are cancelled."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

from holdfast.bus.listener import Listener
from holdfast.core.errors import StoreClosed, TryAgain
from holdfast.tools.contract import ToolAnswer, ToolContext

# A lost hint delays by no more than this.
POLL_SECONDS = 1.0

P = ParamSpec("P")
T = TypeVar("T")
Work = Callable[[ToolContext, Any], Awaitable[ToolAnswer]]


def patient(work: Work) -> Work:
    """Retries while the database is unavailable: for what may be repeated."""
    return patiently(work)


def patiently(ask: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """The same for a read. If somebody else takes the chat meanwhile, the call is cancelled from outside."""

    async def asking(*args: P.args, **kwargs: P.kwargs) -> T:
        while True:
            try:
                return await ask(*args, **kwargs)
            except StoreClosed:
                raise
            except TryAgain as error:
                await asyncio.sleep(error.after_seconds)

    return asking


def whole(work: Work) -> Work:
    """Once started it completes, so that the result is known and the model is told, even if the call is
    interrupted meanwhile."""

    async def run(context: ToolContext, given: Any) -> ToolAnswer:
        doing = asyncio.ensure_future(patient(work)(context, given))
        try:
            return await asyncio.shield(doing)
        except asyncio.CancelledError:
            return await doing

    return run


async def heard(events: Listener, holds: Callable[[], Awaitable[bool]], seconds: float) -> bool:
    """Checks whenever there is a hint, and now and then, until the condition holds or the time is over;
    returns which."""
    try:
        async with asyncio.timeout(seconds):
            while not await holds():
                await _said(events)
            return True
    except TimeoutError:
        return False


async def _said(events: Listener) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(POLL_SECONDS):
            if await events.get() is None:
                # The bus is closed: only the clock is left.
                await asyncio.sleep(POLL_SECONDS)
