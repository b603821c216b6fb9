"""Tools that start and control sub-agents. A sub-agent is a chat below the one that started it: it has its
own instructions and history, and every budget above it applies to it. To all other chats it does not
exist."""

from collections.abc import Collection, Sequence
from typing import Annotated

from msgspec import Meta, to_builtins

from holdfast.chats.change import Refusal
from holdfast.chats.commands import Command, Send, Stop
from holdfast.core.ids import ChatId, is_uuid7
from holdfast.core.parts import Text
from holdfast.store import children, messages
from holdfast.store.children import Child
from holdfast.store.interface import Applied, Once
from holdfast.tools.chats import spoken
from holdfast.tools.contract import Input, Tool, ToolAnswer, ToolContext, ToolError
from holdfast.tools.end_results import EndResults, fitted, shown
from holdfast.tools.family import AgentFamily
from holdfast.tools.spawn import SpawnAgent, Spawning
from holdfast.tools.waits import heard, patient, whole

WAIT_SECONDS = 600
# A stopped sub-agent ends its calls within 5 s, or they are given up.
STOP_SECONDS = 20.0
SHOWN_MESSAGES = 20

AgentId = Annotated[
    str,
    Meta(
        description="The agent_id from spawn_agent.",
        max_length=36,
        examples=["0199c000-0000-7000-8000-000000000001"],
    ),
]


class WaitAgents(Input, frozen=True, kw_only=True):
    agent_ids: Annotated[
        Annotated[list[AgentId], Meta(max_length=100)] | None,
        Meta(description="The sub-agents to wait for; all if omitted."),
    ] = None
    timeout_seconds: Annotated[
        float,
        Meta(gt=0, le=3600, description="Return after this many seconds, finished or not.", examples=[120]),
    ] = WAIT_SECONDS


class ListAgents(Input, frozen=True, kw_only=True):
    pass


class OneAgent(Input, frozen=True, kw_only=True):
    agent_id: AgentId


class MessageAgent(Input, frozen=True, kw_only=True):
    agent_id: AgentId
    text: Annotated[
        str, Meta(min_length=1, description="The message for it.", examples=["Look at b.py too."])
    ]


def agent_tools(family: AgentFamily) -> tuple[Tool, ...]:
    agents = Agents(family)
    return (
        Tool(
            name="spawn_agent",
            description=(
                "Start a sub-agent that works on its own task while you continue. Returns its "
                "agent_id at once. Use several for independent parts, then wait_agents. You are "
                "told when it ends."
            ),
            input=SpawnAgent,
            run=whole(agents.spawn),
            # A repeated run finds the child that the first one started.
            effect="idempotent",
            planning="run",
            traits=("starts_agent",),
        ),
        Tool(
            name="wait_agents",
            description="Wait until sub-agents have ended (all, or those named) and get their results.",
            input=WaitAgents,
            run=patient(agents.wait),
            effect="read",
            traits=(
                "waits_for_children",
                "hands_over_ends",
            ),
            timeout_seconds=None,
        ),
        Tool(
            name="list_agents",
            description="Your sub-agents and their progress.",
            input=ListAgents,
            run=patient(agents.list),
            effect="read",
        ),
        Tool(
            name="message_agent",
            description="Send a message to a sub-agent; one that has ended or failed continues with it.",
            input=MessageAgent,
            run=whole(agents.message),
            effect="idempotent",
            planning="run",
        ),
        Tool(
            name="stop_agent",
            description=(
                "Stop a sub-agent, the messages in its queue, and its own sub-agents. What it did "
                "so far stays."
            ),
            input=OneAgent,
            run=whole(agents.stop),
            effect="idempotent",
            planning="run",
            traits=("hands_over_ends",),
        ),
        Tool(
            name="read_agent",
            description="The newest messages of a sub-agent, to see what it is doing.",
            input=OneAgent,
            run=patient(agents.read),
            effect="read",
        ),
    )


class Agents:
    def __init__(self, family: AgentFamily) -> None:
        self._family = family
        self._store = family.store
        self.spawning = Spawning(family)
        self.handing = EndResults(family)

    async def spawn(self, context: ToolContext, wanted: SpawnAgent) -> ToolAnswer:
        started = await self.spawning.start(context, wanted)
        return ToolAnswer(output={"agent_id": started.id, "status": "running"})

    async def wait(self, context: ToolContext, wanted: WaitAgents) -> ToolAnswer:
        meant = None if wanted.agent_ids is None else await self._own_ids(context, wanted.agent_ids)
        seconds = min(wanted.timeout_seconds, context.seconds or wanted.timeout_seconds)
        news = await self.handing.wait(context, meant, seconds)
        return ToolAnswer(output=fitted(news.shown), consumes=news.keys)

    async def list(self, context: ToolContext, _: ListAgents) -> ToolAnswer:
        found = await self._store.read(children.children(context.chat_id))
        return ToolAnswer(output=fitted([shown(child) for child in found]))

    async def message(self, context: ToolContext, wanted: MessageAgent) -> ToolAnswer:
        child = await self.own(context, wanted.agent_id)
        if not child.busy and self._family.isolation is not None:
            await self._family.isolation.resume(child)
        limit = self._family.limits().queue
        parts = (Text(text=wanted.text),)
        send = Send(parts=parts, busy="steer", created_by=context.owner_id, queue_limit=limit)
        await self._once(context, child.id, send)
        return ToolAnswer(output=f"{child.label or child.id} was told.")

    async def stop(self, context: ToolContext, wanted: OneAgent) -> ToolAnswer:
        """Downwards from it: one that is at rest starts no more sub-agents, so the next level is complete."""
        child = await self.own(context, wanted.agent_id)
        row: Collection[Child] = (child,)
        while row:
            for one in row:
                # One at rest may have a held message in its queue.
                await self._once(context, one.id, Stop())
            await self._rest(context, [one.id for one in row])
            below = [await self._store.read(children.children(one.id)) for one in row]
            row = [one for found in below for one in found]
        news = await self.handing.wait(context, (child.id,), STOP_SECONDS)
        return ToolAnswer(output=to_builtins(news.shown[0] if news.shown else None), consumes=news.keys)

    async def _rest(self, context: ToolContext, chat_ids: Sequence[ChatId]) -> None:
        async def at_rest() -> bool:
            return not any(child.busy for child in await self._store.read(children.some(chat_ids)))

        async with self._family.bus.listen(owner_id=context.owner_id) as events:
            await heard(events, at_rest, STOP_SECONDS)

    async def _once(self, context: ToolContext, child_id: ChatId, command: Command) -> None:
        """A repeated run of the same call changes nothing."""
        once = Once(
            user_id=context.owner_id,
            method="tool",
            path=child_id,
            key=context.key,
            fingerprint="",
            respond=_done,
        )
        outcome = await self._store.transition(child_id, command, once=once, on_behalf=context.fence)
        if isinstance(outcome, Refusal):
            raise ToolError(outcome.text)

    async def read(self, context: ToolContext, wanted: OneAgent) -> ToolAnswer:
        child = await self.own(context, wanted.agent_id)
        newest = await self._store.read(messages.newest(child.id, limit=SHOWN_MESSAGES))
        told = [said for message in newest if (said := spoken(message)) is not None]
        return ToolAnswer(output={"agent": to_builtins(shown(child)), "messages": told})

    async def own(self, context: ToolContext, agent_id: str) -> Child:
        """A chat below this one; no other chats exist for its agent."""
        if is_uuid7(agent_id):
            child_id = ChatId(agent_id)
            found, line = await self._store.read(children.child(child_id), children.line(child_id))
            if found is not None and context.chat_id in line[1:]:
                return found
        raise ToolError(f"You have no sub-agent {agent_id[:64]!r}; list_agents shows those you have.")

    async def _own_ids(self, context: ToolContext, agent_ids: Sequence[str]) -> tuple[ChatId, ...]:
        return tuple([(await self.own(context, agent_id)).id for agent_id in dict.fromkeys(agent_ids)])


def _done(_: Applied) -> tuple[int, bytes]:
    return 200, b""
