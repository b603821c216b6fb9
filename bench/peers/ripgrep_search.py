"""ripgrep alone, as a contender: `python -m bench.peers.ripgrep_search`. Its output is read and discarded."""

import asyncio
from pathlib import Path

from bench.measure import Stopwatch
from bench.serve import serve
from bench.task import Figures, Task
from bench.trees import QUESTIONS, Question, find_ripgrep, tree_for


async def run(task: Task) -> Figures:
    program = find_ripgrep()
    if program is None:
        raise RuntimeError("ripgrep is not on this machine, and not in the peers' environment")
    tree = tree_for(task)
    watch = Stopwatch(task)

    async def work() -> None:
        for number in range(task.each):
            watch.lap("search")
            await _ask(program, tree, QUESTIONS[number % len(QUESTIONS)])
        watch.end("search")

    for question in QUESTIONS:
        await _ask(program, tree, question)  # what is on the disk is in memory then, for everybody
    return await watch.time(work(), task.each)


async def _ask(program: str, tree: Path, question: Question) -> None:
    glob = () if question.glob is None else ("--glob", question.glob)
    what = ("--files",) if question.pattern is None else ("--line-number", "--regexp", question.pattern)
    process = await asyncio.create_subprocess_exec(
        program,
        "--no-config",
        "--hidden",
        "--no-require-git",
        *what,
        *glob,
        "./",
        cwd=tree,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    await process.communicate()


if __name__ == "__main__":
    serve(run)
