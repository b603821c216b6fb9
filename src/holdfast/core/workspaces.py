"""Workspaces: directories that chats work in. A chat without one has a scratch directory, which is not a
workspace."""

from datetime import datetime
from typing import Literal

from holdfast.core.ids import ChatId, UserId, WorkspaceId
from holdfast.core.shapes import Record

# directory: below an allowed root.  worktree: a checkout that we made for one chat.
WorkspaceKind = Literal["directory", "worktree"]


class Worktree(Record, frozen=True, kw_only=True):
    """What a worktree was made from: the repository's directory, the commit it started at and its branch; and
    the chat that needs it."""

    repository: str
    base: str
    branch: str
    chat_id: ChatId
    # It stays when that chat is deleted.
    kept: bool = False


class Workspace(Record, frozen=True, kw_only=True):
    id: WorkspaceId
    owner_id: UserId
    name: str
    # As the file system reports it, without symbolic links.
    path: str
    created_at: datetime
    worktree: Worktree | None = None

    @property
    def kind(self) -> WorkspaceKind:
        return "directory" if self.worktree is None else "worktree"
