"""What a call waits for and who approved it, as clients and traces see it."""

from datetime import datetime
from typing import Literal

from holdfast.core.ids import CallId, ChatId, RuleId, UserId, WorkspaceId
from holdfast.core.shapes import Json, Record

# Whether a call may be repeated: read calls freely, idempotent ones with the same key, unsafe ones never
# automatically.
Effect = Literal["read", "idempotent", "unsafe"]
ActionKind = Literal["client_tool", "question", "plan", "approval", "uncertain"]
# What a call waits for: somebody, or the hooks that look at it before anybody is asked.
Awaited = ActionKind | Literal["hook"]
Verdict = Literal["approve", "deny", "retry", "done", "skip"]
# The scope of a decision: this call, this chat, or every chat of the user in the same workspace.
Scope = Literal["once", "chat", "always"]
# What a call touches: nothing, files of the workspace, commands, or the outside world.
Reach = Literal["none", "workspace", "command", "outside"]
# What else the engine must know about a call. A tool declares its traits and each of its calls stores them,
# so that nothing below the tools needs to know a tool by its name.
#   ends_turn: the turn is over once the call has succeeded
#   writes: it changes files of the workspace, so the check runs after it
#   starts_agent: its output names the sub-agent it started, as `agent_id` or `chat_id`
#   waits_for_children: it only waits for sub-agents; meanwhile its own chat holds no slot
#   hands_over_ends: its result reports how sub-agents ended; while it runs, no notice does
#   shows_file: its output is a file part, or lists some as `files`; the person sees them beside the result
#   cites_sources: the `sources` of its output become source parts beside the result
#   moves_chat: after it the chat may work in another workspace, and what a turn knows of it is read again
Trait = Literal[
    "ends_turn",
    "writes",
    "starts_agent",
    "waits_for_children",
    "hands_over_ends",
    "shows_file",
    "cites_sources",
    "moves_chat",
]
# The tool an agent of a workflow answers with when its answer must match a schema.
STRUCTURED_OUTPUT = "structured_output"


class Approval(Record, frozen=True, kw_only=True):
    """Who allowed or refused a call: a person or a rule, for this call or for the whole chat."""

    by: Literal["person", "rule"]
    # What the person chose; None if it was recorded before choices were stored.
    decision: Verdict | None = None
    user_id: UserId | None = None
    rule: str | None = None
    scope: Scope = "once"
    # The host that the call wanted to reach: a word for the whole chat counts for that host alone.
    host: str | None = None
    note: str | None = None
    at: datetime


def said_key(tool: str, host: str | None) -> str:
    """What a decision for the whole chat is about: a tool, or a tool and the host it reaches."""
    return tool if host is None else f"{tool} {host}"


class ApprovalRule(Record, frozen=True, kw_only=True):
    """A person's decision on a tool for the whole chat. `id` is that of the call it was made on."""

    id: CallId
    tool: str
    host: str | None = None
    allowed: bool
    user_id: UserId | None
    note: str | None
    at: datetime


class UserRule(Record, frozen=True, kw_only=True):
    """A user's decision on a tool for all their chats in one workspace (None: their chats without a
    workspace). A rule on a web tool names a host and a rule on `request_access` a path; it applies to nothing
    else."""

    id: RuleId
    user_id: UserId
    tool: str
    workspace_id: WorkspaceId | None
    host: str | None
    path: str | None
    allowed: bool
    created_at: datetime


class CallMoment(Record, frozen=True, kw_only=True):
    """A call that may change the workspace, as those are told who look at it before and after."""

    chat_id: ChatId
    owner_id: UserId
    workspace_id: WorkspaceId | None
    call_id: CallId
    turn: int
    step: int


class ActionCall(Record, frozen=True, kw_only=True):
    call_id: CallId
    kind: ActionKind
    name: str
    input: Json
    deadline_at: datetime | None
    chat_id: ChatId


class Action(Record, frozen=True, kw_only=True):
    """What somebody must do before the chat can continue."""

    calls: tuple[ActionCall, ...]
