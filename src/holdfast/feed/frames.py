"""Events as they are sent: a frame is encoded once for all receivers, and is never larger than 1 MiB. If it
was cut to fit, it says so (`truncated`); REST has the whole."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar, cast

from msgspec.structs import replace

from holdfast.core.feed_events import EventName, PartData
from holdfast.core.parts import LivePart, Reasoning, Text, ToolCallDelta
from holdfast.core.shapes import encode
from holdfast.feed.cursor import Position
from holdfast.feed.truncation import cut_to_fit

T = TypeVar("T")

FRAME_BYTES = 1024 * 1024
# Without the event's name, its id, and the separators.
DATA_BYTES = FRAME_BYTES - 512
# How much text is joined into one part: a sixth of a frame, because escaping may make it six times as long.
JOINED_CHARACTERS = 128 * 1024


class Frame:
    """`leave`: after this frame a watcher continues by reading the database from there, not with the next
    frame."""

    __slots__ = ("_framed", "_sse", "_text", "data", "event", "id", "leave", "live", "size")

    def __init__(
        self,
        event: EventName,
        id: str,  # noqa: A002 - its name in every protocol
        data: bytes,
        live: PartData | None = None,
        leave: Position | None = None,
    ) -> None:
        self.event: EventName = event
        self.id = id
        self.data = data
        self.live = live
        self.leave = leave
        self.size = len(data) + len(id) + 32
        self._sse: bytes | None = None
        self._text: str | None = None
        self._framed: bytes | None = None

    @property
    def sse(self) -> bytes:
        if self._sse is None:
            # An empty id would make a client forget the one it has.
            name = f"event: {self.event}\nid: {self.id}" if self.id else f"event: {self.event}"
            self._sse = b"%b\ndata: %b\n\n" % (name.encode(), self.data)
        return self._sse

    @property
    def text(self) -> str:
        """The WebSocket message."""
        if self._text is None:
            event_id = f'"{self.id}"' if self.id else "null"
            self._text = f'{{"event":"{self.event}","id":{event_id},"data":{self.data.decode()}}}'
        return self._text

    @property
    def framed(self) -> bytes:
        """The same, as it is on the wire: one text frame, unmasked and uncompressed."""
        if self._framed is None:
            event_id = b'"%b"' % self.id.encode() if self.id else b"null"
            text = b'{"event":"%b","id":%b,"data":%b}' % (self.event.encode(), event_id, self.data)
            self._framed = _frame_head(len(text)) + text
        return self._framed


class Batch:
    """Frames that are sent together. `leave` is that of the last of them, which may not be sent itself."""

    __slots__ = ("_framed", "_sse", "frames", "leave")

    def __init__(self, frames: Sequence[Frame], leave: Position | None = None) -> None:
        self.frames = frames
        self.leave = leave
        self._sse: bytes | None = None
        self._framed: bytes | None = None

    @property
    def sse(self) -> bytes:
        if self._sse is None:
            self._sse = b"".join([frame.sse for frame in self.frames])
        return self._sse

    @property
    def texts(self) -> list[str]:
        return [frame.text for frame in self.frames]

    @property
    def framed(self) -> bytes:
        if self._framed is None:
            self._framed = b"".join([frame.framed for frame in self.frames])
        return self._framed


def _frame_head(size: int) -> bytes:
    """The header of a WebSocket text message in one frame (RFC 6455, 5.2)."""
    if size < 126:
        return bytes((0x81, size))
    return b"\x81\x7e" + size.to_bytes(2, "big") if size < 2**16 else b"\x81\x7f" + size.to_bytes(8, "big")


def data_of(payload: object) -> bytes:
    data = encode(payload)
    return data if len(data) <= DATA_BYTES else cut_to_fit(data, DATA_BYTES)


# --- live parts ---


def part_frame(data: PartData, event_id: str) -> Frame:
    return Frame("part", event_id, data_of(data), live=data)


def join_parts(first: int, parts: Iterable[LivePart]) -> list[tuple[int, int, LivePart]]:
    """The parts, numbered from `first`, with neighbours that continue the same text joined: the first and
    last number of each."""
    joined: list[tuple[int, int, LivePart]] = []
    for run in _runs(parts, _goes_on, _length):
        joined.append((first, first + len(run) - 1, _joined(run)))
        first += len(run)
    return joined


def join_frames(frames: Iterable[Frame]) -> list[Frame]:
    """The same frames, with live parts joined where one continues the one before."""
    return [_joined_frame(run) for run in _runs(frames, _frame_goes_on, _frame_length)]


def _runs(
    items: Iterable[T], goes_on: Callable[[T, T], bool], length: Callable[[T], int]
) -> Iterator[list[T]]:
    """Neighbours that may be joined, as long as they fit into one frame."""
    run: list[T] = []
    characters = 0
    for item in items:
        characters += length(item)
        if run and (characters > JOINED_CHARACTERS or not goes_on(run[-1], item)):
            yield run
            run, characters = [], length(item)
        run.append(item)
    if run:
        yield run


def _joined_frame(run: Sequence[Frame]) -> Frame:
    lives = [frame.live for frame in run if frame.live is not None]
    if len(run) == 1:
        return run[0]
    first, last = lives[0], lives[-1]
    return part_frame(
        replace(last, first=first.begin, part=_joined([live.part for live in lives])), run[-1].id
    )


def _frame_goes_on(one: Frame, other: Frame) -> bool:
    return one.live is not None and other.live is not None and _follows(one.live, other.live)


def _frame_length(frame: Frame) -> int:
    return 0 if frame.live is None else _length(frame.live.part)


def _length(part: LivePart) -> int:
    return len(part.text) if isinstance(part, Text | Reasoning | ToolCallDelta) else 0


def _follows(one: PartData, other: PartData) -> bool:
    return (
        one.n + 1 == other.begin
        and one.history_version == other.history_version
        and one.attempt == other.attempt
        and one.role == other.role
        and _goes_on(one.part, other.part)
    )


def _goes_on(one: LivePart, other: LivePart) -> bool:
    match one, other:
        case (Text(), Text()) | (Reasoning(), Reasoning()):
            return True
        case ToolCallDelta(), ToolCallDelta():
            return one.call_id == other.call_id and one.name == other.name
        case _:
            return False


def _joined(run: Sequence[LivePart]) -> LivePart:
    last = run[-1]
    if len(run) == 1 or not isinstance(last, Text | Reasoning | ToolCallDelta):
        return last
    text = "".join([part.text for part in cast(Sequence[Text | Reasoning | ToolCallDelta], run)])
    match last:
        case Text():
            return Text(text=text)
        case Reasoning():
            first = cast(Reasoning, run[0])
            return Reasoning(text=text, started_at=first.started_at, finished_at=last.finished_at)
        case ToolCallDelta():
            return ToolCallDelta(call_id=last.call_id, name=last.name, text=text)
