"""One turn of one's own, watched from its beginning to its end."""

from dataclasses import dataclass
from typing import Literal

from holdfast.cli.events import Event
from holdfast.cli.transcript import Transcript
from holdfast.cli.wording import waits_for
from holdfast.core.calls import Action
from holdfast.core.chats import Chat
from holdfast.core.failures import Failure
from holdfast.core.feed_events import CaughtUp, MessageData, QueueData, StatusData
from holdfast.core.ids import MessageId, QueueItemId
from holdfast.core.spans import Span

_REMOVED = Failure(kind="removed", message="The message was removed from the queue before it was sent.")


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    how: Literal["finished", "interrupted", "failed", "needs_you"]
    failure: Failure | None = None
    # What a person is needed for.
    what: str = ""


class OwnTurn:
    """Of the message that was sent: known by its id, by the queue item it was, or as a new chat's first."""

    def __init__(self) -> None:
        self.is_sent = False
        self._message_id: MessageId | None = None
        self._item_id: QueueItemId | None = None
        self.number: int | None = None
        # How it ended, until what became of the chat is told too.
        self._ended: TurnOutcome | None = None

    @property
    def begun(self) -> bool:
        return self.number is not None

    def sent(self, message_id: MessageId | None = None, item_id: QueueItemId | None = None) -> None:
        self.is_sent, self._message_id, self._item_id = True, message_id, item_id

    def apply(self, event: Event, after: Transcript) -> TurnOutcome | None:
        """`after` is the transcript with this event in it."""
        if not self.is_sent:
            return None
        if isinstance(event, MessageData) and not self.begun and self._is_mine(event):
            self.number = event.message.turn
        if self._ended is not None:
            return self._ended if _is_last(event, self._ended) else None
        match event:
            case Action() | CaughtUp() if after.caught_up and after.action is not None and after.action.calls:
                return TurnOutcome("needs_you", what=waits_for(after.action))
            case Span():
                self._ended = self._end(event)
                return None
            case QueueData() if self._item_id is not None and not self.begun:
                waits = any(item.id == self._item_id for item in event.items)
                return None if waits else TurnOutcome("failed", _REMOVED)
            case _:
                return None

    def _is_mine(self, event: MessageData) -> bool:
        message = event.message
        if message.role != "user":
            return False
        if self._message_id is None and self._item_id is None:
            return True
        return message.id == self._message_id or (
            self._item_id is not None and message.queue_item_id == self._item_id
        )

    def _end(self, span: Span) -> TurnOutcome | None:
        if span.kind != "turn" or span.turn != self.number or span.finished_at is None:
            return None
        match span.outcome:
            case "failed":
                return TurnOutcome("failed", span.failure)
            case "interrupted":
                return TurnOutcome("interrupted")
            case _:
                return TurnOutcome("finished")


def _is_last(event: Event, ended: TurnOutcome) -> bool:
    """Whether nothing more is told of a turn that ended so: first comes how it ended, then what the chat is
    now, and why."""
    match event:
        case CaughtUp():
            return True
        case Failure():
            return ended.how == "failed"
        case StatusData():
            return ended.how != "failed"
        case Chat(status="running" | "interrupting"):
            return True  # the next one has begun
        case _:
            return False
