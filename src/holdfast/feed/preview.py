"""The live parts of one chat as far as this process knows them: those of one episode, from the first to the
last without a gap. They are kept for watchers that join later, up to a limit."""

from collections import deque
from collections.abc import Sequence
from typing import Literal

from holdfast.core.events import Episode, LiveParts, Skipped
from holdfast.core.messages import Role
from holdfast.core.parts import LivePart, Reasoning, Text, ToolCallDelta
from holdfast.core.shapes import encode

# whole: all parts so far are here.  gap: some are missing, and were requested.  stopped: some could not be
# sent, so nothing more is shown until the commit.  lost: the preview had to be withdrawn.
Standing = Literal["whole", "gap", "stopped", "lost"]


class Preview:
    def __init__(self, kept_bytes: int) -> None:
        self._limit = kept_bytes
        self.episode: Episode | None = None
        self.role: Role = "assistant"
        self.standing: Standing = "whole"
        # The last known part; 0: none.
        self.n = 0
        self._kept: deque[tuple[LivePart, int]] = deque()
        self._bytes = 0

    def turn_to(self, episode: Episode | None) -> bool:
        """The chat is at this episode. True: it was at another one, which is now forgotten."""
        if episode == self.episode:
            return False
        self.episode = episode
        self._forget("whole")
        return True

    def lose(self) -> None:
        """The missing parts will not come."""
        self._forget("lost")

    def _forget(self, standing: Standing) -> None:
        self.standing = standing
        self.n = 0
        self._kept.clear()
        self._bytes = 0

    @property
    def open(self) -> bool:
        """Whether more parts are accepted."""
        return self.episode is not None and self.standing in ("whole", "gap")

    def take(self, event: LiveParts) -> Sequence[LivePart]:
        """Those of the parts that continue the preview; afterwards `n` is the number of the last one."""
        if not self.open or event.episode != self.episode:
            return ()
        known = self.n + 1 - event.first
        if known < 0:
            self.standing = "gap"
            return ()
        fresh = event.parts[known:] if known else event.parts
        if not fresh:
            return ()
        self.standing = "whole"
        self.role = event.role
        self.n += len(fresh)
        for part in fresh:
            size = _size(part)
            self._kept.append((part, size))
            self._bytes += size
        while self._bytes > self._limit:
            self._bytes -= self._kept.popleft()[1]
        return fresh

    def skip(self, event: Skipped) -> None:
        """These parts are too large for the bus, and would be again: the preview stays as it is, and the rest
        is seen when it is committed."""
        if event.episode == self.episode and self.open and 0 <= self.n + 1 - event.first < event.count:
            self.standing = "stopped"

    def after(self, n: int) -> list[LivePart] | None:
        """The parts after the n-th; None: they are not all kept, or the n-th itself is unknown."""
        missing = self.n - n
        if not 0 <= missing <= len(self._kept):
            return None
        return [part for part, _ in list(self._kept)[len(self._kept) - missing :]]


def _size(part: LivePart) -> int:
    if isinstance(part, Text | Reasoning | ToolCallDelta):
        return 64 + len(part.text)
    return 64 + len(encode(part))
