"""Grants: what a person lets one chat read outside of its workspace. Never writing."""

from datetime import datetime
from typing import Literal

from holdfast.core.calls import Scope
from holdfast.core.ids import CallId, ChatId, GrantId, UserId
from holdfast.core.shapes import Record

GrantKind = Literal["file", "directory"]


class Grant(Record, frozen=True, kw_only=True):
    """`path` is absolute and without links, as the file system had it when it was granted."""

    id: GrantId
    chat_id: ChatId
    # The call that asked for it.
    call_id: CallId
    path: str
    # A directory stands for everything below it.
    kind: GrantKind
    reason: str
    granted_by: UserId
    granted_at: datetime
    # `once`: it counts in the turn that asked for it, and no longer. Otherwise it counts for the chat.
    scope: Scope = "chat"
