"""What waits to leave the process, and how it is packed: payloads of a bounded size, parts of one episode
joined, a part that is too large replaced by "ask for it". Bounded: too many parts are dropped, too many hints
become one "read again"."""

from collections import deque

import msgspec

from holdfast.bus.backlog import BASE_WEIGHT, Backlog, weigh
from holdfast.bus.interface import Counters
from holdfast.core.events import LIVE, BusEvent, LiveParts, Reread, Skipped, decoder
from holdfast.core.parts import LivePart
from holdfast.core.shapes import encode

# PostgreSQL refuses 8 000.
PAYLOAD_BYTES = 7900
OUTBOX_LIMIT = 1024 * 1024
# About as many short parts as one payload holds.
MOST_JOINED = 200

_one = msgspec.json.Decoder(BusEvent)
_raws = msgspec.json.Decoder(list[msgspec.Raw])


class Outbox:
    """Two lanes: hints go before live parts, so that a worker is woken whatever is streaming."""

    def __init__(
        self,
        origin: str,
        counters: Counters,
        limit: int = OUTBOX_LIMIT,
        payload_bytes: int = PAYLOAD_BYTES,
    ) -> None:
        self._head = f"{origin}:[".encode()
        self._limit = limit
        self._room = payload_bytes - len(self._head)
        self._counters = counters
        self._words = Backlog()
        self._parts = Backlog()
        # Parts that are already encoded and did not fit into the previous payload.
        self._rest: deque[bytes] = deque()

    def __bool__(self) -> bool:
        return bool(self._words or self._rest or self._parts)

    def put(self, event: BusEvent) -> None:
        weight = weigh(event)
        if isinstance(event, LiveParts):
            if not event.parts:
                return
            if weight > self._limit // 4:
                self._counters.too_large += 1
                event, weight = _skipped(event, event.first, len(event.parts)), BASE_WEIGHT
        is_live = isinstance(event, LIVE)
        lane = self._parts if is_live else self._words
        if lane.weight + weight <= self._limit:
            lane.put(event, weight)
        elif is_live:
            # Their readers see the gap and ask for them, or wait for the commit.
            self._counters.live_dropped += 1 + lane.clear()
        else:
            self._counters.rereads_sent += 1
            lane.clear()
            lane.put(Reread(reason="overflow"), BASE_WEIGHT)

    def pack(self) -> str | None:
        """The next payload with as much as fits; None when nothing waits."""
        pieces: list[bytes] = []
        room = self._room
        while self:
            piece = self._next_piece()
            if len(piece) + 1 <= room:
                room -= len(piece) + 1
                pieces.append(piece)
            elif pieces:
                self._rest.appendleft(piece)
                break
        return (self._head + b",".join(pieces) + b"]").decode() if pieces else None

    def _next_piece(self) -> bytes:
        if self._words:
            return encode(self._words.take())
        if not self._rest:
            self._rest.extend(self._encode_next())
        return self._rest.popleft()

    def _encode_next(self) -> list[bytes]:
        event = self._parts.take()
        if not isinstance(event, LiveParts):
            return [encode(event)]
        # Deltas are published one by one; those that wait together are sent as one event.
        parts = list(event.parts)
        while len(parts) < MOST_JOINED and (following := self._parts.take_if_follows(event, len(parts))):
            parts.extend(following.parts)
        return self._encode_parts(event, parts)

    def _encode_parts(self, event: LiveParts, parts: list[LivePart]) -> list[bytes]:
        room = self._room - 2
        pieces: list[bytes] = []
        batch: list[bytes] = []
        used = 0
        first = event.first

        def seal(upto: int) -> None:
            nonlocal batch, used
            if batch:
                # The parts are the last field: they go between the brackets of an event without any.
                pieces.append(_opening(event, upto - len(batch)) + b",".join(batch) + b"]}")
            batch, used = [], 0

        for number, part in enumerate(parts, first):
            encoded = _encode_part(part)
            opening = len(_opening(event, number)) + 2
            if encoded is None or opening + len(encoded) > room:
                seal(number)
                self._counters.too_large += 1
                pieces.append(encode(_skipped(event, number, 1)))
                continue
            if batch and used + len(encoded) + 1 > room:
                seal(number)
            if not batch:
                used = opening
            batch.append(encoded)
            used += len(encoded) + 1
        seal(first + len(parts))
        return pieces


def unpack(payload: str, counters: Counters) -> tuple[BusEvent, ...]:
    """The events of a payload. What cannot be decoded (a newer version's, somebody else's) is counted and
    skipped."""
    body = payload.partition(":")[2]
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeError):
        pass
    events: list[BusEvent] = []
    try:
        raws = _raws.decode(body)
    except (msgspec.DecodeError, UnicodeError):
        counters.garbled += 1
        return ()
    for raw in raws:
        try:
            events.append(_one.decode(raw))
        except (msgspec.DecodeError, UnicodeError):
            counters.garbled += 1
    return tuple(events)


def _skipped(event: LiveParts, first: int, count: int) -> Skipped:
    return Skipped(chat_id=event.chat_id, episode=event.episode, first=first, count=count)


def _opening(event: LiveParts, first: int) -> bytes:
    bare = LiveParts(chat_id=event.chat_id, episode=event.episode, first=first, role=event.role, parts=())
    return encode(bare)[:-2]


def _encode_part(part: LivePart) -> bytes | None:
    try:
        return encode(part)
    except UnicodeEncodeError:
        return None  # a lone surrogate, which no payload can carry
