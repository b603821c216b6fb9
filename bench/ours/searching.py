"""Searches as the tools make them, as a contender: `python -m bench.ours.searching`."""

import tempfile
from pathlib import Path

from bench.measure import Stopwatch
from bench.serve import serve
from bench.task import Figures, Task
from bench.trees import QUESTIONS, Question, find_ripgrep, tree_for
from holdfast.tools.search import MATCHES, NAMES
from holdfast.workspaces.commands.limits import CommandLimits
from holdfast.workspaces.commands.wall_probe import probe
from holdfast.workspaces.commands.walled_programs import Walled
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.search.search_process import SearchRequest
from holdfast.workspaces.search.searches import search


async def run(task: Task) -> Figures:
    """With ripgrep's help where it is there, unless the work says to do without."""
    ripgrep = find_ripgrep() if task.work == "search" else None
    root = Root(tree_for(task))
    with tempfile.TemporaryDirectory() as data:
        return await _run(task, _wall(Path(data)), root, ripgrep)


def _wall(data: Path) -> Walled:
    return Walled(probe(data, cgroups=None, limits=CommandLimits()).wall, data)


async def _run(task: Task, walled: Walled, root: Root, ripgrep: str | None) -> Figures:
    watch = Stopwatch(task)

    async def work() -> None:
        for number in range(task.each):
            watch.lap("search")
            await _ask(walled, root, QUESTIONS[number % len(QUESTIONS)], ripgrep)
        watch.end("search")

    for question in QUESTIONS:
        await _ask(walled, root, question, ripgrep)
    return await watch.time(work(), task.each)


async def _ask(walled: Walled, root: Root, question: Question, ripgrep: str | None) -> None:
    limit = NAMES if question.pattern is None else MATCHES
    request = SearchRequest(
        parts=(), glob=question.glob, pattern=question.pattern, limit=limit, ripgrep=ripgrep
    )
    found = await search(walled, root, request, seconds=120.0)
    if question.pattern != "nowhere_to_be_found" and not found.lines:
        raise RuntimeError(f"nothing was found for {question}")


if __name__ == "__main__":
    serve(run)
