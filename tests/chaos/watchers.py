"""Watchers of the load: one stays connected, one reconnects, one reads slowly. Each continues where it was,
on any server, and reports what must never be shown to anybody."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Any, Literal

import aiohttp

from tests.api.serving import Client
from tests.api.watching import FeedRefused, Speaks, Watcher
from tests.chaos.clients import LATER, Clients

Manner = Literal["calm", "restless", "slow"]
MANNERS: tuple[Manner, ...] = ("calm", "restless", "slow")
# A server says something at least so often; one that is frozen or cut off says nothing.
SILENCE_SECONDS = 8.0
SLOWNESS_SECONDS = 0.01


class Roamer(Watcher):
    """Follows one chat on whatever server there is, until it is cancelled."""

    def __init__(
        self, clients: Clients, chat_id: str, manner: Manner, speaks: Speaks, chance: Random
    ) -> None:
        super().__init__(_nowhere(clients), f"chats/{chat_id}/feed", speaks)
        self.chat_id = chat_id
        self.manner: Manner = manner
        self.closings = 0
        # When the load is over even a restless one stays, or on a slow machine it would never hear the end.
        self.settled = False
        self._clients = clients
        self._chance = chance

    async def stay(self) -> None:
        while True:
            there = self._clients.addresses()
            if there:
                self._who = _somewhere(self._clients, self._chance.choice(there))
                try:
                    await self._connect()
                except (aiohttp.ClientError, ConnectionError, TimeoutError):
                    pass
                except FeedRefused as refused:
                    if refused.status not in LATER:
                        raise
            await asyncio.sleep(self._chance.uniform(0.05, 0.2))

    async def _connect(self) -> None:
        """One connection; given up when it is silent, as programs do that know a frozen server."""
        self.connections += 1
        leaves = asyncio.get_running_loop().time() + self._chance.uniform(0.05, 1.5)
        source = self._sse() if self._speaks == "sse" else self._websocket()
        try:
            while True:
                async with asyncio.timeout(SILENCE_SECONDS):
                    event = await anext(source, None)
                if event is None:
                    return
                self._take(*event)
                if (
                    asyncio.get_running_loop().time() > leaves
                    and self.manner == "restless"
                    and not self.settled
                ):
                    return
                if self.manner == "slow":
                    await asyncio.sleep(SLOWNESS_SECONDS)
        finally:
            await source.aclose()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - a generator

    def _take(self, name: str, event_id: str | None, data: dict[str, Any]) -> None:
        """I-9: what was shown and is now committed must be what was shown; else it had to be withdrawn."""
        if name == "closing":
            self.closings += 1
        if name == "message" and self.preview is not None and not data["message"]["compaction"]:
            parts = data["message"]["parts"]
            texts = "".join(part.get("text", "") for part in parts if part["type"] in ("text", "reasoning"))
            assert texts.startswith(self.preview.text) or _has_calls(parts), (
                f"{self.preview.text!r} was shown and became {texts!r}"
            )
        self.apply(name, event_id, data)


def _has_calls(parts: Sequence[dict[str, Any]]) -> bool:
    """The input of a call is shown as text while it is streamed."""
    return any(part["type"] == "tool_call" for part in parts)


def _somewhere(clients: Clients, address: str) -> Client:
    return Client(clients.session, address, clients.token)


def _nowhere(clients: Clients) -> Client:
    return _somewhere(clients, "")


class Audience:
    """All watchers of a round."""

    def __init__(self, clients: Clients, chance: Random) -> None:
        self.watchers: list[Roamer] = []
        self._clients = clients
        self._chance = chance
        self._tasks: list[asyncio.Task[None]] = []

    def watch(self, chat_id: str) -> None:
        """By one of each manner."""
        for manner in MANNERS:
            speaks: Speaks = self._chance.choice(("sse", "websocket"))
            watcher = Roamer(self._clients, chat_id, manner, speaks, self._chance)
            task = asyncio.create_task(watcher.stay())
            task.add_done_callback(watcher.note_end)
            self.watchers.append(watcher)
            self._tasks.append(task)

    async def leave(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)


@asynccontextmanager
async def audience(clients: Clients, chance: Random) -> AsyncGenerator[Audience]:
    made = Audience(clients, chance)
    try:
        yield made
    finally:
        await made.leave()
