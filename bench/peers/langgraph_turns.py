"""Durable turns by langgraph: a graph of an agent and its tools over the asynchronous savers, durability
"sync", as a contender. The plain graph, because the prebuilt agent is slower."""

# Its packages are in .venv-bench alone.
# pyright: basic, reportMissingImports=false

import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiosqlite
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from bench.measure import Stopwatch
from bench.peers.seeding import MESSAGE
from bench.serve import serve, side_by_side
from bench.task import Figures, Task

CONNECTIONS = 20


@tool
async def add(a: int, b: int) -> str:
    """Adds two numbers."""
    return str(a + b)


async def run(task: Task) -> Figures:
    stopwatch = Stopwatch(task)
    async with saver_of(task) as saver:
        graph = _graph(task, stopwatch, saver)
        count = task.at_once * task.each
        seeded = [await _seed(graph, task.history) for _ in range(count)] if task.history else []

        async def chat(_: int) -> None:
            for _ in range(task.each):
                thread_id = seeded.pop() if seeded else str(uuid.uuid4())
                await _turn(graph, thread_id, task)
                stopwatch.end(thread_id)

        await _turn(graph, str(uuid.uuid4()), task, history=0)
        return await stopwatch.time(side_by_side(task.at_once, chat), count * task.steps)


async def _turn(graph: CompiledStateGraph, thread_id: str, task: Task, history: int | None = None) -> None:
    state = await graph.ainvoke(
        {"messages": [HumanMessage("go")]},
        {"configurable": {"thread_id": thread_id}, "recursion_limit": task.steps * 2 + 1},
        durability="sync",
    )
    before = task.history if history is None else history
    if len(state["messages"]) != before + task.steps * 2:
        raise RuntimeError("the turn is not whole")


async def _seed(graph: CompiledStateGraph, messages: int) -> str:
    thread_id = str(uuid.uuid4())
    history = [HumanMessage(MESSAGE) if number % 2 == 0 else AIMessage(MESSAGE) for number in range(messages)]
    await graph.aupdate_state(
        {"configurable": {"thread_id": thread_id}}, {"messages": history}, as_node="agent"
    )
    return thread_id


def _graph(task: Task, stopwatch: Stopwatch, saver: BaseCheckpointSaver) -> CompiledStateGraph:
    model = _model(task)

    async def agent(state: MessagesState, config: RunnableConfig) -> dict[str, list[AnyMessage]]:
        stopwatch.lap(config["configurable"]["thread_id"])
        if model is not None:
            return {"messages": [await model.ainvoke(state["messages"])]}
        return {"messages": [_scripted(state["messages"], task.steps)]}

    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent)
    graph.add_node("tools", ToolNode([add]))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", tools_condition)
    graph.add_edge("tools", "agent")
    return graph.compile(checkpointer=saver)


def _model(task: Task) -> Any:
    if task.model_url is None:
        return None
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model="scripted", base_url=task.model_url, api_key="none").bind_tools([add])


def _scripted(messages: list[AnyMessage], steps: int) -> AIMessage:
    answered = 0
    for message in reversed(messages):
        if message.type == "human":
            break
        answered += message.type == "tool"
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    if answered == steps - 1:
        return AIMessage("done", usage_metadata=usage)
    call = {"name": "add", "args": {"a": 1, "b": 2}, "id": f"p{answered}"}
    return AIMessage("", tool_calls=[call], usage_metadata=usage)


@asynccontextmanager
async def saver_of(task: Task) -> AsyncGenerator[BaseCheckpointSaver]:
    if task.engine == "sqlite":
        async with aiosqlite.connect(Path(task.database) / "langgraph.db") as connection:
            saver = AsyncSqliteSaver(connection)
            await saver.setup()
            await connection.execute("PRAGMA synchronous = FULL")
            yield saver
        return
    # As its documentation says connections must be made.
    kwargs = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    async with AsyncConnectionPool(task.database, min_size=4, max_size=CONNECTIONS, kwargs=kwargs) as pool:
        saver = AsyncPostgresSaver(pool)
        await saver.setup()
        yield saver


if __name__ == "__main__":
    serve(run)
