"""What a call waits for and who approved it, as clients and traces see it."""

from datetime import datetime
from typing import Literal

from holdfast.core.ids import CallId, ChatId, RuleId, UserId, WorkspaceId
from holdfast.core.shapes import Json, Record

# Whether a call may be repeated: freely, with the same key, or never by itself.
Effect = Literal["read", "idempotent", "unsafe"]
ActionKind = Literal["client_tool", "question", "plan", "approval", "uncertain"]
Verdict = Literal["approve", "deny", "retry", "done", "skip"]
# How far a decision reaches: this call, this chat, or every chat of the user in the same workspace.
Scope = Literal["once", "chat", "always"]
# What a call touches: nothing, files of the workspace, commands, or what lies outside.
Reach = Literal["none", "workspace", "command", "outside"]
# What else the engine must know of a call. A tool declares its traits and each of its calls keeps them, so
# that nothing below the tools needs to know a tool by its name.
#   ends_turn: the turn is over once it has succeeded
#   writes: it changes files of the workspace, so the check runs after it
#   starts_agent: its output names the sub-agent it started, as `agent_id` or `chat_id`
#   waits_for_children: it does nothing but wait for chats below; meanwhile its own chat holds no slot
#   hands_over_ends: its result tells of the ends of chats below; while it runs, no notice does
#   shows_file: its output is a file part, which the person is shown beside the result
Trait = Literal["ends_turn", "writes", "starts_agent", "waits_for_children", "hands_over_ends", "shows_file"]
# The tool that an agent of a workflow answers with when its answer must have a shape.
STRUCTURED_OUTPUT = "structured_output"


class Approval(Record, frozen=True, kw_only=True):
    """Who let a call run, or refused it: a person or a rule, for this call or for the whole chat."""

    by: Literal["person", "rule"]
    # What the person chose; None: it was recorded before choices were.
    decision: Verdict | None = None
    user_id: UserId | None = None
    rule: str | None = None
    scope: Scope = "once"
    note: str | None = None
    at: datetime


class ApprovalRule(Record, frozen=True, kw_only=True):
    """What a person said of a tool for the whole chat. `id` is that of the call it was said about."""

    id: CallId
    tool: str
    allowed: bool
    user_id: UserId | None
    note: str | None
    at: datetime


class UserRule(Record, frozen=True, kw_only=True):
    """What a user decided on a tool for all of their chats in one workspace (None: their chats without one).
    Rules on web tools name a host, rules on `request_access` a path: they count for that and nothing else."""

    id: RuleId
    user_id: UserId
    tool: str
    workspace_id: WorkspaceId | None
    host: str | None
    path: str | None
    allowed: bool
    created_at: datetime


class ActionCall(Record, frozen=True, kw_only=True):
    call_id: CallId
    kind: ActionKind
    name: str
    input: Json
    deadline_at: datetime | None
    chat_id: ChatId


class Action(Record, frozen=True, kw_only=True):
    """What somebody must do before the chat goes on."""

    calls: tuple[ActionCall, ...]
