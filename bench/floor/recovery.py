"""The floor of a recovery, as a contender: `python -m bench.floor.recovery`. A process is started that does
the commits that the turns still need, and nothing else."""

import asyncio
import sys
import time
from pathlib import Path

from bench.contender import ROOT
from bench.floor.load import COMMITS_OF_A_STEP, Commit, id_of
from bench.floor.recorded import of_a_step
from bench.floor.sqlite import SqliteFloor
from bench.serve import serve, side_by_side
from bench.task import Figures, Task

STEPS_LEFT = 5


async def run(task: Task) -> Figures:
    """Writes what the first process would have written, then has the second one go on."""
    file = Path(task.database) / "floor.db"
    floor = SqliteFloor(file)
    await floor.create([id_of(number) for number in range(task.at_once)])
    await floor.close()
    start = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.floor.recovery", str(file), str(task.at_once)), cwd=ROOT
    )
    if await process.wait() != 0:
        raise RuntimeError("the floor failed")
    seconds = time.perf_counter() - start
    return Figures(
        count=task.at_once,
        seconds=seconds,
        cpu_seconds=0.0,
        p50_ms=0.0,
        p99_ms=0.0,
        peak_mb=0.0,
        also={"seconds": seconds},
    )


async def go_on(file: Path, chats: int) -> None:
    floor = SqliteFloor(file, create=False)
    fillings = of_a_step("sqlite")

    async def finish(number: int) -> None:
        for version in range(1, STEPS_LEFT * COMMITS_OF_A_STEP + 1):
            await floor.commit(Commit(id_of(number), version, fillings[(version - 1) % 2]))

    await side_by_side(chats, finish)
    await floor.close()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(go_on(Path(sys.argv[1]), int(sys.argv[2])))
    else:
        serve(run)
