"""The floor of live text, as a contender: `python -m bench.floor.streams`. The same clients as those of
Holdfast, at a server that only relays one model's stream each, or sends one stream to all."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import aiohttp

from bench.contender import ROOT
from bench.processes import memory_mb
from bench.serve import serve
from bench.task import Figures, Task
from bench.watching import Watcher, everybody, measure, watchers


async def run(task: Task) -> Figures:
    what = ("relay", task.model_url or "") if task.work == "stream" else ("fan_out",)
    async with (
        _server(*what) as (address, pid),
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session,
    ):
        before = memory_mb(pid)
        async with watchers(session, task.speaks, [f"{address}/feed"] * task.at_once, {}) as found:
            each = (memory_mb(pid) - before) * 1024 / task.at_once

            async def stream() -> None:
                for watcher in found:
                    watcher.again()
                async with session.post(f"{address}/go?count={task.each}"):
                    await _all_ended(found)

            await stream()
            figures = await measure(task, pid, found, stream)
            if task.work == "fan_out":
                figures.also["kB per watcher"] = each
            return figures


async def _all_ended(found: list[Watcher]) -> None:
    await everybody(found, lambda watcher: watcher.ended)


@asynccontextmanager
async def _server(*what: str) -> AsyncGenerator[tuple[str, int]]:
    """Its address and its process."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.floor.stream_server", *what),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        port = int(await process.stdout.readline())
        yield f"http://127.0.0.1:{port}", process.pid
    finally:
        process.kill()
        await process.wait()


if __name__ == "__main__":
    serve(run)
