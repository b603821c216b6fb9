"""Messages: the committed entries of a history, and the queue items that wait to become one."""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from holdfast.core.ids import ChatId, MessageId, QueueItemId, UserId
from holdfast.core.parts import Parts
from holdfast.core.shapes import Record
from holdfast.core.usage import Usage

Role = Literal["user", "assistant", "tool", "system"]
Visibility = Literal["both", "user", "model"]
Busy = Literal["queue", "interrupt", "steer"]


class Message(Record, frozen=True, kw_only=True):
    id: MessageId
    chat_id: ChatId
    turn: int
    role: Role
    parts: Parts
    # The version of the chat that last wrote this message.
    revision: int
    visibility: Visibility = "both"
    model: str | None = None
    effort: str | None = None
    usage: Usage | None = None
    removed: bool = False
    interrupted: bool = False
    compaction: bool = False
    queue_item_id: QueueItemId | None = None
    created_by: UserId | None = None
    created_at: datetime


class HistoryEntry(Record, frozen=True, kw_only=True, array_like=True):
    """The part of a message that the model is shown and the worker needs. Long histories are read in this
    form, without the rest."""

    turn: int
    role: Role
    # A summary that replaces everything before it.
    boundary: bool
    interrupted: bool
    model: str | None
    usage: Usage | None
    parts: Parts
    id: MessageId | None = None


def entries_of(messages: Iterable[Message]) -> list[HistoryEntry]:
    return [
        HistoryEntry(
            turn=message.turn,
            role=message.role,
            parts=message.parts,
            boundary=message.compaction and message.visibility == "model",
            interrupted=message.interrupted,
            model=message.model,
            usage=message.usage,
            id=message.id,
        )
        for message in messages
        if not message.removed and message.visibility != "user"
    ]


class QueueItem(Record, frozen=True, kw_only=True):
    """A queue item as clients see it; `hold_token` is only returned to the client that took the hold."""

    id: QueueItemId
    content: Parts
    busy: Busy
    position: int
    held: bool
    hold_token: str | None = None
    model: str | None
    effort: str | None
    created_by: UserId
    created_at: datetime
