"""The set-up of a turn: all its settings, resolved once when it starts and frozen. A change made meanwhile
applies to the next turn; only decisions on approvals apply at once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from msgspec.structs import replace as with_fields

from holdfast.chats.commands import NewCall
from holdfast.core.accounts import NamedAgent
from holdfast.core.calls import UserRule
from holdfast.core.chats import ClientTool, ProviderTool, Settings
from holdfast.core.errors import AttemptFailed, InvalidInput
from holdfast.core.parts import Part
from holdfast.prompt.sources import PromptSubject
from holdfast.prompt.system import labelled
from holdfast.providers.configs import ModelConfig
from holdfast.providers.interface import ToolSpec as ToolDefinition
from holdfast.tools.approval import EXECUTE
from holdfast.tools.choice import names_of
from holdfast.tools.contract import Tool
from holdfast.tools.modes import Mode
from holdfast.tools.registry import ToolRegistry
from holdfast.tools.web.web_tools import WEB_TOOLS
from holdfast.worker.actions import TurnLimits
from holdfast.worker.models import Models
from holdfast.worker.new_calls import Permitted, new_calls
from holdfast.worker.resources import Resources
from holdfast.worker.settings import WorkerSettings
from holdfast.worker.terms import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSetup:
    chosen: Settings
    # The named agent that the chat was started as.
    agent: NamedAgent | None
    # Its limits as an agent of a run.
    terms: Terms | None
    # None: there is no model to call, which is reported when one is called.
    model_config: ModelConfig | None
    limits: TurnLimits
    tools: ToolRegistry
    system: tuple[str, ...]
    system_labels: tuple[str, ...]
    tool_definitions: tuple[ToolDefinition, ...]
    # Those that the provider runs itself.
    provider_tools: tuple[ProviderTool, ...]
    permitted: Permitted
    # Whether the chat may use `execute`, if there is such a tool at all.
    has_execute: bool

    @property
    def may_check(self) -> bool:
        """Whether the check runs after files were written. Whoever configured it, it executes what the agent
        wrote (a Makefile, a package.json), so it is only run where the agent may run commands without
        approval."""
        return self.has_execute and self.permitted.rules.runs_commands

    @property
    def may_ask(self) -> bool:
        """Whether a person may be asked about any tool of this chat."""
        return any(self.permitted.rules.judge(tool)[0] == "ask" for tool in self.tools)

    @property
    def was_decided(self) -> bool:
        """Whether people decided on tools for more than one call, as far as is known here."""
        return bool(self.permitted.rules.said_here or self.permitted.rules.always)

    def with_decisions(self, verdicts: Mapping[str, bool], always: tuple[UserRule, ...]) -> "TurnSetup":
        """With people's decisions on tools, for the whole chat or for all their chats, as they stand now."""
        rules = with_fields(self.permitted.rules, said_here=dict(verdicts), always=always)
        return replace(self, permitted=with_fields(self.permitted, rules=rules))

    def new_calls(
        self, parts: Sequence[Part], now: datetime, modes: Sequence[Mode] = ()
    ) -> tuple[NewCall, ...]:
        """The calls of an answer, judged."""
        calls = new_calls(parts, self.tools, self.permitted, now, modes)
        return calls if self.terms is None else self.terms.judge(calls)


def set_up(
    resources: Resources,
    chosen: Settings,
    agent: NamedAgent | None = None,
    terms: Terms | None = None,
    *,
    model_name: str | None,
    began_at: datetime,
    more: Sequence[Tool] = (),
) -> TurnSetup:
    """Without what people decided about tools: that is read only if anybody may be asked. `more` are the
    tools of sources."""
    settings, model_config = resources.settings, _model_config(resources.models, model_name)
    tools = _tools(resources.tools.with_more(more) if more else resources.tools, chosen, agent, terms)
    rules = settings.rules.beneath(more).for_chat(chosen.tools, {}, ())
    prompt = labelled(PromptSubject(chosen=chosen, agent=agent, began_at=began_at))
    return TurnSetup(
        chosen=chosen,
        agent=agent,
        terms=terms,
        model_config=model_config,
        limits=_limits(settings, chosen, terms, model_config),
        tools=tools,
        system=tuple(text for _, text in prompt),
        system_labels=tuple(label for label, _ in prompt),
        tool_definitions=_definitions(tools, chosen.client_tools),
        provider_tools=_provider_tools(chosen, model_config),
        permitted=Permitted(
            rules=rules,
            client_tools={tool.name: tool for tool in chosen.client_tools},
            client_tool_seconds=settings.client_tool_seconds,
            on_uncertain="ask" if settings.ask_when_uncertain else "tell",
            uncertain_tools=settings.uncertain_tools,
        ),
        has_execute=EXECUTE in tools or EXECUTE not in resources.tools,
    )


def _model_config(models: Models, name: str | None) -> ModelConfig | None:
    try:
        return models.resolve(name).config
    except (AttemptFailed, InvalidInput):
        return None


def _limits(
    settings: WorkerSettings, chosen: Settings, terms: Terms | None, config: ModelConfig | None
) -> TurnLimits:
    limits = settings.limits
    for steps in (None if terms is None else terms.steps, chosen.max_steps):
        if steps is not None:
            limits = with_fields(limits, steps=min(limits.steps, steps))
    if terms is not None:
        # A script takes the answer of its agent, or none: closing words would be paid for nobody.
        limits = with_fields(limits, closing=False)
    if config is None or config.compaction_threshold is None:
        return limits
    return with_fields(limits, compaction_threshold=config.compaction_threshold)


def _tools(
    everything: ToolRegistry, chosen: Settings, agent: NamedAgent | None, terms: Terms | None
) -> ToolRegistry:
    tools = everything.only(agent.tools if agent else None).only(names_of(chosen.tools))
    if not chosen.web:
        tools = tools.without(WEB_TOOLS)
    if terms is None:
        return tools
    answer = terms.answer
    own = () if answer is None else (answer,)
    return ToolRegistry(own) if not terms.has_tools else tools.with_own(own)


def _provider_tools(chosen: Settings, config: ModelConfig | None) -> tuple[ProviderTool, ...]:
    """What was switched for the chat; else what is configured for the model. Nothing of the web where that is
    switched off."""
    of_model = () if config is None else config.provider_tools
    wanted = of_model if chosen.provider_tools is None else chosen.provider_tools
    return tuple(tool for tool in wanted if chosen.web or tool not in WEB_TOOLS)


def _definitions(tools: ToolRegistry, client_tools: Iterable[ClientTool]) -> tuple[ToolDefinition, ...]:
    """Always in the same order, because they are the start of every request. A client's tool replaces ours of
    the same name; providers refuse two of one name."""
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
