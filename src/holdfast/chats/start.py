"""How a chat begins. A person, an agent or a run describes the chat with a `Start`; forks and imports have
descriptions of their own. `begin` makes the command, and nothing else decides what a new chat is."""

from typing import overload

from msgspec.structs import replace

from holdfast.chats.commands import Create, Fork, Import
from holdfast.core.chats import BUILD, ClientTool, Settings, TitleSource, Writes
from holdfast.core.ids import ChatId, MessageId, NamedAgentId, UserId, WorkspaceId
from holdfast.core.messages import Message
from holdfast.core.origins import PERSON, Origin, is_agent
from holdfast.core.parts import Parts, Text
from holdfast.core.shapes import Json, Record
from holdfast.core.text import clean_deep, one_line
from holdfast.core.titles import first_title
from holdfast.core.usage import Budget

# The longest name of a chat in the list, and of an agent.
TITLE_LENGTH = 200
LABEL_LENGTH = 80


class Start(Record, frozen=True, kw_only=True):
    """A chat whose first message starts its first turn."""

    owner_id: UserId
    parts: Parts
    origin: Origin = PERSON
    # Of a sub-agent: the top of the family it joins.
    root_id: ChatId | None = None
    # As whoever starts it calls it; without a name the title is taken from the message.
    name: str | None = None
    # The named agent it is started as. A model or effort that is not given is that agent's.
    agent: NamedAgentId | None = None
    model: str | None = None
    effort: str | None = None
    workspace_id: WorkspaceId | None = None
    budget: Budget | None = None
    # Which tools it may use, as `tools/choice.py` writes it.
    tools: Json = None
    client_tools: tuple[ClientTool, ...] = ()
    instructions: str | None = None
    labels: tuple[str, ...] = ()
    # Model calls of one turn at most; None: as many as the server allows.
    max_steps: int | None = None
    mode: str = BUILD
    writes: Writes = "direct"


class ForkStart(Record, frozen=True, kw_only=True):
    """A copy of a chat and of what was chosen for it, up to a message (None: all of it)."""

    owner_id: UserId
    source_id: ChatId
    source: Settings
    up_to: MessageId | None = None
    name: str | None = None
    budget: Budget | None = None
    mode: str = BUILD
    writes: Writes = "direct"


class ImportStart(Record, frozen=True, kw_only=True):
    """A chat from a file. Its workspace, its budget and what was allowed to it stay behind."""

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
    """Cleaned here: the store takes an import as it is."""
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
