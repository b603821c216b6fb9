"""Events of a chat's feed as this client understands them. What a newer server adds is skipped, not an
error."""

from dataclasses import dataclass
from typing import cast

import msgspec

from holdfast.core.calls import Action
from holdfast.core.chats import Chat
from holdfast.core.collisions import Collision
from holdfast.core.failures import Failure, Retry
from holdfast.core.feed_events import (
    CaughtUp,
    Closing,
    HistoryReset,
    MessageData,
    PartData,
    PreviewReset,
    QueueData,
    StatusData,
    events_of,
)
from holdfast.core.spans import Span
from holdfast.core.usage import Usage


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection broke; it is tried again. Not of the feed: said by this client."""

    why: str


@dataclass(frozen=True, slots=True)
class Reconnected:
    """The connection is there again."""


Event = (
    Chat
    | MessageData
    | PartData
    | QueueData
    | StatusData
    | Retry
    | Failure
    | Action
    | PreviewReset
    | HistoryReset
    | Span
    | Usage
    | Collision
    | CaughtUp
    | Closing
    | Lost
    | Reconnected
)

_TYPES = events_of("chat")


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


class FeedEventReader:
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
