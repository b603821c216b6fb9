"""The chat as clients see it, and its settings. Its execution state lives in `holdfast.chats`."""

from datetime import datetime
from typing import Literal

from holdfast.core.calls import Action
from holdfast.core.failures import Failure, Retry
from holdfast.core.ids import CallId, ChatId, MessageId, RunId, UserId, WorkspaceId
from holdfast.core.origins import Origin
from holdfast.core.shapes import Json, Record
from holdfast.core.steps import TurnOutcome
from holdfast.core.usage import Budget, Usage

Status = Literal["idle", "running", "interrupting", "requires_action", "error"]
Waiting = Literal["capacity", "held", "children"]
TitleSource = Literal["none", "generated", "person"]
# Where an agent's writes go: into the workspace, or into a draft that a person reviews.
Writes = Literal["direct", "review"]
# The mode in which an agent may use everything it has.
BUILD = "build"
# Tools that a model's provider runs itself.
ProviderTool = Literal["web_search", "code_execution"]


class ClientTool(Record, frozen=True, kw_only=True):
    name: str
    description: str
    input_schema: Json


class Settings(Record, frozen=True, kw_only=True):
    """A chat's settings. They are not execution state: changing them never moves `version`."""

    title: str = ""
    title_source: TitleSource = "none"
    summary: str = ""
    model: str | None = None
    effort: str | None = None
    workspace_id: WorkspaceId | None = None
    agent: str | None = None
    instructions: str | None = None
    client_tools: tuple[ClientTool, ...] = ()
    tools: Json = None
    labels: tuple[str, ...] = ()
    pinned: bool = False
    budget: Budget | None = None
    # The most model calls in one turn; None: the server's limit.
    max_steps: int | None = None
    # None: what is configured for the model.
    provider_tools: tuple[ProviderTool, ...] | None = None
    # Whether the debug record is switched on for this chat.
    debug: bool = False
    # Whether its agent may use the web: our tools for it, and the provider's own search.
    web: bool = True


class Found(Record, frozen=True, kw_only=True):
    """Where a search matched: the message, and the line in it."""

    message_id: MessageId
    line: str


class LastTurn(Record, frozen=True, kw_only=True):
    """How the newest finished turn ended."""

    outcome: TurnOutcome
    finished_at: datetime


class Chat(Record, frozen=True, kw_only=True):
    id: ChatId
    title: str
    summary: str
    status: Status
    waiting: Waiting | None
    archived: bool
    # The model and effort of the next turn: the chat's own, else those of its named agent. None: the default
    # model, and the model's own default effort.
    model: str | None
    effort: str | None
    owner_id: UserId
    parent_id: ChatId | None
    parent_call_id: CallId | None
    root_id: ChatId
    run_id: RunId | None
    # Contains the same facts as the three ids above, for sub-agents and agents of runs.
    origin: Origin
    workspace_id: WorkspaceId | None
    labels: tuple[str, ...]
    pinned: bool
    version: int
    history_version: int
    queue_length: int
    last_error: Failure | None
    retry: Retry | None
    action: Action | None
    budget: Budget | None
    usage: Usage
    created_at: datetime
    updated_at: datetime
    # None: no turn has ended yet.
    last_turn: LastTurn | None = None
    # How many sub-agents it started.
    children: int = 0
    # The most model calls in one turn; None: the server's limit.
    max_steps: int | None = None
    # None: what is configured for the model.
    provider_tools: tuple[ProviderTool, ...] | None = None
    # What the agent may do: `build`, `plan`, `ask`, or one of the configuration's.
    mode: str = BUILD
    writes: Writes = "direct"
    # Whether the debug record is switched on for this chat.
    debug: bool = False
    # Whether its agent may use the web: our tools for it, and the provider's own search.
    web: bool = True


class ListedChat(Chat, frozen=True, kw_only=True):
    """A chat in a list; `found` is set when the chat is listed because its messages matched a search."""

    found: Found | None = None
