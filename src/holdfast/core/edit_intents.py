"""What an edit of several files is about to do: enough to tell afterwards which files it changed, and to
bring it to an end. It names contents by their digests, so nobody who changes a file can pretend to be it."""

from typing import Literal

from holdfast.core.ids import CallId, ChatId, UserId, WorkspaceId
from holdfast.core.shapes import Record

# begun: some files may have been changed. made: all of them were.
IntentState = Literal["begun", "made"]


class IntendedFile(Record, frozen=True, kw_only=True):
    """SHA-256 of what the file held and of what it is to hold."""

    parts: tuple[str, ...]
    before: str
    after: str


class IntendedEdit(Record, frozen=True, kw_only=True):
    path: str
    old: str
    new: str
    all: bool


class EditIntent(Record, frozen=True, kw_only=True):
    chat_id: ChatId
    call_id: CallId
    owner_id: UserId
    workspace_id: WorkspaceId | None
    files: tuple[IntendedFile, ...]
    edits: tuple[IntendedEdit, ...]
    state: IntentState = "begun"
