"""What an edit of several files is about to do: enough to find out afterwards which files it changed, and to
finish it. Contents are identified by their digests, so a file changed by somebody else is never mistaken for
one of its own."""

from typing import Literal

from holdfast.core.ids import CallId, ChatId, UserId, WorkspaceId
from holdfast.core.shapes import Record

# begun: some files may have been changed. made: all of them have been.
IntentState = Literal["begun", "made"]


class IntendedFile(Record, frozen=True, kw_only=True):
    """SHA-256 of the file's content before the edit and after it."""

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
