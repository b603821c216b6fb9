"""Kill and start again, as a contender: `python -m bench.ours.recovery`. All turns are in their middle when
the server is killed; timed is from the start of the next process to the end of the last turn."""

import asyncio
import time

import aiohttp

from bench.ours.streams import serving
from bench.processes import cpu_seconds, peak_mb
from bench.serve import serve
from bench.task import Figures, Task
from tests.api.serving import Client

CONFIG = """
[worker]
max_chats = {chats}
max_per_user = {chats}
[providers.local]
kind = "openai"
base_url = "{url}"
api_key = "none"
[models.default]
provider = "local"
model = "held"
"""
STEPS = 10
ROLES = ["user", *["assistant", "tool"] * (STEPS - 1), "assistant"]


async def run(task: Task) -> Figures:
    assert task.model_url is not None
    model = task.model_url.removesuffix("/v1")
    config = CONFIG.format(chats=task.at_once, url=task.model_url)
    async with serving(task, config) as server:
        await _tell(server.session, model, "hold")
        chats = [(await server.admin.start_chat("go"))["id"] for _ in range(task.at_once)]
        while await _tell(server.session, model, "held") < task.at_once:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        server.kill()
        await server.ended()
        await _tell(server.session, model, "go")
        start = time.perf_counter()
        await server.start()
        ready = time.perf_counter()
        await _until_all_rest(server.admin)
        end = time.perf_counter()
        wrong = sum([not await _is_whole(server.admin, chat_id) for chat_id in chats])
        return Figures(
            count=task.at_once,
            seconds=end - start,
            cpu_seconds=cpu_seconds(server.pid),
            p50_ms=0.0,
            p99_ms=0.0,
            peak_mb=peak_mb(server.pid),
            also={"seconds": end - start, "ready after": ready - start, "chats lost or doubled": wrong},
        )


async def _tell(session: aiohttp.ClientSession, model: str, what: str) -> int:
    async with session.get(f"{model}/{what}") as response:
        return int(await response.text())


async def _until_all_rest(admin: Client) -> None:
    while (await admin.get("chats?status=running&limit=1")).json["items"]:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def _is_whole(admin: Client, chat_id: str) -> bool:
    """Every step once, every call with one result."""
    messages = await admin.messages(chat_id)
    outcomes = [part["outcome"] for one in messages if one["role"] == "tool" for part in one["parts"]]
    return [one["role"] for one in messages] == ROLES and outcomes == ["succeeded"] * (STEPS - 1)


if __name__ == "__main__":
    serve(run)
