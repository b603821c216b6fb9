"""Changes of files, as clients see them: which file, what of it, who made it, what became of it."""

from datetime import datetime
from typing import Literal

import msgspec

from holdfast.core.ids import CallId, ChatId, MessageId, UserId
from holdfast.core.shapes import Record

Operation = Literal["create", "edit", "delete", "rename"]
# pending: waits in a draft.  applied: it is in the workspace.  rejected: taken back in the draft.  reverted:
# undone after it was applied.  conflict: it could not be merged with what others did.
ChangeState = Literal["pending", "applied", "rejected", "reverted", "conflict"]
RewindWhat = Literal["files", "conversation", "both"]
CheckpointKind = Literal["step", "outside", "rewind", "undo", "apply", "reject"]


class FileState(Record, frozen=True, kw_only=True):
    """What stands at a path. `blob` names the content (of a link: where it leads); empty: it is not kept."""

    kind: Literal["file", "link", "directory"]
    mode: int
    blob: str = ""


class FileChange(Record, frozen=True, kw_only=True):
    """One path, from one state to another, as one call (or one act of a person) made it."""

    id: str
    checkpoint_id: str
    chat_id: ChatId
    # The directory it is in: a workspace, a chat's own directory, or its draft.
    place: str
    turn: int
    step: int
    call_id: CallId | None
    path: str
    before: FileState | None
    after: FileState | None
    state: ChangeState
    created_at: datetime
    decided_by: UserId | None = None
    decided_at: datetime | None = None
    additions: int = 0
    deletions: int = 0
    diff: str = ""


class Checkpoint(Record, frozen=True, kw_only=True):
    id: str
    chat_id: ChatId
    place: str
    kind: CheckpointKind
    turn: int
    step: int
    call_id: CallId | None
    created_at: datetime
    # What was there and is not kept: ignored files and large ones, the first of them.
    skipped: tuple[str, ...] = ()
    # Of a rewind of the conversation: the version that it gave the chat.
    rewound_at: int | None = None


class ChangedFile(Record, frozen=True, kw_only=True):
    """A file that was just changed, as watchers are told; `diff` may be cut."""

    id: str
    path: str
    operation: Operation
    additions: int
    deletions: int
    diff: str
    turn: int
    step: int
    state: ChangeState


class ChangeShown(Record, frozen=True, kw_only=True):
    """A file's difference, as people review it. `hunks` counts them; `diff_hash` names exactly this one.
    `diff_left_out`: with it the answer would be too large, so it is read by itself."""

    id: str
    chat_id: ChatId
    path: str
    operation: Operation
    additions: int
    deletions: int
    diff: str
    diff_hash: str
    hunks: int
    diff_left_out: bool = False
    turn: int
    step: int
    state: ChangeState
    # The sub-agent that made it; None: the chat itself.
    agent: ChatId | None = None
    message_id: MessageId | None = None
    # Where it was before, of a rename.
    old_path: str | None = None
    # Other chats that changed the same file within the hour.
    collisions: tuple[ChatId, ...] = ()
    # Advice, never a hindrance: it no longer parses, imports vanished.
    advice: tuple[str, ...] = ()
    decided_by: UserId | None = None
    decided_at: datetime | None = None


ActionName = Literal["restore", "delete", "merge", "leave"]


class FileAction(Record, frozen=True, kw_only=True):
    """What a rewind does to a file; with `conflict` it is left alone, and why."""

    path: str
    action: ActionName
    conflict: str | None = None


class PathConflict(Record, frozen=True, kw_only=True):
    path: str
    reason: str


class PlacedFile(Record, frozen=True, kw_only=True):
    """A path that is about to be written: what it must still be, and what it is to become."""

    path: str
    before: FileState | None
    after: FileState | None


class SettledChange(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What becomes of a change by its id."""

    id: str
    state: ChangeState
    path: str = ""


class ChangeOperation(Record, frozen=True, kw_only=True):
    """Files that are written together, noted before the first one: whoever is killed, it is brought to its
    end."""

    id: str
    chat_id: ChatId
    owner_id: UserId
    place: str
    kind: CheckpointKind
    files: tuple[PlacedFile, ...]
    # The rows that count from then on, and what becomes of earlier ones.
    checkpoint: Checkpoint
    rows: tuple[FileChange, ...] = ()
    settled: tuple[SettledChange, ...] = ()
    # The conversation goes back to before this message, before the first file is written.
    rewinds: MessageId | None = None
    # What the agent is told, before the names of the files.
    notice: str | None = None
    notice_to: ChatId | None = None
    decided_by: UserId | None = None
    decided_at: datetime | None = None
