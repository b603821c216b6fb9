"""ripgrep alone, as a contender: `python -m bench.peers.ripgrep_search`. Its output is read and discarded."""

import asyncio
from dataclasses import replace
from pathlib import Path

from bench.code_tree import code_tree_for
from bench.measure import Stopwatch
from bench.serve import serve
from bench.task import Figures, Task
from bench.trees import QUESTIONS, Question, find_ripgrep, tree_for


async def run(task: Task) -> Figures:
    program = find_ripgrep()
    if program is None:
        raise RuntimeError("ripgrep is not on this machine, and not in the peers' environment")
    code = task.work == "code"
    tree = code_tree_for(task) if code else tree_for(task)
    # Of source code, all of it is read.
    questions = (Question(None, "nowhere_to_be_found"),) if code else QUESTIONS
    watch = Stopwatch(task)

    async def work() -> None:
        for number in range(task.each):
            watch.lap("search")
            await _ask(program, tree, questions[number % len(questions)])
        watch.end("search")

    for question in questions:
        await _ask(program, tree, question)  # what is on the disk is in memory then, for everybody
    figures = await watch.time(work(), task.each)
    return replace(figures, also={"first s": figures.seconds / task.each}) if code else figures


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
