"""Workspaces that are made from templates: a build is one making, from its beginning until the workspace is
there or nothing of it is left."""

from datetime import datetime
from typing import Literal, NewType

from holdfast.core.ids import CallId, ChatId, UserId, WorkspaceId
from holdfast.core.shapes import Json, Record
from holdfast.core.trust import Decision

BuildId = NewType("BuildId", str)
BuildState = Literal["building", "ready", "failed"]


class WorkspaceBuild(Record, frozen=True, kw_only=True):
    """`key`: the same asking always has the same one, and makes one workspace. `builder`: the process that is
    at work. `device` and `inode`: the directory that was made for it, so that no other one is ever
    removed."""

    id: BuildId
    owner_id: UserId
    key: str
    chat_id: ChatId | None
    call_id: CallId | None
    template: str
    name: str | None
    parameters: dict[str, Json]
    state: BuildState
    builder: str
    path: str | None = None
    device: int | None = None
    inode: int | None = None
    workspace_id: WorkspaceId | None = None
    error: str | None = None
    created_at: datetime


class TemplateDecision(Record, frozen=True, kw_only=True):
    """Whether a user trusts what a template at a git address would run: exactly the content with this
    hash."""

    user_id: UserId
    address: str
    hash: str
    decision: Decision
    decided_at: datetime
