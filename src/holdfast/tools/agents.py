"""Tools that start and look after sub-agents. A sub-agent is a chat below the one that started it: it has its
own instruction and history, and is bound by every budget above it. Its end reaches the parent once: taken by
`wait_agents` in the commit that stores its result, or else as a notice."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, cast

from msgspec import Meta

from holdfast.bus.listener import Listener
from holdfast.chats.change import Refusal
from holdfast.chats.commands import Command, Create, DeliveryKey, Send, Stop
from holdfast.core.chats import Settings
from holdfast.core.ids import ChatId, is_uuid7
from holdfast.core.parts import Text
from holdfast.core.shapes import Json, Record
from holdfast.core.text import one_line
from holdfast.core.usage import Budget
from holdfast.store import budgets, chats, children, choices, deliveries, messages, named_agents
from holdfast.store.children import Child
from holdfast.store.interface import Applied, Once
from holdfast.tools.contract import Answer, Context, Input, Tool, ToolError
from holdfast.tools.family import Family

INSTRUCTIONS = (
    "You are a sub-agent: another agent started you for one task and reads only your last message. Do the "
    "task, then answer with the result itself: what you found or did, where, and what is still open."
)
LABEL_LENGTH = 80
WAIT_SECONDS = 600
POLL_SECONDS = 2.0
SHOWN_MESSAGES = 20

AgentId = Annotated[str, Meta(description="As spawn_agent gave it.", max_length=36)]


class AgentBudget(Input, frozen=True, kw_only=True):
    tokens: Annotated[int, Meta(ge=1, description="At most so many tokens.")] | None = None
    cost_usd_micros: Annotated[int, Meta(ge=1, description="At most so much, in millionths.")] | None = None


class SpawnAgent(Input, frozen=True, kw_only=True):
    prompt: Annotated[
        str,
        Meta(
            min_length=1,
            description="The whole task: it sees nothing of this conversation.",
            examples=["Find every caller of parse() and say which of them ignore its error."],
        ),
    ]
    label: Annotated[str, Meta(max_length=200, description="A few words to tell it apart.")] | None = None
    model: Annotated[str, Meta(description="Another model than this chat's.")] | None = None
    agent: Annotated[str, Meta(description="The named agent it is started as.")] | None = None
    tools: Annotated[list[str], Meta(description="Only these tools; without it, all you have.")] | None = None
    budget: AgentBudget | None = None


class WaitAgents(Input, frozen=True, kw_only=True):
    agent_ids: Annotated[list[AgentId], Meta(description="Those to wait for; without it, all.")] | None = None
    timeout_seconds: Annotated[
        float, Meta(gt=0, le=3600, description="Come back after so long, done or not.", examples=[120])
    ] = WAIT_SECONDS


class ListAgents(Input, frozen=True, kw_only=True):
    pass


class OneAgent(Input, frozen=True, kw_only=True):
    agent_id: AgentId


class MessageAgent(Input, frozen=True, kw_only=True):
    agent_id: AgentId
    text: Annotated[
        str, Meta(min_length=1, description="What it is told next.", examples=["Look at b.py too."])
    ]


class AgentShown(Record, frozen=True, kw_only=True, omit_defaults=True):
    agent_id: ChatId
    label: str
    # running, needs_person, done, failed or stopped.
    status: str
    result: str | None = None
    error: str | None = None


def agent_tools(family: Family) -> tuple[Tool, ...]:
    agents = _Agents(family)
    return (
        Tool(
            name="spawn_agent",
            description=(
                "Start a sub-agent that works on a task of its own while you go on. Returns its agent_id at "
                "once. Use several for independent parts, then wait_agents. You are told when it ends."
            ),
            input=SpawnAgent,
            run=agents.spawn,
            # A repeated run finds the child that the first one started.
            effect="idempotent",
        ),
        Tool(
            name="wait_agents",
            description="Wait until sub-agents have ended (all, or those named) and get their results.",
            input=WaitAgents,
            run=agents.wait,
            effect="read",
            timeout_seconds=None,
        ),
        Tool(
            name="list_agents",
            description="Your sub-agents and how far each is.",
            input=ListAgents,
            run=agents.list,
            effect="read",
        ),
        Tool(
            name="message_agent",
            description="Tell a sub-agent something; one that has ended or failed goes on with it.",
            input=MessageAgent,
            run=agents.message,
            effect="idempotent",
        ),
        Tool(
            name="stop_agent",
            description="Stop a sub-agent and what waits in its queue. What it did so far stays.",
            input=OneAgent,
            run=agents.stop,
            effect="idempotent",
        ),
        Tool(
            name="read_agent",
            description="The newest messages of a sub-agent, to see what it is doing.",
            input=OneAgent,
            run=agents.read,
            effect="read",
        ),
    )


class _Agents:
    def __init__(self, family: Family) -> None:
        self._family = family
        self._store = family.store

    async def spawn(self, context: Context, wanted: SpawnAgent) -> Answer:
        started = await self.started(context, wanted)
        return Answer(output={"agent_id": started.id, "status": "running"})

    async def started(self, context: Context, wanted: SpawnAgent) -> Child:
        """The child of this call: the one it started before, or a new one."""
        before = await self._store.read(children.child_of_call(context.chat_id, context.call_id))
        if before is not None:
            return before
        create = await self._create(context, wanted)
        child_id = ChatId(self._family.ids.uuid7(self._family.clock.now()))
        _refuse(await self._store.transition(child_id, create))
        made = await self._store.read(children.child(child_id))
        if made is None:
            raise ToolError("The sub-agent was deleted as soon as it was started.")
        return made

    async def _create(self, context: Context, wanted: SpawnAgent) -> Create:
        parent, standing, caps, chosen = await self._store.read(
            chats.chat(context.chat_id),
            chats.standing(context.chat_id),
            budgets.caps(context.chat_id),
            choices.settings(context.chat_id),
        )
        if parent is None or standing is None or chosen is None:
            raise ToolError("This chat is gone.")
        limits = self._family.limits()
        if standing.depth >= limits.depth:
            raise ToolError(
                f"Sub-agents may be {limits.depth} deep and you are one of the deepest: do it yourself."
            )
        if standing.children >= limits.per_chat:
            raise ToolError(
                f"You have {standing.children} sub-agents, which is the limit. Give them more work with "
                "message_agent, or do it yourself."
            )
        if wanted.model is not None:
            self._family.check_model(wanted.model)
        agent_id = None
        if wanted.agent is not None:
            named = await self._store.read(named_agents.named(wanted.agent, context.owner_id))
            if named is None:
                raise ToolError(f"There is no named agent {wanted.agent[:100]!r}.")
            agent_id = named.id
        settings = Settings(
            title=one_line(wanted.label or wanted.prompt, LABEL_LENGTH),
            title_source="person" if wanted.label else "none",
            model=wanted.model or chosen.model,
            effort=None if wanted.model else chosen.effort,
            workspace_id=chosen.workspace_id,
            agent=agent_id,
            instructions=INSTRUCTIONS,
            tools=_tools(chosen.tools, wanted.tools),
            budget=cap_of(wanted.budget, caps),
        )
        return Create(
            owner_id=context.owner_id,
            settings=settings,
            parts=(Text(text=wanted.prompt),),
            parent_id=context.chat_id,
            parent_call_id=context.call_id,
            root_id=parent.root_id,
        )

    async def wait(self, context: Context, wanted: WaitAgents) -> Answer:
        """Woken by hints that a child's end waits for this chat, and by a poll."""
        with suppress(TimeoutError):
            async with (
                asyncio.timeout(wanted.timeout_seconds),
                self._family.bus.listen(chat_id=context.chat_id, live=False) as events,
            ):
                while any(child.busy for child in await self._meant(context, wanted.agent_ids)):
                    await _heard(events)
        meant = await self._meant(context, wanted.agent_ids)
        waiting = await self._store.read(deliveries.deliveries_for_parent(context.chat_id))
        ended = {child.id for child in meant if not child.busy}
        return Answer(
            output=[await self._shown(child, with_result=True) for child in meant],
            consumes=tuple(
                DeliveryKey(child_id=delivery.child_id, turn=delivery.turn)
                for delivery in waiting
                if delivery.child_id in ended
            ),
        )

    async def _meant(self, context: Context, agent_ids: Sequence[str] | None) -> list[Child]:
        if agent_ids is None:
            return list(await self._store.read(children.children(context.chat_id)))
        return [await self.own(context, agent_id) for agent_id in dict.fromkeys(agent_ids)]

    async def list(self, context: Context, _: ListAgents) -> Answer:
        found = await self._store.read(children.children(context.chat_id))
        return Answer(output=[await self._shown(child) for child in found])

    async def message(self, context: Context, wanted: MessageAgent) -> Answer:
        child = await self.own(context, wanted.agent_id)
        send = Send(parts=(Text(text=wanted.text),), busy="steer", created_by=context.owner_id)
        await self._once(context, child.id, send)
        return Answer(output=f"{child.label or child.id} was told.")

    async def stop(self, context: Context, wanted: OneAgent) -> Answer:
        child = await self.own(context, wanted.agent_id)
        if not child.busy:
            return Answer(output=f"{child.label or child.id} was not running.")
        await self._once(context, child.id, Stop())
        return Answer(output=f"{child.label or child.id} is being stopped.")

    async def _once(self, context: Context, child_id: ChatId, command: Command) -> None:
        """A repeated run of the same call changes nothing."""
        once = Once(
            user_id=context.owner_id,
            method="tool",
            path=child_id,
            key=context.key[-255:],
            fingerprint="",
            respond=_done,
        )
        _refuse(await self._store.transition(child_id, command, once=once))

    async def read(self, context: Context, wanted: OneAgent) -> Answer:
        child = await self.own(context, wanted.agent_id)
        newest = await self._store.read(messages.newest(child.id, limit=SHOWN_MESSAGES))
        said = [
            {"role": message.role, "text": text}
            for message in newest
            if (text := "\n".join(part.text for part in message.parts if isinstance(part, Text)))
        ]
        return Answer(output={"agent": await self._shown(child), "messages": said})

    async def own(self, context: Context, agent_id: str) -> Child:
        """A chat below this one; others do not exist as far as its agent is concerned."""
        if is_uuid7(agent_id):
            child_id = ChatId(agent_id)
            found, line = await self._store.read(children.child(child_id), children.line(child_id))
            if found is not None and context.chat_id in line[1:]:
                return found
        raise ToolError(f"You have no sub-agent {agent_id[:64]!r}; list_agents names them.")

    async def _shown(self, child: Child, *, with_result: bool = False) -> Json:
        result = await self.result(child) if with_result and not child.busy else None
        shown = AgentShown(
            agent_id=child.id,
            label=child.label,
            status=status_of(child),
            result=result,
            error=child.failure.message if child.failure and not child.busy else None,
        )
        return {
            name: value for name in shown.__struct_fields__ if (value := getattr(shown, name)) is not None
        }

    async def result(self, child: Child) -> str | None:
        """Its last words."""
        if child.answer_id is None:
            return None
        answer = await self._store.read(messages.message(child.id, child.answer_id))
        if answer is None:
            return None
        return "\n".join(part.text for part in answer.parts if isinstance(part, Text))


async def _heard(events: Listener) -> None:
    """Until something is said of this chat, or for a while."""
    with suppress(TimeoutError):
        async with asyncio.timeout(POLL_SECONDS):
            if await events.get() is None:
                # The bus is closed: only the clock is left.
                await asyncio.sleep(POLL_SECONDS)


def status_of(child: Child) -> str:
    match child.status:
        case "running" | "interrupting":
            return "running"
        case "requires_action":
            return "needs_person"
        case "error":
            return "failed"
        case "idle":
            return "stopped" if child.outcome == "interrupted" else "done"


def cap_of(wanted: AgentBudget | None, caps: Sequence[Budget]) -> Budget | None:
    """What was asked for, but never more than what is left of any budget above."""
    tokens = [cap.tokens - cap.spent_tokens for cap in caps if cap.tokens is not None]
    money = [cap.cost_usd_micros - cap.spent_usd_micros for cap in caps if cap.cost_usd_micros is not None]
    if wanted is not None:
        tokens += [] if wanted.tokens is None else [wanted.tokens]
        money += [] if wanted.cost_usd_micros is None else [wanted.cost_usd_micros]
    if not tokens and not money:
        return None
    return Budget(
        tokens=max(min(tokens), 1) if tokens else None,
        cost_usd_micros=max(min(money), 1) if money else None,
    )


def _tools(of_parent: Json, wanted: list[str] | None) -> Json:
    """A child has no tool that its parent lacks. Policies by tool are the parent's."""
    if wanted is None or isinstance(of_parent, dict):
        return cast(Json, of_parent)
    had = cast(list[Json], of_parent) if isinstance(of_parent, list) else None
    return [name for name in wanted if had is None or name in had]


def _refuse(outcome: object) -> None:
    if isinstance(outcome, Refusal):
        raise ToolError(outcome.text)


def _done(_: Applied) -> tuple[int, bytes]:
    return 200, b""
