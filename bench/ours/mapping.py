"""Maps of source code as the tool makes them, as a contender: `python -m bench.ours.mapping`."""

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

from bench.code_tree import code_tree_for
from bench.measure import Stopwatch
from bench.serve import serve
from bench.task import Figures, Task
from holdfast.workspaces.code.code_indexes import CodeIndexes
from holdfast.workspaces.code.code_process import MapQuestion
from holdfast.workspaces.commands.limits import CommandLimits
from holdfast.workspaces.commands.wall_probe import probe
from holdfast.workspaces.commands.walled_programs import Walled
from holdfast.workspaces.files.file_root import Root

TOKENS = 2_000


async def run(task: Task) -> Figures:
    """The first map of a tree, and then some more of it while nothing changes."""
    tree = code_tree_for(task)
    with tempfile.TemporaryDirectory() as data:
        walled = Walled(probe(Path(data), cgroups=None, limits=CommandLimits()).wall, Path(data))
        return await _run(task, CodeIndexes(walled, Path(data)), Root(tree))


async def _run(task: Task, indexes: CodeIndexes, root: Root) -> Figures:
    watch, took = Stopwatch(task), list[float]()

    async def mapped() -> None:
        start = time.perf_counter()
        found = await indexes.ask(root, "bench", MapQuestion(below="", tokens=TOKENS))
        took.append(time.perf_counter() - start)
        if (found.files, found.left_out) != (task.files, 0):
            raise RuntimeError(f"{found.files} files were mapped and {found.left_out} left out")

    async def again() -> None:
        for _ in range(task.each):
            watch.lap("map")
            await mapped()
        watch.end("map")

    await mapped()
    figures = await watch.time(again(), task.each)
    return replace(figures, also={"first s": took[0], "again s": median(took[1:])})


if __name__ == "__main__":
    serve(run)
