"""Searches as the tools make them, as a contender: `python -m bench.ours.searching`."""

from bench.measure import Stopwatch
from bench.serve import serve
from bench.task import Figures, Task
from bench.trees import QUESTIONS, Question, find_ripgrep, tree_for
from holdfast.tools.search import MATCHES, NAMES
from holdfast.workspaces.beneath import Root
from holdfast.workspaces.scan import Request
from holdfast.workspaces.search import search


async def run(task: Task) -> Figures:
    """With ripgrep's help where it is there, unless the work says to do without."""
    ripgrep = find_ripgrep() if task.work == "search" else None
    root = Root(tree_for(task))
    watch = Stopwatch(task)

    async def work() -> None:
        for number in range(task.each):
            watch.lap("search")
            await _ask(root, QUESTIONS[number % len(QUESTIONS)], ripgrep)
        watch.end("search")

    for question in QUESTIONS:
        await _ask(root, question, ripgrep)
    return await watch.time(work(), task.each)


async def _ask(root: Root, question: Question, ripgrep: str | None) -> None:
    limit = NAMES if question.pattern is None else MATCHES
    request = Request(parts=(), glob=question.glob, pattern=question.pattern, limit=limit, ripgrep=ripgrep)
    found = await search(root, request, seconds=120.0)
    if question.pattern != "nowhere_to_be_found" and not found.lines:
        raise RuntimeError(f"nothing was found for {question}")


if __name__ == "__main__":
    serve(run)
