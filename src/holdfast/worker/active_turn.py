"""A turn that this process works on: the owned chat, the set-up of the turn, and what the process remembers
of its attempts and calls. This state is private to the process; only what is committed counts."""

import asyncio
from datetime import datetime

from msgspec.structs import replace

from holdfast.chats.commands import NewStep
from holdfast.chats.start import NewAgent
from holdfast.chats.view import Call
from holdfast.core.accounts import NamedAgent
from holdfast.core.chats import Settings
from holdfast.core.clock import Stopwatch
from holdfast.core.events import Episode
from holdfast.core.ids import CallId
from holdfast.core.messages import Message
from holdfast.core.runs import AgentTerms
from holdfast.core.segments import Segments
from holdfast.core.shapes import Record
from holdfast.core.steps import StepKind
from holdfast.core.trace_parents import call_span, model_span, side_span
from holdfast.core.usage import Budget
from holdfast.prompt.sources import PromptChat
from holdfast.providers.assemble import Assembler
from holdfast.providers.registry import Model
from holdfast.store.approvals import decided
from holdfast.store.budgets import all_caps, caps
from holdfast.store.calls import calls_of_turns
from holdfast.store.journals import terms as agent_terms
from holdfast.store.modes import binding_modes
from holdfast.store.named_agents import of_chat
from holdfast.store.query import Query, constant, joined
from holdfast.store.settings_rules import settings, settings_and_wish
from holdfast.telemetry.cache import SentRequest
from holdfast.telemetry.debug_recording import RecordedRun, RecordedStep
from holdfast.telemetry.trace_context import SpanPlace
from holdfast.tools.contract import Tool
from holdfast.tools.modes import Mode, find_mode
from holdfast.tools.registry import ToolPlace
from holdfast.worker.owned_chat import NotOurs, OwnedChat
from holdfast.worker.resources import Resources
from holdfast.worker.setup import TurnSetup, set_up
from holdfast.worker.terms import Terms


class Attempt:
    """One attempt at a step: the answer as it is received. It is committed at the end, or an interrupt keeps
    what has arrived."""

    def __init__(
        self,
        episode: Episode,
        turn: int,
        step: NewStep,
        assembler: Assembler,
        model: Model,
        watch: Stopwatch,
        input_estimate: int,
    ) -> None:
        self.episode = episode
        # The turn that it is for, which may be over when the attempt is given up.
        self.turn = turn
        self.step = step
        self.assembler = assembler
        self.model = model
        self.watch = watch
        self.first_part_at: datetime | None = None
        self.first_part_seconds = 0.0
        # Tokens of the request, for a provider that does not count.
        self.input_estimate = input_estimate
        # Whether the provider said anything: one that refused did not charge.
        self.heard = False


class StartedAgent(Record, frozen=True, kw_only=True):
    """An agent's chat that was just created here, so that nothing of it has to be read."""

    agent: NewAgent
    messages: tuple[Message, ...]
    # Whether its first attempt has already been counted.
    begun: bool


class TurnRecording:
    """What is being recorded for the debug record: the turn, its step, a compaction in it."""

    def __init__(self) -> None:
        # The turn that `run` is about.
        self.number = -1
        self.run: RecordedRun | None = None
        self.step: RecordedStep | None = None
        self.compaction: RecordedRun | None = None


class ActiveTurn:
    def __init__(self, chat: OwnedChat, resources: Resources, started: StartedAgent | None = None) -> None:
        self.chat = chat
        self.resources = resources
        self.settings = resources.settings
        self.models = resources.models
        self.clock = resources.clock
        # Whether a budget applies to the chat, its own or an ancestor's; None: not looked up yet.
        self.budgeted: bool | None = None
        # The episode whose attempt was counted together with the results before it, and has not been made
        # yet.
        self.begun: Episode | None = None
        # The newest episode whose attempt was made here.
        self.made_here: Episode | None = None
        # The calls that were begun here, with their run number: none is begun twice under the same one.
        self.begun_calls: set[tuple[CallId, int]] = set()
        # Those that did not end when they were cancelled: their results are discarded.
        self.given_up: set[tuple[CallId, int]] = set()
        # What is being received, until its commit.
        self.attempt: Attempt | None = None
        # The last request that is stored with its step, and how many differences lead to it; whether it was
        # looked for; and the one that is to be stored.
        self.sent: SentRequest | None = None
        self.chain = 0
        self.sent_known = False
        self.unstored: tuple[SentRequest, int] | None = None
        # What every request of the turn begins with, and the set-up that this was measured for.
        self.beginning: Segments = ()
        self.measured_setup: TurnSetup | None = None
        self.recorded = TurnRecording()
        # Times the step that is being made.
        self.watch = Stopwatch(resources.clock)
        self.running_calls = False
        # The modes as they were last asked for.
        self.known_modes: tuple[Mode, ...] = ()
        # The chat is to be handed over: nothing new is started.
        self.stopping = False
        # The turn that the set-up is for, and the one whose place in a trace is known.
        self._set_up_for = -1
        self._placed_for = -1
        self._place: SpanPlace | None = None
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
        """Reads the settings for the turn, once when it starts."""
        chat, number = self.chat, self.chat.view.chat.turn
        if self._set_up_for == number:
            return
        # Set before the query: a hint that comes meanwhile asks for another look.
        self.budgeted = False
        agreed = constant(None) if chat.view.chat.run_id is None else agent_terms(chat.chat_id)
        found, agent, budgets, terms = await chat.read(
            joined(settings_and_wish(chat.chat_id), of_chat(chat.chat_id), self.caps, agreed, read=_chosen)
        )
        if found is None:
            raise NotOurs("the chat is deleted")
        chosen, wished = found
        if self.resources.debug is not None:
            self.resources.debug.wishes.know(chat.view.chat.owner_id, wished)
        bound = None
        if terms is not None:
            bound = Terms(terms, await chat.read(calls_of_turns(chat.chat_id, 0, number)))
        self.setup = self._set_up(chosen, agent, bound, await self._more_tools(chosen))
        if self.setup.may_ask:
            await self.hear_decisions()
        if budgets:
            self.budgeted = True
        self._set_up_for = number

    async def set_up_again(self) -> None:
        """The chat works elsewhere now: the rest of the turn has the tools of that place. Other settings stay
        as they were when the turn began."""
        now = await self.chat.read(settings(self.chat.chat_id))
        if now is None:
            raise NotOurs("the chat is deleted")
        if now.workspace_id == self.setup.chosen.workspace_id:
            return
        chosen = replace(self.setup.chosen, workspace_id=now.workspace_id)
        self.setup = self._set_up(chosen, self.setup.agent, self.setup.terms, await self._more_tools(chosen))
        if self.setup.may_ask:
            await self.hear_decisions()

    async def hear_decisions(self) -> None:
        """People's decisions on tools: they may have been revoked, or added, while the turn runs."""
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

    # --- state ---

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
        """The budgets that apply to the chat. A chat with a person as its origin belongs to no run."""
        chat = self.chat.view.chat
        return all_caps(chat.id) if chat.is_agent else caps(chat.id)

    @property
    def unbegun(self) -> tuple[CallId, ...]:
        """Calls that were marked as started here, but never began."""
        return tuple(
            call.call_id
            for call in self.chat.view.calls
            if call.state == "started"
            and not call.abandoned
            and (call.call_id, call.run) not in self.begun_calls
        )

    # --- traces ---

    async def in_step(self) -> str | None:
        """The span of the step that is being made, as others are told of it; None: nobody wants to know."""
        chat = self.chat.view.chat
        return await self._in(chat.turn, model_span(chat.id, chat.turn, chat.turn_steps + 1))

    async def in_call(self, call: Call) -> str | None:
        return await self._in(call.turn, call_span(self.chat.chat_id, call.call_id))

    async def beside(self, turn: int, kind: StepKind) -> str | None:
        """Of a title or a summary for this turn."""
        return await self._in(turn, side_span(self.chat.chat_id, turn, kind))

    async def _in(self, turn: int, of: tuple[str | int, ...]) -> str | None:
        tracing = self.resources.tracing
        if tracing is None:
            return None
        if self._placed_for != turn:
            self._place = await self.chat.persist(lambda: tracing.place_of_turn(self.chat.chat_id, turn))
            self._placed_for = turn
        return None if self._place is None else self._place.span.below(*of).text

    # --- new steps ---

    def new_step(self, kind: StepKind = "model") -> NewStep:
        """A step that starts now."""
        self.watch = Stopwatch(self.clock)
        self.recorded.step = None
        return NewStep(kind=kind, started_at=self.watch.started_at)

    def new_call_id(self) -> CallId:
        return CallId("call_" + self.resources.ids.uuid7(self.clock.now()).replace("-", ""))


Found = tuple[Settings, bool]
Chosen = tuple[Found | None, NamedAgent | None, tuple[Budget, ...], AgentTerms | None]


def _chosen(
    found: Found | None,
    agent: NamedAgent | None,
    budgets: tuple[Budget, ...],
    terms: AgentTerms | None,
) -> Chosen:
    return found, agent, budgets, terms


def _first(*names: str | None) -> str | None:
    return next((name for name in names if name), None)
