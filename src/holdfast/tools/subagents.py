"""The tools for sub-agents under the names that other programs use: start a task, ask for its progress, get
its result. They are the same sub-agents."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, to_builtins

from holdfast.core.chats import Chat
from holdfast.core.shapes import Record
from holdfast.core.text import one_line
from holdfast.core.usage import Usage
from holdfast.store import chats
from holdfast.store.children import Child
from holdfast.tools.agents import Agents
from holdfast.tools.contract import Input, Tool, ToolAnswer, ToolContext, ToolError
from holdfast.tools.end_results import words_of
from holdfast.tools.ends import said
from holdfast.tools.family import AgentFamily
from holdfast.tools.spawn import SpawnAgent
from holdfast.tools.waits import patient, whole

SUMMARY_LENGTH = 200
NOT_READY = "not ready"
# Calls of the same step that report ends come first, and may wait themselves.
TURN_SECONDS = 50.0

TaskStatus = Literal["pending", "running", "completed", "failed", "cancelled"]


class SpawnSubagent(Input, frozen=True, kw_only=True):
    input: Annotated[
        str,
        Meta(
            min_length=1,
            description="The whole task: it does not see this conversation.",
            examples=["Summarise docs/design.md in ten lines."],
        ),
    ]
    model: Annotated[str | None, Meta(description="Another model than yours.")] = None
    agent: Annotated[str | None, Meta(description="The named agent to start it as.")] = None
    label: Annotated[str | None, Meta(description="A few words to identify it.")] = None


class OneTask(Input, frozen=True, kw_only=True):
    task_id: Annotated[
        str,
        Meta(
            max_length=36,
            description="The task_id from spawn_subagent.",
            examples=["0199c000-0000-7000-8000-000000000001"],
        ),
    ]


class Started(Record, frozen=True, kw_only=True):
    task_id: str
    status: TaskStatus
    chat_id: str
    created_at: datetime


class TaskProgress(Record, frozen=True, kw_only=True):
    status: TaskStatus
    output_summary: str
    elapsed_seconds: float
    finished_at: datetime | None


class TaskResult(Record, frozen=True, kw_only=True, omit_defaults=True):
    output: str
    token_usage: Usage
    # Why it failed.
    error: str | None = None


def subagent_tools(family: AgentFamily) -> tuple[Tool, ...]:
    tasks = Tasks(family)
    return (
        Tool(
            name="spawn_subagent",
            description="Start a sub-agent on a task, as spawn_agent does. Returns its task_id at once.",
            input=SpawnSubagent,
            run=whole(tasks.spawn),
            effect="idempotent",
            planning="run",
            traits=("starts_agent",),
        ),
        Tool(
            name="subagent_status",
            description="The progress of a sub-agent's task.",
            input=OneTask,
            run=patient(tasks.status),
            effect="read",
        ),
        Tool(
            name="subagent_result",
            description='The result of a sub-agent\'s task, or "not ready" while it is running.',
            input=OneTask,
            run=patient(tasks.result),
            effect="read",
            traits=("hands_over_ends",),
        ),
    )


class Tasks:
    def __init__(self, family: AgentFamily) -> None:
        self._family = family
        self._store = family.store
        self._agents = Agents(family)

    async def spawn(self, context: ToolContext, wanted: SpawnSubagent) -> ToolAnswer:
        as_agent = SpawnAgent(prompt=wanted.input, label=wanted.label, model=wanted.model, agent=wanted.agent)
        child = await self._agents.spawning.start(context, as_agent)
        started = Started(
            task_id=child.id,
            status=status_of(await self._chat(child), child),
            chat_id=child.id,
            created_at=child.created_at,
        )
        return ToolAnswer(output=to_builtins(started))

    async def status(self, context: ToolContext, wanted: OneTask) -> ToolAnswer:
        child = await self._agents.own(context, wanted.task_id)
        chat = await self._chat(child)
        until = self._family.clock.now() if child.busy else child.finished_at or child.created_at
        summary = chat.summary or await said(self._store, child.id, child.answer_id)
        progress = TaskProgress(
            status=status_of(chat, child),
            output_summary=one_line(summary, SUMMARY_LENGTH),
            elapsed_seconds=round(max((until - child.created_at).total_seconds(), 0.0), 3),
            finished_at=None if child.busy else child.finished_at,
        )
        return ToolAnswer(output=to_builtins(progress))

    async def result(self, context: ToolContext, wanted: OneTask) -> ToolAnswer:
        """Asked for again it is returned again, but only the first time takes the waiting end."""
        child = await self._agents.own(context, wanted.task_id)
        if child.busy:
            return ToolAnswer(output=NOT_READY)
        news = await self._agents.handing.wait(context, (child.id,), TURN_SECONDS)
        chat = await self._chat(child)
        if news.too_early or chat.status not in ("idle", "error"):
            return ToolAnswer(output=NOT_READY)
        output = words_of(news.ends) or await said(self._store, child.id, child.answer_id)
        error = None if child.failure is None else child.failure.message
        result = TaskResult(output=output, token_usage=chat.usage, error=error)
        return ToolAnswer(output=to_builtins(result), consumes=news.keys)

    async def _chat(self, child: Child) -> Chat:
        found = await self._store.read(chats.chat(child.id))
        if found is None:
            raise ToolError("The sub-agent was deleted meanwhile.")
        return found


def status_of(chat: Chat, child: Child) -> TaskStatus:
    match chat.status:
        case "running" | "interrupting" | "requires_action":
            return "pending" if chat.waiting == "capacity" else "running"
        case "error":
            return "failed"
        case "idle":
            return "cancelled" if child.outcome == "interrupted" else "completed"
