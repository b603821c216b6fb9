"""What a call waits for and who approved it, as clients and traces see it."""

from datetime import datetime
from typing import Literal

from holdfast.core.ids import CallId, ChatId, UserId
from holdfast.core.shapes import Json, Record

# Whether a call may be repeated: freely, with the same key, or never by itself.
Effect = Literal["read", "idempotent", "unsafe"]
ActionKind = Literal["client_tool", "question", "plan", "approval", "uncertain"]
Verdict = Literal["approve", "deny", "retry", "done", "skip"]
Scope = Literal["once", "chat"]
# Tools whose calls do nothing but wait for chats below: meanwhile their own chat takes nobody's place.
WAIT_FOR_CHILDREN = frozenset({"wait_agents", "run_workflow"})
# Tools that start sub-agents, and where their output names the one they started.
STARTS_AGENTS = {"spawn_agent": "agent_id", "spawn_subagent": "chat_id"}
# The tool that an agent of a workflow answers with when its answer must have a shape.
STRUCTURED_OUTPUT = "structured_output"
# Tools whose output is a file part, which the person is shown beside the result.
SHOW_FILES = frozenset({"attach_file"})
# Tools whose results hand over the ends of chats below: while one of them runs, no notice does.
HAND_OVER_ENDS = frozenset({"wait_agents", "stop_agent", "subagent_result"})


class Approval(Record, frozen=True, kw_only=True):
    """Who let a call run, or refused it: a person or a rule, for this call or for the whole chat."""

    by: Literal["person", "rule"]
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
