"""Events of a chat's feed as this client understands them. What a newer server adds is skipped, not an
error."""

from dataclasses import dataclass
from typing import cast

import msgspec

from holdfast.core.calls import Action
from holdfast.core.chats import Chat, Status, Waiting
from holdfast.core.failures import Failure, Retry
from holdfast.core.messages import Message, QueueItem, Role
from holdfast.core.parts import LivePart
from holdfast.core.shapes import Record
from holdfast.core.spans import Span
from holdfast.core.usage import Usage


class Episode(Record, frozen=True, kw_only=True):
    """One try at one step: what live parts belong to."""

    history_version: int
    attempt: int


class MessageEvent(Record, frozen=True, kw_only=True):
    message: Message
    # The preview that this message stands in for.
    replaces: Episode | None = None


class PartEvent(Record, frozen=True, kw_only=True):
    history_version: int
    attempt: int
    n: int
    first: int | None = None
    role: Role
    part: LivePart

    @property
    def episode(self) -> Episode:
        return Episode(history_version=self.history_version, attempt=self.attempt)


class QueueEvent(Record, frozen=True, kw_only=True):
    items: tuple[QueueItem, ...]


class StatusEvent(Record, frozen=True, kw_only=True):
    status: Status
    waiting: Waiting | None = None


class PreviewReset(Record, frozen=True, kw_only=True):
    """What was shown of the message under way is withdrawn."""


class HistoryReset(Record, frozen=True, kw_only=True):
    """History was removed; the visible one follows."""


class CaughtUp(Record, frozen=True, kw_only=True):
    """Everything that was missed has been told."""


class Closing(Record, frozen=True, kw_only=True):
    """The server stops, or access was lost."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection broke; it is tried again. Not of the feed: said by this client."""

    why: str


@dataclass(frozen=True, slots=True)
class Found:
    """The connection is there again."""


Event = (
    Chat
    | MessageEvent
    | PartEvent
    | QueueEvent
    | StatusEvent
    | Retry
    | Failure
    | Action
    | PreviewReset
    | HistoryReset
    | Span
    | Usage
    | CaughtUp
    | Closing
    | Lost
    | Found
)

_TYPES: dict[str, type[Record]] = {
    "chat": Chat,
    "message": MessageEvent,
    "part": PartEvent,
    "queue": QueueEvent,
    "status": StatusEvent,
    "retry": Retry,
    "failed": Failure,
    "action_required": Action,
    "preview_reset": PreviewReset,
    "history_reset": HistoryReset,
    "span": Span,
    "usage": Usage,
    "caught_up": CaughtUp,
    "closing": Closing,
}


@dataclass(frozen=True, slots=True)
class Received:
    """An event as it came."""

    name: str
    id: str
    data: bytes

    def decoded(self) -> Event | None:
        """None: this client does not know what it is."""
        wanted = _TYPES.get(self.name)
        if wanted is None:
            return None
        try:
            return cast(Event, msgspec.json.decode(self.data, type=wanted))
        except msgspec.DecodeError:
            return None

    def line(self) -> str:
        """As one line of JSON, the way the WebSocket has it."""
        event = {"event": self.name, "id": self.id, "data": msgspec.Raw(self.data)}
        return msgspec.json.encode(event).decode()


class EventReader:
    """Cuts a stream of bytes into server-sent events."""

    def __init__(self) -> None:
        # The beginning of a line whose end has not come, in pieces: a long one is put together once.
        self._begun: list[bytes] = []
        self._name = ""
        self._id = ""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[Received]:
        """The events that this chunk completes."""
        if b"\n" not in chunk:
            self._begun.append(chunk)
            return []
        *lines, rest = b"".join((*self._begun, chunk)).split(b"\n")
        self._begun = [rest] if rest else []
        return [event for line in lines if (event := self._line(line.removesuffix(b"\r"))) is not None]

    def _line(self, line: bytes) -> Received | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"event":
                self._name = value.decode(errors="replace")
            case b"id":
                self._id = value.decode(errors="replace")
            case b"data":
                self._data.append(value)
            case _:
                pass  # a comment, which says that somebody is there; or what is not for us
        return None

    def _dispatch(self) -> Received | None:
        name, data = self._name, self._data
        self._name, self._data = "", []
        return Received(name or "message", self._id, b"\n".join(data)) if data else None
