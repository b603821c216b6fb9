"""Many agents at once by langgraph's functional interface: each a task over the asynchronous savers,
durability "sync". Answers are cached in memory so that the same once more runs none of them: its cache in
SQLite did not come to an end with so many."""

# Its packages are in .venv-bench alone.
# pyright: basic, reportMissingImports=false

import time
import uuid
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.cache.memory import InMemoryCache
from langgraph.func import entrypoint, task
from langgraph.types import CachePolicy

from bench.measure import Stopwatch
from bench.peers.langgraph_turns import saver_of
from bench.serve import serve
from bench.task import Figures, Task


async def run(asked: Task) -> Figures:
    stopwatch = Stopwatch(asked)
    calls = 0

    @task(cache_policy=CachePolicy())
    async def agent(prompt: str) -> str:
        nonlocal calls
        calls += 1
        stopwatch.lap(prompt)
        answer = AIMessage(
            "done", usage_metadata={"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        )
        return str(answer.content)

    async with saver_of(asked) as saver:

        @entrypoint(checkpointer=saver, cache=InMemoryCache())
        async def flow(prompts: list[str]) -> list[str]:
            started = [agent(prompt) for prompt in prompts]
            return [await one for one in started]

        async def ran(name: str, agents: int) -> list[str]:
            prompts = [f"agent {name} {number}" for number in range(agents)]
            config: Any = {
                "configurable": {"thread_id": str(uuid.uuid4())},
                "max_concurrency": asked.at_once,
            }
            said = await flow.ainvoke(prompts, config, durability="sync")
            if len(said) != agents:
                raise RuntimeError("the run is not whole")
            return prompts

        await ran("first", 2)

        async def work() -> None:
            for prompt in await ran("all", asked.each):
                stopwatch.end(prompt)

        figures = await stopwatch.time(work(), asked.each)
        calls, start = 0, time.perf_counter()
        await ran("all", asked.each)
        figures.also["again ms"] = (time.perf_counter() - start) * 1000
        if calls:
            raise RuntimeError("not everything was reused")
        return figures


if __name__ == "__main__":
    serve(run)
