"""Live text through a whole server, as a contender: `python -m bench.ours.streams`. A model behind loopback
HTTP says words as fast as it can; they go through worker, feed and connection to clients in this process."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.processes import memory_mb
from bench.serve import serve
from bench.task import Figures, Task
from bench.watching import Watcher, everybody, measure, watchers
from tests.server.process import ServeProcess

CONFIG = """
[worker]
max_chats = 200
max_per_user = 200
[providers.local]
kind = "openai"
base_url = "{url}"
api_key = "none"
[models.default]
provider = "local"
model = "stream-1"
[models.words]
provider = "local"
model = "stream-{words}"
"""


async def run(task: Task) -> Figures:
    async with serving(task, CONFIG.format(url=task.model_url, words=task.each)) as server:
        return await (_stream(task, server) if task.work == "stream" else _fan_out(task, server))


@asynccontextmanager
async def serving(task: Task, config: str) -> AsyncGenerator[ServeProcess]:
    """A server process with a database of its own, as a person would start it."""
    sqlite = task.engine == "sqlite"
    with TemporaryDirectory() as elsewhere:
        place = Path(task.database if sqlite else elsewhere)
        async with ServeProcess(place, database=None if sqlite else task.database, config=config) as server:
            await server.start()
            yield server


async def _stream(task: Task, server: ServeProcess) -> Figures:
    chats = [await _idle_chat(server) for _ in range(task.at_once)]
    urls = [f"{server.address}/api/v1/chats/{chat_id}/feed" for chat_id in chats]
    async with watchers(server.session, task.speaks, urls, _headers(server)) as found:
        await _say_words(server, chats, found)
        return await measure(task, server.pid, found, lambda: _say_words(server, chats, found))


async def _fan_out(task: Task, server: ServeProcess) -> Figures:
    chat_id = await _idle_chat(server)
    url = f"{server.address}/api/v1/chats/{chat_id}/feed"
    async with watchers(server.session, task.speaks, [url], _headers(server)) as alone:
        await _say_words(server, [chat_id], alone)
    before = memory_mb(server.pid)
    async with watchers(server.session, task.speaks, [url] * task.at_once, _headers(server)) as found:
        await asyncio.sleep(1)
        each = (memory_mb(server.pid) - before) * 1024 / task.at_once
        figures = await measure(task, server.pid, found, lambda: _say_words(server, [chat_id], found))
        figures.also["kB per watcher"] = each
        return figures


async def _idle_chat(server: ServeProcess) -> str:
    chat = await server.admin.start_chat("hello")
    await server.admin.until_settled(chat["id"])
    return chat["id"]


async def _say_words(server: ServeProcess, chats: list[str], found: list[Watcher]) -> None:
    """In each of the chats, until every watcher has the message."""
    for watcher in found:
        watcher.again()
    body = {"content": "go", "model": "words"}
    answers = await asyncio.gather(*(server.admin.post(f"chats/{chat}/messages", body) for chat in chats))
    assert all(answer.status == 201 for answer in answers), answers
    await everybody(found, lambda watcher: watcher.ended)


def _headers(server: ServeProcess) -> dict[str, str]:
    return {"Authorization": f"Bearer {server.admin.token}"}


if __name__ == "__main__":
    serve(run)
