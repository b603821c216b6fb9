"""How a chat starts. A person, an agent or a run describes the chat with a `Start`; forks and imports have
their own descriptions. `begin` makes the command, and nothing else decides what a new chat looks like."""

from typing import overload

from msgspec.structs import replace

from holdfast.chats.commands import Create, Fork, Import
from holdfast.core.accounts import NamedAgent
from holdfast.core.chats import BUILD, ClientTool, ProviderTool, Settings, TitleSource, Writes
from holdfast.core.ids import ChatId, MessageId, NamedAgentId, UserId, WorkspaceId
from holdfast.core.messages import Message
from holdfast.core.origins import PERSON, Origin, is_agent
from holdfast.core.parts import Parts, Text
from holdfast.core.runs import AgentTerms
from holdfast.core.shapes import Json, Record
from holdfast.core.text import clean_deep, one_line
from holdfast.core.titles import first_title
from holdfast.core.usage import Budget

# The longest title of a chat, and the longest label of an agent.
TITLE_LENGTH = 200
LABEL_LENGTH = 80


class Start(Record, frozen=True, kw_only=True):
    """A chat whose first message starts its first turn."""

    owner_id: UserId
    parts: Parts
    origin: Origin = PERSON
    # Only for a sub-agent: the root of the family it joins.
    root_id: ChatId | None = None
    # The name given by its creator; without one the title is taken from the message.
    name: str | None = None
    # The named agent it is started as. It supplies the model and effort if they are not given.
    agent: NamedAgentId | None = None
    model: str | None = None
    effort: str | None = None
    workspace_id: WorkspaceId | None = None
    budget: Budget | None = None
    # Which tools it may use, in the format of `tools/choice.py`.
    tools: Json = None
    client_tools: tuple[ClientTool, ...] = ()
    instructions: str | None = None
    labels: tuple[str, ...] = ()
    # The most model calls in one turn; None: the server's limit.
    max_steps: int | None = None
    provider_tools: tuple[ProviderTool, ...] | None = None
    debug: bool = False
    web: bool = True
    mode: str = BUILD
    writes: Writes = "direct"


class ForkStart(Record, frozen=True, kw_only=True):
    """A copy of a chat and its settings, up to a message (None: all of it)."""

    owner_id: UserId
    source_id: ChatId
    source: Settings
    up_to: MessageId | None = None
    name: str | None = None
    budget: Budget | None = None
    mode: str = BUILD
    writes: Writes = "direct"


class ImportStart(Record, frozen=True, kw_only=True):
    """A chat from a file. Its workspace, its budget and its permissions are not taken over."""

    owner_id: UserId
    messages: tuple[Message, ...]
    name: str = ""
    summary: str = ""
    model: str | None = None
    effort: str | None = None
    budget: Budget | None = None
    labels: tuple[str, ...] = ()
    pinned: bool = False


@overload
def begin(start: Start) -> Create: ...
@overload
def begin(start: ForkStart) -> Fork: ...
@overload
def begin(start: ImportStart) -> Import: ...
def begin(start: Start | ForkStart | ImportStart) -> Create | Fork | Import:
    match start:
        case Start():
            return Create(
                owner_id=start.owner_id,
                settings=_settings(start),
                parts=start.parts,
                origin=start.origin,
                root_id=start.root_id,
                mode=start.mode,
                writes=start.writes,
            )
        case ForkStart():
            return Fork(
                owner_id=start.owner_id,
                settings=_copied_settings(start),
                source_id=start.source_id,
                up_to=start.up_to,
                mode=start.mode,
                writes=start.writes,
            )
        case ImportStart():
            return Import(
                owner_id=start.owner_id, settings=_imported_settings(start), messages=start.messages
            )


def _settings(start: Start) -> Settings:
    title, source = _agent_title(start) if is_agent(start.origin) else _person_title(start)
    return Settings(
        title=title,
        title_source=source,
        model=start.model,
        effort=start.effort,
        workspace_id=start.workspace_id,
        agent=start.agent,
        instructions=start.instructions,
        client_tools=start.client_tools,
        tools=start.tools,
        labels=start.labels,
        budget=start.budget,
        max_steps=start.max_steps,
        provider_tools=start.provider_tools,
        debug=start.debug,
        web=start.web,
    )


def _person_title(start: Start) -> tuple[str, TitleSource]:
    named = one_line(start.name or "", TITLE_LENGTH)
    return (named, "person") if named else (first_title(start.parts), "none")


def _agent_title(start: Start) -> tuple[str, TitleSource]:
    if start.name:
        return one_line(start.name, LABEL_LENGTH), "person"
    task = " ".join(part.text for part in start.parts if isinstance(part, Text))
    return one_line(task, LABEL_LENGTH), "none"


def _copied_settings(start: ForkStart) -> Settings:
    source = start.source
    title = f"{source.title} (fork)".strip() if start.name is None else start.name
    return replace(
        source,
        title=one_line(title, TITLE_LENGTH),
        title_source="person" if start.name else source.title_source,
        summary="",
        pinned=False,
        budget=start.budget,
    )


def _imported_settings(start: ImportStart) -> Settings:
    """Cleaned here, because the store does not clean an import again."""
    title = one_line(start.name, TITLE_LENGTH)
    return clean_deep(
        Settings(
            title=title,
            title_source="person" if title else "none",
            summary=one_line(start.summary, TITLE_LENGTH),
            model=start.model,
            effort=start.effort,
            labels=start.labels,
            pinned=start.pinned,
            budget=start.budget,
        )
    )


class NewAgent(Record, frozen=True, kw_only=True):
    """An agent of a run that is about to be created, with everything its first turn needs: whoever creates
    and runs it need not read it again."""

    chat_id: ChatId
    create: Create
    # The named agent it is started as.
    named: NamedAgent | None = None
    # Its limits as an agent of a run.
    terms: AgentTerms | None = None
    # Whether any budget applies to it.
    capped: bool
