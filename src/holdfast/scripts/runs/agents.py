"""Agents of a run: each is a chat of its own with a fresh context, named by the journal before it exists. It
is started once however often it is tried, and has no tool or right that the run lacks."""

from dataclasses import dataclass
from typing import Protocol

from msgspec.structs import replace

from holdfast.chats.change import Refusal
from holdfast.chats.commands import Acquire, Create, Send, Stop
from holdfast.chats.view import View
from holdfast.core.chats import Settings
from holdfast.core.errors import HoldfastError, InvalidInput, TryAgain
from holdfast.core.ids import ChatId, NamedAgentId, UserId, WorkspaceId
from holdfast.core.parts import Text
from holdfast.core.runs import CallError, Run
from holdfast.core.text import one_line
from holdfast.core.usage import Budget
from holdfast.scripts.engines.messages import AgentCall
from holdfast.store import agent_ends, children, named_agents, workspaces
from holdfast.store.agent_ends import Answered
from holdfast.store.interface import Applied, Once
from holdfast.tools.answering import REMINDER, STRUCTURED_OUTPUT
from holdfast.tools.choice import names_of, narrowed
from holdfast.tools.contract import ToolError
from holdfast.tools.family import Family
from holdfast.tools.schema import check_answer_schema

INSTRUCTIONS = (
    "You are an agent of a workflow: a script gave you one task and reads only your last message. Do the "
    "task, then answer with the result itself and nothing around it: no greeting, no question, no offer."
)
STRUCTURED = (
    f"You are an agent of a workflow: a script gave you one task. Do the task, then call {STRUCTURED_OUTPUT} "
    "with the result. Only that is read."
)
LABEL_LENGTH = 80


class Hands(Protocol):
    """The worker under whose lease a run is driven, as far as it can take agents at once."""

    def claim(self, owner_id: UserId) -> Acquire | None:
        """What makes a new agent that worker's; None: it has no room."""
        ...

    def adopt(self, view: View | None) -> None:
        """Once for every claim: the agent as it was committed, if it was."""
        ...


@dataclass(frozen=True, slots=True)
class Begun:
    """`error` says why it could not be started; `remarks` are what people should know."""

    error: CallError | None = None
    remarks: tuple[str, ...] = ()


class Agents:
    def __init__(self, family: Family) -> None:
        self._family = family
        self._store = family.store

    def check(self, run: Run, call: AgentCall) -> CallError | None:
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

    async def begin(self, run: Run, call: AgentCall, chat_id: ChatId, hands: Hands, *, again: bool) -> Begun:
        """`again`: it may exist already."""
        if again and await self._store.view(chat_id) is not None:
            return Begun()
        remarks: list[str] = []
        try:
            settings = await self._settings(run, call, remarks)
            if call.options.isolation is not None:
                settings = replace(settings, workspace_id=await self._place(run, chat_id))
        except ToolError as error:
            return Begun(error=_failed(f"agent(): {error}"))
        create = Create(
            owner_id=run.owner_id, settings=settings, parts=(Text(text=call.prompt),), run_id=run.id
        )
        refusal = await self._create(chat_id, create, hands)
        if refusal is not None and refusal.code != "wrong_state":
            return Begun(error=_failed(f"agent(): {refusal.text}"))
        # Made now, or by whoever owned the run before.
        return Begun(remarks=tuple(remarks))

    async def _create(self, chat_id: ChatId, create: Create, hands: Hands) -> Refusal | None:
        """Ours at once if there is room; else somebody comes for it."""
        claim = hands.claim(create.owner_id)
        if claim is None:
            made = await self._store.transition(chat_id, create)
            return made if isinstance(made, Refusal) else None
        view: View | None = None
        try:
            made = await self._store.transition(chat_id, create, claim)
            # There already: perhaps by the same commit, whose answer was lost.
            view = made.view if isinstance(made, Applied) else await self._store.view(chat_id)
        finally:
            hands.adopt(view)
        return made if isinstance(made, Refusal) else None

    async def answers(self, chat_id: ChatId) -> tuple[Answered, ...]:
        return await self._store.read(agent_ends.answers(chat_id, STRUCTURED_OUTPUT))

    async def remind(self, run: Run, chat_id: ChatId) -> None:
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
        """The place of its own that it worked in: removed if unchanged; else where it is."""
        child = await self._store.read(children.child(chat_id))
        if child is None or self._family.isolation is None:
            return None
        return await self._family.isolation.end(child)

    async def _settings(self, run: Run, call: AgentCall, remarks: list[str]) -> Settings:
        options = call.options
        return Settings(
            title=one_line(options.label or call.prompt, LABEL_LENGTH),
            title_source="person" if options.label else "none",
            model=self._model(run, options.model, remarks),
            effort=options.effort,
            workspace_id=run.workspace_id,
            agent=await self._named(run, options.agent, remarks),
            instructions=INSTRUCTIONS if options.schema is None else STRUCTURED,
            tools=narrowed(run.tools, options.tools),
            budget=None if options.budget is None else Budget(tokens=options.budget),
        )

    def _model(self, run: Run, name: str | None, remarks: list[str]) -> str | None:
        """Scripts are written for other servers too: a model that is not there does not stop them."""
        if name is None or name == run.model:
            return name
        try:
            self._family.check_model(name)
        except ToolError:
            remarks.append(f"There is no model {name[:100]!r} here; the default one is used.")
            return run.model
        return name

    async def _named(self, run: Run, name: str | None, remarks: list[str]) -> NamedAgentId | None:
        if name is None:
            return None
        found = await self._store.read(named_agents.named(name, run.owner_id))
        if found is None:
            remarks.append(f"There is no named agent {name[:100]!r} here; one without a name is used.")
            return None
        return found.id

    async def _place(self, run: Run, chat_id: ChatId) -> WorkspaceId:
        """Whoever owned the run before may have made it and come no further."""
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


def _failed(text: str) -> CallError:
    return CallError(kind="failed", message=text)


def _done(_: Applied) -> tuple[int, bytes]:
    return 200, b""
