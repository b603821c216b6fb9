"""One chat being run: the owned chat together with everything its turn uses, as the parts of the runner pass
it around. What was chosen for the chat is read once per turn: a choice made meanwhile is for the next one."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from msgspec.structs import replace

from holdfast.chats.commands import NewCall, NewStep
from holdfast.chats.new_agent import NewAgent
from holdfast.core.accounts import NamedAgent
from holdfast.core.chats import ClientTool, Settings
from holdfast.core.checks import Checked
from holdfast.core.clock import Clock
from holdfast.core.errors import AttemptFailed, InvalidInput
from holdfast.core.events import Episode
from holdfast.core.ids import CallId, ChatId, Ids, UserId, WorkspaceId
from holdfast.core.parts import Part
from holdfast.core.shapes import Record
from holdfast.core.usage import Budget
from holdfast.files.kept import Files
from holdfast.prompt.system import system
from holdfast.providers.assemble import Assembler
from holdfast.providers.configs import ModelConfig
from holdfast.providers.interface import Tool as ToolDefinition
from holdfast.providers.registry import Model
from holdfast.store.budgets import all_caps, caps
from holdfast.store.query import Query
from holdfast.tools.choice import names_of
from holdfast.tools.registry import Registry
from holdfast.worker.asked import Permitted, new_calls
from holdfast.worker.models import Models
from holdfast.worker.owned import OwnedChat
from holdfast.worker.settings import WorkerSettings
from holdfast.worker.terms import Terms
from holdfast.worker.turn import Limits


class Where(Record, frozen=True, kw_only=True):
    """The chat that is run and where it works."""

    chat_id: ChatId
    owner_id: UserId
    workspace_id: WorkspaceId | None


class Surroundings(Protocol):
    """What the place a chat works in has to say."""

    async def instructions(self, where: Where) -> str | None:
        """What agents are told who work there; None: nothing."""
        ...

    async def check(self, where: Where) -> Checked | None:
        """After files were written: what the check of the place says; None: there is none."""
        ...


class Partial:
    """An answer that is being received, for an interrupt to keep what there is of it."""

    def __init__(self, episode: Episode, step: NewStep, assembler: Assembler, model: Model) -> None:
        self.episode = episode
        self.step = step
        self.assembler = assembler
        self.model = model
        self.first_part_at: datetime | None = None


class Run:
    def __init__(
        self,
        chat: OwnedChat,
        *,
        settings: WorkerSettings,
        models: Models,
        tools: Registry,
        clock: Clock,
        ids: Ids,
        surroundings: Surroundings | None = None,
        files: Files | None = None,
        new: NewAgent | None = None,
    ) -> None:
        """`new`: the chat was made just now, and this is all that was chosen for it."""
        self.chat = chat
        self.surroundings = surroundings
        self.files = files
        self.settings = settings
        self.models = models
        self.clock = clock
        self.ids = ids
        # Whether a budget binds the chat, its own or one above it; None: that is to be looked up.
        self.budgeted: bool | None = None
        self._all_tools = tools
        if new is None:
            self.choose(Settings())
        else:
            terms = None if new.terms is None else Terms(new.terms, ())
            self.choose(new.create.settings, new.named, terms=terms)
        # The episode whose attempt was counted together with the results before it, and is still to be made.
        self.begun: Episode | None = None
        # The calls that were begun here, with their run number: none is begun twice under the same one.
        self.begun_calls: set[tuple[CallId, int]] = set()
        self.partial: Partial | None = None
        # The chat is to be handed over: nothing new is started.
        self.stopping = False

    def choose(
        self,
        chosen: Settings,
        agent: NamedAgent | None = None,
        verdicts: Mapping[str, bool] | None = None,
        terms: Terms | None = None,
    ) -> None:
        """What was chosen for the chat, for the turn that begins: the agent it is started as, what a person
        said of tools for the whole chat, and what binds it as an agent of a run."""
        self.chosen = chosen
        self.agent = agent
        self.terms = terms
        self.model_config = self._model_config()
        self.limits = self._limits()
        self.tools = self._tools()
        self.system = tuple(system(agent.instructions if agent else None, chosen.instructions))
        self.tool_definitions = _definitions(self.tools, chosen.client_tools)
        self._permitted = Permitted(
            rules=self.settings.rules.for_chat(chosen.tools, dict(verdicts or {})),
            client_tools={tool.name: tool for tool in chosen.client_tools},
            client_tool_seconds=self.settings.client_tool_seconds,
            on_uncertain="ask" if self.settings.ask_when_uncertain else "tell",
            uncertain_tools=self.settings.uncertain_tools,
        )

    @property
    def said_here(self) -> Mapping[str, bool]:
        """What a person said of tools for the whole chat, as far as it is known here."""
        return self._permitted.rules.said_here

    def hear_people(self, verdicts: Mapping[str, bool]) -> None:
        """What counts of it now: it may have been taken back while the turn runs."""
        rules = replace(self._permitted.rules, said_here=dict(verdicts))
        self._permitted = replace(self._permitted, rules=rules)

    @property
    def caps(self) -> Query[tuple[Budget, ...]]:
        """The budgets that bind the chat. One that nobody started belongs to no run."""
        chat = self.chat.view.chat
        alone = chat.parent_id is None and chat.run_id is None
        return caps(chat.id) if alone else all_caps(chat.id)

    @property
    def where(self) -> Where:
        chat = self.chat.view.chat
        return Where(chat_id=chat.id, owner_id=chat.owner_id, workspace_id=self.chosen.workspace_id)

    @property
    def episode(self) -> Episode:
        chat = self.chat.view.chat
        return Episode(history_version=chat.history_version, attempt=chat.attempt)

    # --- the model ---

    @property
    def model_name(self) -> str | None:
        own = self.chat.view.chat.turn_model or self.chosen.model
        return own or (self.agent.model if self.agent else None)

    @property
    def effort(self) -> str | None:
        own = self.chat.view.chat.turn_effort or self.chosen.effort
        return own or (self.agent.effort if self.agent else None)

    def model(self) -> Model:
        return self.models.resolve(self.model_name)

    def _model_config(self) -> ModelConfig | None:
        try:
            return self.model().config
        except (AttemptFailed, InvalidInput):
            # There is no model to call: that is said when one is called.
            return None

    def _limits(self) -> Limits:
        limits, config = self.settings.limits, self.model_config
        if self.terms is not None and self.terms.steps is not None:
            limits = replace(limits, steps=min(limits.steps, self.terms.steps))
        if config is None or config.compaction_threshold is None:
            return limits
        return replace(limits, compaction_threshold=config.compaction_threshold)

    def _tools(self) -> Registry:
        chosen = self._all_tools.only(self.agent.tools if self.agent else None)
        chosen = chosen.only(names_of(self.chosen.tools))
        if self.terms is None:
            return chosen
        answer = self.terms.answer
        return Registry((*(chosen if self.terms.has_tools else ()), *(() if answer is None else (answer,))))

    @property
    def may_ask(self) -> bool:
        """Whether a person may be asked about any tool of this chat."""
        return any(self._permitted.rules.judge(tool)[0] == "ask" for tool in self.tools)

    # --- tools ---

    def new_calls(self, parts: Sequence[Part]) -> tuple[NewCall, ...]:
        calls = new_calls(parts, self.tools, self._permitted, self.clock.now())
        return calls if self.terms is None else self.terms.judge(calls)

    def new_call_id(self) -> CallId:
        return CallId("call_" + self.ids.uuid7(self.clock.now()).replace("-", ""))


def _definitions(tools: Registry, client_tools: Iterable[ClientTool]) -> tuple[ToolDefinition, ...]:
    """Always in the same order: they are the beginning of every request. A caller's tool stands in for ours
    of the same name; two of one name would be refused."""
    theirs = {
        tool.name: ToolDefinition(
            name=tool.name, description=tool.description, input_schema=tool.input_schema
        )
        for tool in client_tools
    }
    ours = [
        ToolDefinition(name=tool.name, description=tool.description, input_schema=tool.schema)
        for tool in tools
        if tool.name not in theirs
    ]
    return (*ours, *theirs.values())
