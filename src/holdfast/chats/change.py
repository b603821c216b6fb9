"""The result of a decision: a change for the store to apply in one transaction, or a refusal."""

from datetime import datetime
from typing import Literal

from holdfast.chats.commands import DeliveryKey
from holdfast.chats.view import Call, Delivery, InboxNotice, Queued, View
from holdfast.core.chats import Settings
from holdfast.core.failures import Failure
from holdfast.core.hooks import HappenedEvent
from holdfast.core.ids import CallId, ChatId, MessageId, NoticeId, QueueItemId, UserId
from holdfast.core.messages import Message
from holdfast.core.shapes import Json, Record
from holdfast.core.steps import Step, Turn, TurnOutcome

RefusalCode = Literal[
    "wrong_state",
    "already_sent",
    "already_answered",
    "idempotency_mismatch",
    "queue_full",
    "not_found",
    "invalid_input",
    "stale",
]


class Refusal(Record, frozen=True, kw_only=True):
    """Why nothing was done. `stale` is only for workers: the fence no longer matches and the task ends
    silently. `field` names the invalid part of the input."""

    code: RefusalCode
    text: str
    data: Json = None
    field: str | None = None


class TurnEnd(Record, frozen=True, kw_only=True):
    number: int
    finished_at: datetime
    outcome: TurnOutcome
    failure: Failure | None
    revision: int


class FullOutput(Record, frozen=True, kw_only=True):
    call_id: CallId
    run: int
    text: str


class Change(Record, frozen=True, kw_only=True):
    """Rows to write, all guarded by `before` (the version the decision was made on; 0: the chat must not
    exist). `after` is the view as it will be, None when the chat is deleted. An empty change
    (`after.chat.version == before`) writes nothing: the command was valid and there was nothing to do."""

    chat_id: ChatId
    owner_id: UserId
    before: int
    after: View | None
    # The settings, if this change creates the chat.
    created: Settings | None = None
    # Messages from this id on that are not removed yet become removed, before any are inserted.
    removed_from: MessageId | None = None
    messages: tuple[Message, ...] = ()
    queue_put: tuple[Queued, ...] = ()
    queue_dropped: tuple[QueueItemId, ...] = ()
    inbox_put: tuple[InboxNotice, ...] = ()
    inbox_taken: tuple[NoticeId, ...] = ()
    calls_put: tuple[Call, ...] = ()
    full_outputs: tuple[FullOutput, ...] = ()
    steps: tuple[Step, ...] = ()
    turns: tuple[Turn, ...] = ()
    turns_ended: tuple[TurnEnd, ...] = ()
    deliveries: tuple[Delivery, ...] = ()
    deliveries_taken: tuple[DeliveryKey, ...] = ()
    # This chat and everything below it, if it is deleted.
    deleted: tuple[ChatId, ...] = ()
    # Changes of other chats in the family that belong to the same transaction.
    others: tuple["Change", ...] = ()
    # What hooks may be told of afterwards. A store keeps those that anybody listens to.
    events: tuple[HappenedEvent, ...] = ()
    # What the caller is told: the message that entered history, or the item that waits.
    answer: Message | Queued | None = None

    @property
    def is_empty(self) -> bool:
        return self.after is not None and self.after.chat.version == self.before and not self.others
