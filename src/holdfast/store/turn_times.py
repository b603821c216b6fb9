"""How long turns took that this process saw from their beginning to their end, by a clock that does not jump.
The ends of others keep the moment at which they were decided."""

import threading
from datetime import datetime, timedelta

from msgspec.structs import replace

from holdfast.chats.change import Change, TurnEnd
from holdfast.core.clock import Clock
from holdfast.core.ids import ChatId

# So many turns are remembered; an older one is not measured.
MOST = 10_000


class TurnTimes:
    """Any thread may use it. What was only tried, and is decided again, is remembered anew."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        # When it began, on the wall and by the steady clock.
        self._began: dict[tuple[ChatId, int], tuple[datetime, float]] = {}

    def measured(self, change: Change) -> Change:
        """The change with the real ends of turns. Those that begin with it are remembered."""
        if not change.turns and not change.turns_ended:
            return change
        now, chat_id = self._clock.elapsed(), change.chat_id
        with self._lock:
            ended = tuple(self._measured(chat_id, end, now) for end in change.turns_ended)
            for turn in change.turns:
                self._began[chat_id, turn.number] = turn.started_at, now
            while len(self._began) > MOST:
                del self._began[next(iter(self._began))]
        return replace(change, turns_ended=ended)

    def _measured(self, chat_id: ChatId, end: TurnEnd, now: float) -> TurnEnd:
        began = self._began.get((chat_id, end.number))
        if began is None:
            return end
        # Nothing takes no time at all: an end that is its beginning says that nobody knows.
        took = timedelta(seconds=max(now - began[1], 0.000_001))
        return replace(end, finished_at=began[0] + took)
