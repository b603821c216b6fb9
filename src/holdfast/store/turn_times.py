"""The duration of turns that this process saw from start to end, by a clock that does not jump. Other turns
end at the time of the decision."""

import threading
from datetime import datetime, timedelta

from msgspec.structs import replace

from holdfast.chats.change import Change, TurnEnd
from holdfast.core.clock import Clock
from holdfast.core.ids import ChatId

# How many turns are remembered; older ones are not measured.
MOST = 10_000


class TurnTimes:
    """Thread-safe. If a decision is made again, its turn is remembered again."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        # When it started, by the wall clock and by the steady clock.
        self._began: dict[tuple[ChatId, int], tuple[datetime, float]] = {}

    def measured(self, change: Change) -> Change:
        """The change with the measured ends of turns. Turns that start with it are remembered."""
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
        # Nothing takes no time: an end equal to the start would mean that the duration is unknown.
        took = timedelta(seconds=max(now - began[1], 0.000_001))
        return replace(end, finished_at=began[0] + took)
