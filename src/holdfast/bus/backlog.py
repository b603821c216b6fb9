"""Events that wait to be taken, in order. A hint replaces all earlier ones of its chat, in the place of the
first, so the backlog is bounded by the number of chats and by the weight of live parts."""

from collections import deque

from holdfast.core.events import BusEvent, Hint, LiveParts
from holdfast.core.ids import ChatId
from holdfast.core.parts import LivePart, Reasoning, Text, ToolCallDelta
from holdfast.core.shapes import encode

# Roughly what an event takes besides its text.
BASE_WEIGHT = 200


class Backlog:
    def __init__(self) -> None:
        # Each with its weight; a chat's id stands for the hint kept in `_hints`.
        self._order: deque[tuple[BusEvent | ChatId, int]] = deque()
        self._hints: dict[ChatId, Hint] = {}
        self.weight = 0

    def __bool__(self) -> bool:
        return bool(self._order)

    def put(self, event: BusEvent, weight: int) -> None:
        if isinstance(event, Hint):
            waiting = self._hints.get(event.chat_id)
            if waiting is not None:
                self._hints[event.chat_id] = merge(waiting, event)
                return
            self._hints[event.chat_id] = event
            self._order.append((event.chat_id, weight))
        else:
            self._order.append((event, weight))
        self.weight += weight

    def take(self) -> BusEvent:
        entry, weight = self._order.popleft()
        self.weight -= weight
        return self._hints.pop(entry) if isinstance(entry, str) else entry

    def take_if_follows(self, parts: LiveParts, count: int) -> LiveParts | None:
        """The next event if it continues these parts, of which there are `count` so far."""
        entry, weight = self._order[0] if self._order else (None, 0)
        if (
            not isinstance(entry, LiveParts)
            or entry.chat_id != parts.chat_id
            or entry.episode != parts.episode
            or entry.role != parts.role
            or entry.first != parts.first + count
        ):
            return None
        self._order.popleft()
        self.weight -= weight
        return entry

    def clear(self) -> int:
        """Drops everything; returns how many events that were."""
        count = len(self._order)
        self._order.clear()
        self._hints.clear()
        self.weight = 0
        return count


def merge(waiting: Hint, later: Hint) -> Hint:
    """One hint with the content of both, in whatever order they came; a waiting delivery stays waiting."""
    if later.status is None or (waiting.status is not None and later.version >= waiting.version):
        newest, other = later, waiting
    else:
        newest, other = waiting, later
    wanted = newest.wanted or (other.wanted and other.version == newest.version and newest.status is not None)
    delivery = newest.delivery or other.delivery
    if wanted == newest.wanted and delivery == newest.delivery:
        return newest
    return Hint(
        chat_id=newest.chat_id,
        owner_id=newest.owner_id,
        version=newest.version,
        history_version=newest.history_version,
        status=newest.status,
        wanted=wanted,
        delivery=delivery,
    )


def weigh(event: BusEvent) -> int:
    if not isinstance(event, LiveParts):
        return BASE_WEIGHT
    return BASE_WEIGHT + sum(map(_weigh_part, event.parts))


def _weigh_part(part: LivePart) -> int:
    match part:
        case Text(text=text) | Reasoning(text=text) | ToolCallDelta(text=text):
            return BASE_WEIGHT + len(text)
        case _:
            try:
                return BASE_WEIGHT + len(encode(part))
            except UnicodeEncodeError:
                return BASE_WEIGHT
