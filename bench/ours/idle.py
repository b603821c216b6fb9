"""A server with nothing to do, as a contender: `python -m bench.ours.idle`. It has very many chats and a few
hundred watchers; timed is from the start of the process until it answers."""

import asyncio
import signal
import time

import asyncpg

from bench.ours.opened import opened
from bench.ours.seeded import seed
from bench.ours.streams import serving
from bench.processes import cpu_seconds, memory_mb, peak_mb, resident_mb
from bench.serve import serve
from bench.task import Figures, Task
from bench.watching import watchers
from holdfast.core.ids import UserId

IDLE_SECONDS = 10.0
# Watchers before those that are weighed: the first of anything brings along what all the others share.
FIRST = 200


async def run(task: Task) -> Figures:
    async with serving(task, "") as server:
        owner = UserId((await server.admin.get("session")).json["user"]["id"])
        server.signal(signal.SIGTERM)
        await server.ended()
        async with opened(task, data=server.data) as (store, _):
            chats = await seed(store, task.each, 2, owner=owner)
        start = time.perf_counter()
        await server.start()
        ready = time.perf_counter() - start
        await asyncio.sleep(1)
        base = resident_mb(server.pid)
        feeds = [f"{server.address}/api/v1/chats/{chat}/feed" for chat in chats[: FIRST + task.at_once]]
        headers = {"Authorization": f"Bearer {server.admin.token}"}
        async with watchers(server.session, task.speaks, feeds[:FIRST], headers):
            await asyncio.sleep(1)
            before = memory_mb(server.pid)
            async with watchers(server.session, task.speaks, feeds[FIRST:], headers):
                await asyncio.sleep(1)
                each = (memory_mb(server.pid) - before) * 1024 / task.at_once
                cpu, queries = cpu_seconds(server.pid), await _transactions(task)
                await asyncio.sleep(IDLE_SECONDS)
                cpu = cpu_seconds(server.pid) - cpu
                queries = await _transactions(task) - queries
        also = {
            "ready after": ready,
            "base MB": base,
            "kB per watcher": each,
            "CPU s a minute": cpu * 60 / IDLE_SECONDS,
        }
        if task.engine == "postgres":
            also["queries a minute"] = queries * 60 / IDLE_SECONDS
        return Figures(
            count=task.each,
            seconds=ready,
            cpu_seconds=cpu,
            p50_ms=0.0,
            p99_ms=0.0,
            peak_mb=peak_mb(server.pid),
            also=also,
        )


async def _transactions(task: Task) -> int:
    """So far, of this database; SQLite counts none."""
    if task.engine == "sqlite":
        return 0
    connection = await asyncpg.connect(task.database)
    try:
        await connection.execute("SELECT pg_stat_clear_snapshot()")
        found = await connection.fetchval(
            "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
        )
        return int(found)
    finally:
        await connection.close()


if __name__ == "__main__":
    serve(run)
