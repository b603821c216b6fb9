"""How a sub-agent is started. A call starts one child however often it runs; the child has no tool,
permission or budget that its parent lacks; depth and width are limited."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Literal
from weakref import WeakValueDictionary

from msgspec import Meta
from msgspec.structs import replace

from holdfast.chats.change import Refusal
from holdfast.chats.commands import Create, Stop
from holdfast.chats.start import Start, begin
from holdfast.core.accounts import NamedAgent
from holdfast.core.chats import BUILD, Writes
from holdfast.core.ids import ChatId, WorkspaceId
from holdfast.core.origins import FromChat
from holdfast.core.parts import Text
from holdfast.core.usage import Budget
from holdfast.prompt.agents import SUB_AGENT
from holdfast.store import budgets, calls, chats, children, named_agents, settings_rules
from holdfast.store.chats import Standing
from holdfast.store.children import Child
from holdfast.store.interface import Applied, Once, Replayed
from holdfast.tools.choice import names_of, narrowed
from holdfast.tools.contract import Input, ToolContext, ToolError
from holdfast.tools.family import AgentFamily, AgentLimits

Amount = Annotated[int, Meta(ge=1, le=2**53)]


class AgentBudget(Input, frozen=True, kw_only=True):
    tokens: Annotated[Amount | None, Meta(description="The most tokens it may use.")] = None
    cost_usd_micros: Annotated[
        Amount | None, Meta(description="The most it may cost, in millionths of a US dollar.")
    ] = None


class SpawnAgent(Input, frozen=True, kw_only=True):
    prompt: Annotated[
        str,
        Meta(
            min_length=1,
            description="The whole task: it does not see this conversation.",
            examples=["Find every caller of parse() and say which of them ignore its error."],
        ),
    ]
    label: Annotated[
        str | None,
        Meta(description="A few words to identify it.", examples=["callers of parse"]),
    ] = None
    model: Annotated[str | None, Meta(description="Another model than yours.")] = None
    agent: Annotated[str | None, Meta(description="The named agent to start it as.")] = None
    tools: Annotated[list[str] | None, Meta(description="Only these tools; if omitted, all you have.")] = None
    budget: Annotated[
        AgentBudget | None, Meta(description="What it may spend of the rest of your budget.")
    ] = None
    isolation: Annotated[
        Literal["worktree"] | None,
        Meta(
            description="worktree: it works in its own git worktree, made from the last commit of your "
            "workspace. If unchanged it is removed at the end; otherwise you are told where it "
            "is."
        ),
    ] = None


class Spawning:
    def __init__(self, family: AgentFamily) -> None:
        self._family = family
        self._store = family.store
        # Calls of one chat run in one process: here they take turns, so that together they stay within the
        # limit.
        self._turns: WeakValueDictionary[ChatId, asyncio.Lock] = WeakValueDictionary()

    async def start(self, context: ToolContext, wanted: SpawnAgent) -> Child:
        """The child of this call: the one it started before, or a new one."""
        async with self._turns.setdefault(context.chat_id, asyncio.Lock()):
            before = await self._store.read(children.child_of_call(context.chat_id, context.call_id))
            if before is not None:
                return before
            child_id = ChatId(self._family.ids.uuid7(self._family.clock.now()))
            create = await self._create(context, wanted, child_id)
            child_id = await self._created(context, create, child_id)
        await self._stop_if_unwanted(context, child_id)
        made = await self._store.read(children.child(child_id))
        if made is None:
            raise ToolError("The sub-agent was deleted as soon as it was started.")
        return made

    async def _created(self, context: ToolContext, create: Create, child_id: ChatId) -> ChatId:
        """Its id; another one if a previous owner of the chat was faster after all."""
        once = Once(
            user_id=context.owner_id,
            method="tool",
            path=context.chat_id,
            key=context.key,
            fingerprint="",
            respond=_named,
        )
        match await self._store.transition(child_id, create, once=once, on_behalf=context.fence):
            case Refusal(text=text):
                raise ToolError(text)
            case Replayed(body=body):
                return ChatId(body.decode())
            case Applied():
                return child_id

    async def _stop_if_unwanted(self, context: ToolContext, child_id: ChatId) -> None:
        """An edit stops the children that were started in what it removes: this one was started just after
        it."""
        call = await self._store.read(calls.call(context.chat_id, context.call_id))
        if call is not None and call.call.abandoned:
            await self._store.transition(child_id, Stop())

    async def _create(self, context: ToolContext, wanted: SpawnAgent, child_id: ChatId) -> Create:
        view = await self._store.view(context.chat_id)
        standing, caps, chosen, parent_agent = await self._store.read(
            chats.standing(context.chat_id),
            budgets.caps(context.chat_id),
            settings_rules.settings(context.chat_id),
            named_agents.of_chat(context.chat_id),
        )
        if view is None or standing is None or chosen is None:
            raise ToolError("This chat no longer exists.")
        check_limits(standing, self._family.limits())
        agent = await self._named_agent(wanted.agent, context)
        own_tools = None if parent_agent is None else parent_agent.tools
        self._check_tools(wanted.tools, names_of(narrowed(chosen.tools, own_tools)))
        if wanted.model is not None:
            self._family.check_model(wanted.model)
        # Another model has its own efforts; otherwise it uses its parent's.
        alike = wanted.model is None and (agent is None or agent.model is None)
        model = view.chat.turn_model or chosen.model or (parent_agent.model if parent_agent else None)
        effort = view.chat.turn_effort or chosen.effort or (parent_agent.effort if parent_agent else None)
        start = Start(
            owner_id=context.owner_id,
            origin=FromChat(chat_id=context.chat_id, call_id=context.call_id),
            # Whoever looks into a chat looks into its sub-agents too.
            debug=chosen.debug,
            # Nor does one reach through them what it may not reach itself.
            web=chosen.web,
            root_id=view.chat.root_id,
            parts=(Text(text=wanted.prompt),),
            name=wanted.label,
            agent=None if agent is None else agent.id,
            model=model if alike else wanted.model,
            effort=effort if alike else None,
            workspace_id=chosen.workspace_id,
            budget=cap_of(wanted.budget, caps),
            tools=narrowed(chosen.tools, own_tools, wanted.tools),
            instructions=SUB_AGENT,
            # The modes of those above bind it too, whatever they are at the moment.
            mode=(None if agent is None else agent.mode) or BUILD,
            writes=_reviewed(view.chat.writes, agent),
        )
        if wanted.isolation is not None and context.read_only:
            raise ToolError("This mode changes nothing, and a worktree would be made. Start it without one.")
        if wanted.isolation is not None:
            start = replace(start, workspace_id=await self._place(context, child_id))
        return begin(start)

    async def _named_agent(self, name: str | None, context: ToolContext) -> NamedAgent | None:
        if name is None:
            return None
        found = await self._family.agents.find(name, context.owner_id, context.workspace_id)
        if found.agent is None:
            raise ToolError(f"{found.missing(name)} Start it without one.")
        return found.agent

    def _check_tools(self, wanted: Sequence[str] | None, had: Sequence[str] | None) -> None:
        """A mistyped name must not silently forbid a tool."""
        for name in wanted or ():
            if not self._family.has_tool(name) or (had is not None and name not in had):
                raise ToolError(f"You have no tool {name[:100]!r} that a sub-agent could use.")

    async def _place(self, context: ToolContext, child_id: ChatId) -> WorkspaceId:
        if self._family.isolation is None:
            raise ToolError("This server has no worktrees. Start it without isolation.")
        return await self._family.isolation.begin(context.workspace_id, context.owner_id, child_id)


def _reviewed(parents: Writes, agent: NamedAgent | None) -> Writes:
    return "review" if parents == "review" or (agent is not None and agent.writes == "review") else "direct"


def check_limits(standing: Standing, limits: AgentLimits) -> None:
    if min(limits.depth, limits.per_chat) == 0:
        raise ToolError("Sub-agents are switched off on this server: do it yourself.")
    if standing.depth >= limits.depth:
        raise ToolError(
            f"Sub-agents may be nested {limits.depth} deep and you are at the deepest level: do it yourself."
        )
    if standing.children >= limits.per_chat:
        raise ToolError(
            f"You have {standing.children} sub-agents, which is the limit. Give them more work with "
            "message_agent, or do it yourself."
        )


def cap_of(wanted: AgentBudget | None, caps: Sequence[Budget]) -> Budget | None:
    """What was asked for, but never more than what is left of any budget above."""
    tokens = [cap.tokens - cap.spent_tokens for cap in caps if cap.tokens is not None]
    money = [cap.cost_usd_micros - cap.spent_usd_micros for cap in caps if cap.cost_usd_micros is not None]
    if min([*tokens, *money], default=1) <= 0:
        raise ToolError("The budget is spent: nothing is left for a sub-agent. Finish with what you have.")
    if wanted is not None:
        tokens += [] if wanted.tokens is None else [wanted.tokens]
        money += [] if wanted.cost_usd_micros is None else [wanted.cost_usd_micros]
    if not tokens and not money:
        return None
    return Budget(tokens=min(tokens, default=None), cost_usd_micros=min(money, default=None))


def _named(applied: Applied) -> tuple[int, bytes]:
    return 201, applied.change.chat_id.encode()
