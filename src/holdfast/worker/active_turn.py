"""A turn that this process works on: the owned chat, the set-up of the turn, and what the process remembers
of its attempts and calls. Nothing here is true for anybody else; what counts is committed."""

import asyncio

from holdfast.chats.commands import NewStep
from holdfast.chats.new_agent import NewAgent
from holdfast.core.accounts import NamedAgent
from holdfast.core.chats import Settings
from holdfast.core.clock import Stopwatch
from holdfast.core.events import Episode
from holdfast.core.ids import CallId
from holdfast.core.messages import Message
from holdfast.core.runs import AgentTerms
from holdfast.core.shapes import Record
from holdfast.core.steps import StepKind
from holdfast.core.usage import Budget
from holdfast.prompt.sources import PromptChat
from holdfast.providers.registry import Model
from holdfast.store.approvals import decided
from holdfast.store.budgets import all_caps, caps
from holdfast.store.calls import calls_of_turns
from holdfast.store.journals import terms as agent_terms
from holdfast.store.modes import binding_modes
from holdfast.store.named_agents import of_chat
from holdfast.store.query import Query, constant, joined
from holdfast.store.settings_rules import settings
from holdfast.tools.contract import Tool
from holdfast.tools.modes import Mode, find_mode
from holdfast.tools.registry import ToolPlace
from holdfast.worker.attempt import Attempt
from holdfast.worker.owned_chat import NotOurs, OwnedChat
from holdfast.worker.resources import Resources
from holdfast.worker.setup import TurnSetup, set_up
from holdfast.worker.terms import Terms


class StartedAgent(Record, frozen=True, kw_only=True):
    """An agent's chat that was just made here, so that nothing of it has to be read."""

    agent: NewAgent
    messages: tuple[Message, ...]
    # Whether its first attempt is counted already.
    begun: bool


class ActiveTurn:
    def __init__(self, chat: OwnedChat, resources: Resources, started: StartedAgent | None = None) -> None:
        self.chat = chat
        self.resources = resources
        self.settings = resources.settings
        self.models = resources.models
        self.clock = resources.clock
        # Whether a budget binds the chat, its own or one above it; None: that is to be looked up.
        self.budgeted: bool | None = None
        # The episode whose attempt was counted together with the results before it, and is still to be made.
        self.begun: Episode | None = None
        # The calls that were begun here, with their run number: none is begun twice under the same one.
        self.begun_calls: set[tuple[CallId, int]] = set()
        # Those of them that did not end when they were cancelled: whatever they come to is nobody's.
        self.given_up: set[tuple[CallId, int]] = set()
        # What is being received, until its commit.
        self.attempt: Attempt | None = None
        # Times the step that is being made.
        self.watch = Stopwatch(resources.clock)
        self.running_calls = False
        # The modes as they were last asked for.
        self.known_modes: tuple[Mode, ...] = ()
        # The chat is to be handed over: nothing new is started.
        self.stopping = False
        # The turn that the set-up is for.
        self._set_up_for = -1
        if started is None:
            self.setup = self._set_up(Settings())
        else:
            terms = None if started.agent.terms is None else Terms(started.agent.terms, ())
            self.setup = self._set_up(started.agent.create.settings, started.agent.named, terms)
            self._begin(started)

    # --- the set-up ---

    def _begin(self, started: StartedAgent) -> None:
        """As `prepare` would find it, unless it has tools to ask for."""
        if all(source.is_empty() for source in self.resources.tool_sources):
            self._set_up_for = self.chat.view.chat.turn
        self.chat.know(started.messages)
        self.budgeted = None if started.agent.capped else False
        self.begun = self.episode if started.begun else None

    async def prepare(self) -> None:
        """Reads what was chosen for the turn, once when it begins."""
        chat, number = self.chat, self.chat.view.chat.turn
        if self._set_up_for == number:
            return
        # Before the question: a hint that comes meanwhile asks for another look.
        self.budgeted = False
        agreed = constant(None) if chat.view.chat.run_id is None else agent_terms(chat.chat_id)
        chosen, agent, budgets, terms = await chat.read(
            joined(settings(chat.chat_id), of_chat(chat.chat_id), self.caps, agreed, read=_chosen)
        )
        if chosen is None:
            raise NotOurs("the chat is deleted")
        bound = None
        if terms is not None:
            bound = Terms(terms, await chat.read(calls_of_turns(chat.chat_id, 0, number)))
        self.setup = self._set_up(chosen, agent, bound, await self._more_tools(chosen))
        if self.setup.may_ask:
            await self.hear_decisions()
        if budgets:
            self.budgeted = True
        self._set_up_for = number

    async def hear_decisions(self) -> None:
        """What people said of tools: it may have been taken back, or added, while the turn runs."""
        verdicts, always = await self.chat.read(decided(self.chat.chat_id))
        self.setup = self.setup.with_decisions(verdicts, always)

    async def _more_tools(self, chosen: Settings) -> tuple[Tool, ...]:
        place = ToolPlace(
            chat_id=self.chat.chat_id,
            owner_id=self.chat.view.chat.owner_id,
            workspace_id=chosen.workspace_id,
        )
        sources = [source for source in self.resources.tool_sources if not source.is_empty()]
        found = await asyncio.gather(*(source.tools_for(place) for source in sources))
        return tuple(tool for tools in found for tool in tools)

    def _set_up(
        self,
        chosen: Settings,
        agent: NamedAgent | None = None,
        terms: Terms | None = None,
        more: tuple[Tool, ...] = (),
    ) -> TurnSetup:
        row = self.chat.view.chat
        name = _first(row.turn_model, chosen.model, agent.model if agent else None)
        return set_up(
            self.resources, chosen, agent, terms, model_name=name, began_at=row.created_at, more=more
        )

    async def binding_modes(self) -> tuple[Mode, ...]:
        """As they are now. A chat's own is in its row, so every commit brings the newest; those of the chats
        above a sub-agent are asked for."""
        chat = self.chat.view.chat
        names = (chat.mode,)
        if chat.is_agent:
            names = await self.chat.read(binding_modes(chat.id)) or names
        self.known_modes = tuple(find_mode(name, self.settings.modes) for name in names)
        return self.known_modes

    # --- what is so ---

    @property
    def model_name(self) -> str | None:
        agent = self.setup.agent
        return _first(self.chat.view.chat.turn_model, self.setup.chosen.model, agent.model if agent else None)

    @property
    def effort(self) -> str | None:
        agent = self.setup.agent
        return _first(
            self.chat.view.chat.turn_effort, self.setup.chosen.effort, agent.effort if agent else None
        )

    def model(self) -> Model:
        return self.models.resolve(self.model_name)

    @property
    def where(self) -> PromptChat:
        chat = self.chat.view.chat
        return PromptChat(
            chat_id=chat.id, owner_id=chat.owner_id, workspace_id=self.setup.chosen.workspace_id
        )

    @property
    def episode(self) -> Episode:
        chat = self.chat.view.chat
        return Episode(history_version=chat.history_version, attempt=chat.attempt)

    @property
    def caps(self) -> Query[tuple[Budget, ...]]:
        """The budgets that bind the chat. One that nobody started belongs to no run."""
        chat = self.chat.view.chat
        return all_caps(chat.id) if chat.is_agent else caps(chat.id)

    @property
    def unbegun(self) -> tuple[CallId, ...]:
        """Calls that were marked as started here, and that nothing was done for."""
        return tuple(
            call.call_id
            for call in self.chat.view.calls
            if call.state == "started"
            and not call.abandoned
            and (call.call_id, call.run) not in self.begun_calls
        )

    # --- what is made ---

    def new_step(self, kind: StepKind = "model") -> NewStep:
        """One that begins now."""
        self.watch = Stopwatch(self.clock)
        return NewStep(kind=kind, started_at=self.watch.started_at)

    def new_call_id(self) -> CallId:
        return CallId("call_" + self.resources.ids.uuid7(self.clock.now()).replace("-", ""))


Chosen = tuple[Settings | None, NamedAgent | None, tuple[Budget, ...], AgentTerms | None]


def _chosen(
    chosen: Settings | None,
    agent: NamedAgent | None,
    budgets: tuple[Budget, ...],
    terms: AgentTerms | None,
) -> Chosen:
    return chosen, agent, budgets, terms


def _first(*names: str | None) -> str | None:
    return next((name for name in names if name), None)
