"""Durable turns by openai-agents: its runner over a session, which stores every step before the next, as a
contender. On SQLite its own session, on PostgreSQL the one over SQLAlchemy and asyncpg."""

# Its packages are in .venv-bench alone.
# pyright: basic, reportMissingImports=false

import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agents import (
    Agent,
    Model,
    ModelResponse,
    Runner,
    SQLiteSession,
    Usage,
    function_tool,
    set_tracing_disabled,
)
from agents.extensions.memory import SQLAlchemySession
from agents.memory import Session
from agents.testing import assistant_message, function_call
from sqlalchemy.ext.asyncio import create_async_engine

from bench.measure import Stopwatch
from bench.serve import serve, side_by_side
from bench.task import Figures, Task

CONNECTIONS = 20


@function_tool
async def add(a: int, b: int) -> str:
    """Adds two numbers."""
    return str(a + b)


class Scripted(Model):
    def __init__(self, steps: int) -> None:
        self._calls = steps - 1

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:  # noqa: A002
        answered = 0
        for item in reversed(input):
            if item.get("role") == "user":
                break
            answered += item.get("type") == "function_call_output"
        if answered < self._calls:
            said = function_call("add", '{"a": 1, "b": 2}', call_id=f"p{answered}")
        else:
            said = assistant_message("done")
        usage = Usage(requests=1, input_tokens=10, output_tokens=5, total_tokens=15)
        return ModelResponse(output=[said], usage=usage, response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


class Timed(Model):
    """Tells the stopwatch when the model is called; one for each turn."""

    def __init__(self, model: Model, stopwatch: Stopwatch, name: str) -> None:
        self._model = model
        self._stopwatch = stopwatch
        self._name = name

    async def get_response(self, *arguments: Any, **more: Any) -> ModelResponse:
        self._stopwatch.lap(self._name)
        return await self._model.get_response(*arguments, **more)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


async def run(task: Task) -> Figures:
    if task.history:
        raise NotImplementedError("it is not measured with a history")
    set_tracing_disabled(True)
    stopwatch = Stopwatch(task)
    model = _model(task)
    async with _sessions(task) as open_session:

        async def turn() -> str:
            name = str(uuid.uuid4())
            session = open_session(name)
            agent = Agent(name="agent", model=Timed(model, stopwatch, name), tools=[add])
            result = await Runner.run(agent, "go", session=session, max_turns=task.steps)
            if result.final_output != "done" or len(await session.get_items()) != task.steps * 2:
                raise RuntimeError("the turn is not whole")
            if isinstance(session, SQLiteSession):
                session.close()
            return name

        async def chat(_: int) -> None:
            for _ in range(task.each):
                stopwatch.end(await turn())

        await turn()
        return await stopwatch.time(side_by_side(task.at_once, chat), task.at_once * task.each * task.steps)


def _model(task: Task) -> Model:
    if task.model_url is None:
        return Scripted(task.steps)
    from agents import OpenAIChatCompletionsModel
    from openai import AsyncOpenAI

    return OpenAIChatCompletionsModel("scripted", AsyncOpenAI(base_url=task.model_url, api_key="none"))


@asynccontextmanager
async def _sessions(task: Task) -> AsyncGenerator[Callable[[str], Session]]:
    if task.engine == "sqlite":
        # The file is in WAL mode and synchronous is FULL, which is SQLite's default.
        file = Path(task.database) / "agents.db"
        yield lambda name: SQLiteSession(name, file)
        return
    url = task.database.replace("postgresql://", "postgresql+asyncpg://", 1)
    engine = create_async_engine(url, pool_size=CONNECTIONS)
    try:
        await SQLAlchemySession("tables", engine=engine, create_tables=True).get_items()
        yield lambda name: SQLAlchemySession(name, engine=engine)
    finally:
        await engine.dispose()


if __name__ == "__main__":
    serve(run)
