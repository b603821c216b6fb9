"""What a server holds: descriptors, threads, children, memory, connections to the database, tasks. Sampled
from outside, for what must return to its baseline when the load is over, and for the soak."""

import asyncio
import os
import re
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from tests.chaos.stage import DATABASE, Stage

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# As /metrics has them.
_TASKS, _LEASES_LOST = "holdfast_tasks", "holdfast_leases_lost_total"
# After the end everything is back within so long: a pool keeps connections that nobody needs for a minute.
BACK_SECONDS = 90.0
# Connections are kept for the next request, threads for the next call: so much more is no leak.
SPARE = {"descriptors": 12, "threads": 10, "tasks": 12, "children": 0, "connections": 12}


@dataclass(frozen=True)
class Sample:
    """Of all servers of a stage together."""

    descriptors: int
    threads: int
    tasks: int
    children: int
    connections: int
    resident_bytes: int
    # While nothing is broken, each one is a takeover of work whose owner lives.
    leases_lost: int

    def above(self, base: "Sample") -> dict[str, int]:
        """What is more than the base line and what is kept to spare."""
        more = {name: getattr(self, name) - getattr(base, name) for name in SPARE}
        return {name: number for name, number in more.items() if number > SPARE[name]}


async def sample(stage: Stage) -> Sample:
    pids = [server.process.pid for server in stage.servers if server.process.alive]
    held = [await asyncio.to_thread(_of_process, pid) for pid in pids]
    metrics = [await _metrics(stage, address) for address in stage.healthy()]
    return Sample(
        descriptors=sum(one[0] for one in held),
        threads=sum(one[1] for one in held),
        tasks=sum(_value(text, _TASKS) for text in metrics),
        children=sum(one[2] for one in held),
        connections=await _connections(stage),
        resident_bytes=sum(one[3] for one in held),
        leases_lost=sum(_value(text, _LEASES_LOST) for text in metrics),
    )


async def not_back(stage: Stage, base: Sample) -> dict[str, int]:
    """What is still held when it should long be let go."""
    deadline = asyncio.get_running_loop().time() + BACK_SECONDS
    while True:
        above = (await sample(stage)).above(base)
        if not above or asyncio.get_running_loop().time() > deadline:
            return above
        await asyncio.sleep(1)


def _of_process(pid: int) -> tuple[int, int, int, int]:
    here = Path("/proc") / str(pid)
    threads = list((here / "task").iterdir())
    children = sum(len((thread / "children").read_text().split()) for thread in threads)
    resident = int((here / "statm").read_text().split()[1]) * PAGE_BYTES
    return len(list((here / "fd").iterdir())), len(threads), children, resident


async def _metrics(stage: Stage, address: str) -> str:
    headers = {"Authorization": f"Bearer {stage.observer.token}"}
    async with stage.session.get(f"{address}/api/v1/metrics", headers=headers) as answer:
        return await answer.text()


def _value(metrics: str, name: str) -> int:
    found = re.search(rf"^{name} (\S+)", metrics, re.MULTILINE)
    assert found is not None, f"a server tells {name}"
    return int(float(found[1]))


async def _connections(stage: Stage) -> int:
    if stage.postgres is None:
        return 0
    connection = await asyncpg.connect(stage.postgres.admin_url, timeout=30)
    try:
        count = "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()"
        return int(await connection.fetchval(count, DATABASE))
    finally:
        await connection.close()
