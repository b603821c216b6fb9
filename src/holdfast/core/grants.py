"""Grants: paths outside its workspace that a person lets one chat read. Never write."""

from datetime import datetime
from typing import Literal

from holdfast.core.calls import Scope
from holdfast.core.ids import CallId, ChatId, GrantId, UserId
from holdfast.core.shapes import Record

GrantKind = Literal["file", "directory"]


class Grant(Record, frozen=True, kw_only=True):
    """`path` is absolute and has no symbolic links, as resolved when it was granted."""

    id: GrantId
    chat_id: ChatId
    # The call that asked for it.
    call_id: CallId
    path: str
    # A directory includes everything below it.
    kind: GrantKind
    reason: str
    granted_by: UserId
    granted_at: datetime
    # `once`: valid for the turn that asked for it. Otherwise for the whole chat.
    scope: Scope = "chat"
