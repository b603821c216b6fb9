"""Agents of a run: each is a separate chat with a fresh context, named by the journal before it exists. It is
started once however often that is tried, and has no tool or permission that the run lacks."""

from dataclasses import dataclass

from msgspec.structs import replace

from holdfast.chats.commands import Send, Stop
from holdfast.chats.start import NewAgent, Start, begin
from holdfast.core.accounts import NamedAgent
from holdfast.core.calls import STRUCTURED_OUTPUT
from holdfast.core.chats import BUILD
from holdfast.core.errors import HoldfastError, InvalidInput, TryAgain
from holdfast.core.ids import ChatId, RunId, WorkspaceId
from holdfast.core.origins import FromRun, Origin
from holdfast.core.parts import Text
from holdfast.core.runs import AgentTerms, CallError
from holdfast.core.usage import Budget
from holdfast.prompt.agents import REMINDER, STRUCTURED_AGENT, WORKFLOW_AGENT
from holdfast.scripts.engines.messages import AgentCall
from holdfast.scripts.runs.run_terms import RunTerms
from holdfast.store import agent_ends, children, workspaces
from holdfast.store.agent_ends import Answered
from holdfast.store.interface import Applied, Once
from holdfast.tools.choice import names_of, narrowed
from holdfast.tools.contract import ToolError
from holdfast.tools.family import AgentFamily
from holdfast.tools.schema import check_answer_schema


@dataclass(frozen=True, slots=True)
class Prepared:
    """`error` says why it cannot be started; `remarks` are what people should know."""

    agent: NewAgent | None = None
    error: CallError | None = None
    remarks: tuple[str, ...] = ()


class AgentChats:
    def __init__(self, family: AgentFamily) -> None:
        self._family = family
        self._store = family.store

    def check(self, run: RunTerms, call: AgentCall) -> CallError | None:
        """What is wrong with the call as it stands, whatever else is so."""
        options = call.options
        if options.schema is not None:
            try:
                check_answer_schema(options.schema)
            except InvalidInput as error:
                return _failed(f"agent(): the schema cannot be used: {error.text}")
        had = names_of(run.tools)
        for name in options.tools or ():
            if not self._family.has_tool(name) or (had is not None and name not in had):
                return _failed(f"agent(): there is no tool {name[:100]!r} that an agent could use")
        return None

    async def prepare(
        self, run: RunTerms, call: AgentCall, chat_id: ChatId, origin: Origin | None = None
    ) -> Prepared:
        """The agent of a call. Its own worktree is created here, so the journal must name the chat by then.
        `origin` None: the run of a workflow."""
        remarks: list[str] = []
        try:
            model = self._model(run, call.options.model, remarks)
            named = await self._named(run, call.options.agent, remarks)
            start = _start(run, call, model, named, origin or FromRun(run_id=RunId(run.id)))
            if call.options.isolation is not None:
                start = replace(start, workspace_id=await self._place(run, chat_id))
        except ToolError as error:
            return Prepared(error=_failed(f"agent(): {error}"))
        agent = NewAgent(
            chat_id=chat_id,
            create=begin(start),
            named=named,
            terms=terms_of(call),
            capped=run.budget.tokens is not None or start.budget is not None,
        )
        return Prepared(agent=agent, remarks=tuple(remarks))

    async def exists(self, chat_id: ChatId) -> bool:
        return await self._store.view(chat_id) is not None

    async def answers(self, chat_id: ChatId) -> tuple[Answered, ...]:
        return await self._store.read(agent_ends.answers(chat_id, STRUCTURED_OUTPUT))

    async def remind(self, run: RunTerms, chat_id: ChatId) -> None:
        once = Once(
            user_id=run.owner_id,
            method="run",
            path=run.id,
            key=f"remind:{chat_id}",
            fingerprint="",
            respond=_done,
        )
        send = Send(parts=(Text(text=REMINDER),), created_by=run.owner_id)
        await self._store.transition(chat_id, send, once=once)

    async def stop(self, chat_id: ChatId) -> None:
        """With whoever works below it. One that rests stays as it is."""
        await self._store.transition(chat_id, Stop())
        for child in await self._store.read(children.children(chat_id)):
            await self.stop(child.id)

    async def put_away(self, chat_id: ChatId) -> str | None:
        """Its own worktree: removed if unchanged; otherwise returns where it is."""
        child = await self._store.read(children.child(chat_id))
        if child is None or self._family.isolation is None:
            return None
        return await self._family.isolation.end(child)

    def _model(self, run: RunTerms, name: str | None, remarks: list[str]) -> str | None:
        """Scripts are also written for other servers: a model that does not exist here does not stop them."""
        if name is None or name == run.model:
            return name
        try:
            self._family.check_model(name)
        except ToolError:
            remarks.append(f"There is no model {name[:100]!r} here; the default one is used.")
            return run.model
        return name

    async def _named(self, run: RunTerms, name: str | None, remarks: list[str]) -> NamedAgent | None:
        if name is None:
            return None
        found = await self._family.agents.find(name, run.owner_id, run.workspace_id)
        if found.agent is None:
            remarks.append(f"{found.missing(name)} One without a name is used.")
        return found.agent

    async def _place(self, run: RunTerms, chat_id: ChatId) -> WorkspaceId:
        """A previous owner of the run may have created it and got no further."""
        made = await self._store.read(workspaces.made_for(chat_id))
        if made is not None:
            return made.id
        if self._family.isolation is None:
            raise ToolError("this server has no worktrees")
        try:
            return await self._family.isolation.begin(run.workspace_id, run.owner_id, chat_id)
        except TryAgain:
            raise
        except HoldfastError as error:
            raise ToolError(error.text) from error


def _start(
    run: RunTerms, call: AgentCall, model: str | None, agent: NamedAgent | None, origin: Origin
) -> Start:
    options = call.options
    return Start(
        owner_id=run.owner_id,
        origin=origin,
        parts=(Text(text=call.prompt),),
        name=options.label,
        agent=None if agent is None else agent.id,
        model=model,
        effort=options.effort,
        workspace_id=run.workspace_id,
        budget=None if options.budget is None else Budget(tokens=options.budget),
        tools=narrowed(run.tools, options.tools),
        instructions=WORKFLOW_AGENT if options.schema is None else STRUCTURED_AGENT,
        mode=(None if agent is None else agent.mode) or BUILD,
        writes=(None if agent is None else agent.writes) or "direct",
    )


def terms_of(call: AgentCall) -> AgentTerms | None:
    """The agent's limits besides the settings of its chat; None: there are none."""
    options = call.options
    terms = AgentTerms(
        schema=options.schema, max_steps=options.max_steps, max_tool_calls=options.max_tool_calls
    )
    return None if terms == AgentTerms() else terms


def _failed(text: str) -> CallError:
    return CallError(kind="failed", message=text)


def _done(_: Applied) -> tuple[int, bytes]:
    return 200, b""
