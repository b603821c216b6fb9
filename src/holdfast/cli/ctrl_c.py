"""Ctrl-C while something is followed that goes on by itself: the first stops it, the second leaves."""

import asyncio
import signal
import sys
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar

from holdfast.cli.client import Client
from holdfast.core.errors import HoldfastError

T = TypeVar("T")

# For how long a server that went away is waited for, to be told of it.
_PATIENCE_SECONDS = 10.0


class CtrlC(Generic[T]):
    """`begun` is what is followed, once there is something to stop; before that, Ctrl-C just leaves. `stop`
    gives the path that is posted to."""

    def __init__(
        self,
        client: Client,
        begun: "asyncio.Future[T]",
        following: "asyncio.Task[Any]",
        stop: Callable[[T], str],
    ) -> None:
        self.pressed = False
        self._client = client
        self._begun = begun
        self._following = following
        self._stop = stop
        self._stopping: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._press)
        return self

    async def __aexit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
        if self._stopping is not None:
            self._stopping.cancel()
            await asyncio.gather(self._stopping, return_exceptions=True)

    def _press(self) -> None:
        if self.pressed or not self._begun.done():
            self._following.cancel()
        else:
            self._stopping = asyncio.create_task(self._say_so(self._stop(self._begun.result())))
        self.pressed = True

    async def _say_so(self, path: str) -> None:
        self._client.patience_seconds = _PATIENCE_SECONDS
        try:
            await self._client.post(path, object)
        except HoldfastError as error:
            print(f"holdfast: {error.text}", file=sys.stderr)
