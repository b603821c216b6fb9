"""A server that is killed again and again while chats stream and people watch: every turn comes to its end,
and every watcher holds exactly what the server says afterwards (I-8, F-01)."""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.api.serving import Client
from tests.api.watching import Speaks, Watcher
from tests.server.process import ServeProcess

pytestmark = pytest.mark.heavy

CHATS = 20
# A lease outlives its process on PostgreSQL: nobody but its owner knows that it is dead.
CONFIG = "[worker]\nlease_seconds = 3\n"
WORDS = " ".join(f"word{number}" for number in range(30))
SCRIPT = f"""\
pace: 0.03
say slowly: First {WORDS}
call: todo {{"items": [{{"text": "tea"}}]}}
think slowly: Second {WORDS}
say slowly: Third {WORDS}
"""


# What they speak, and whether they are restless.
KINDS: tuple[tuple[Speaks, bool], ...] = (("sse", False), ("websocket", False), ("sse", True))


class Comer(Watcher):
    """One who comes back whatever happens. A restless one leaves by itself now and then."""

    def __init__(
        self, server: ServeProcess, chat_id: str, speaks: Speaks, restless: random.Random | None
    ) -> None:
        super().__init__(server.admin, f"chats/{chat_id}/feed", speaks)
        self._server = server
        self._restless = restless

    async def stay(self) -> None:
        while True:
            self._who = self._server.admin
            try:
                async with asyncio.timeout(self._restless.uniform(0.05, 2) if self._restless else None):
                    await self.connect_once()
            except (aiohttp.ClientError, ConnectionError, TimeoutError):
                pass
            await asyncio.sleep(0.05)


@asynccontextmanager
async def staying(watchers: list[Comer]) -> AsyncGenerator[None]:
    tasks = [asyncio.create_task(watcher.stay()) for watcher in watchers]
    for watcher, task in zip(watchers, tasks, strict=True):
        task.add_done_callback(watcher.note_end)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


each_engine = pytest.mark.parametrize("engine", ["sqlite", "postgres"])


@pytest.mark.timeout(600)
@each_engine
async def test_nothing_is_lost(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    await kill_often(engine, tmp_path, request, 2)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@each_engine
async def test_nothing_is_lost_in_many_kills(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    await kill_often(engine, tmp_path, request, 8)


async def kill_often(engine: str, tmp_path: Path, request: pytest.FixtureRequest, kills: int) -> None:
    url: str | None = request.getfixturevalue("postgres_url") if engine == "postgres" else None
    async with ServeProcess(tmp_path, database=url, config=CONFIG) as server:
        await server.start()
        chats = [(await server.admin.start_chat(SCRIPT))["id"] for _ in range(CHATS)]
        watchers = [
            Comer(server, chat_id, speaks, random.Random(number) if restless else None)
            for number, chat_id in enumerate(chats)
            for speaks, restless in KINDS
        ]
        async with staying(watchers):
            for _ in range(kills):
                await _until_more_is_shown(watchers)
                server.kill()
                assert await server.ended() < 0
                await server.start()
            for chat_id in chats:
                await _until_done(server.admin, chat_id)
            for watcher in watchers:
                await watcher.until(lambda one: one.status == "idle" and one.preview is None)
        assert "Traceback" not in server.logged()
        for chat_id in chats:
            await _check(server.admin, chat_id, [one for one in watchers if chat_id in one.about])
        # Something was withdrawn, or there was nothing to prove.
        assert any("preview_reset" in watcher.names for watcher in watchers)


async def _until_more_is_shown(watchers: list[Comer]) -> None:
    """In the middle of most streams. Those that end meanwhile, as on a busy machine, count too."""
    before = [len(watcher.events) for watcher in watchers]
    streaming = [number for number, watcher in enumerate(watchers) if watcher.status != "idle"]
    async with asyncio.timeout(120):
        while True:
            moved = sum(
                watchers[number].status == "idle" or len(watchers[number].events) > before[number] + 10
                for number in streaming
            )
            if moved >= len(streaming) * 0.6:
                return
            await asyncio.sleep(0.02)


async def _until_done(admin: Client, chat_id: str) -> None:
    async with asyncio.timeout(240):
        while (await admin.chat(chat_id))["status"] != "idle":  # noqa: ASYNC110
            await asyncio.sleep(0.1)


async def _check(admin: Client, chat_id: str, watchers: list[Comer]) -> None:
    messages = await admin.messages(chat_id)
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant"]
    first, last = messages[1]["parts"], messages[3]["parts"]
    assert first[0]["text"] == f"First {WORDS}"
    assert [part["text"] for part in last] == [f"Second {WORDS}", f"Third {WORDS}"]
    said = [(one["id"], one["role"], one["parts"]) for one in messages]
    assert len(watchers) == 3
    for watcher in watchers:
        assert watcher.said == said
