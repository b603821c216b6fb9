"""Who wants the debug record of all their chats, as far as it was looked up lately."""

from holdfast.core.clock import Clock
from holdfast.core.ids import UserId

# Turns that look at their chat's settings hear at once of whoever changes their mind; others after so long.
KEPT_SECONDS = 30.0
_MOST = 10_000


class DebugWishes:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[UserId, tuple[bool, float]] = {}

    def know(self, user_id: UserId, wants: bool) -> None:
        if len(self._known) > _MOST:
            self._known.clear()
        self._known[user_id] = wants, self._clock.elapsed()

    def of(self, user_id: UserId) -> bool | None:
        """None: nobody looked lately."""
        wants, at = self._known.get(user_id, (None, 0.0))
        return wants if self._clock.elapsed() - at <= KEPT_SECONDS else None
