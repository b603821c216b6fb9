"""The live parts of one chat as this process knows them: those of one episode, from the first to the last
without a gap. They are kept for who comes later, up to a limit."""

from collections import deque
from collections.abc import Sequence
from typing import Literal

from holdfast.core.events import Episode, LiveParts, Skipped
from holdfast.core.messages import Role
from holdfast.core.parts import LivePart, Reasoning, Text, ToolCallDelta
from holdfast.core.shapes import encode

# whole: every part until now is here.  gap: some are missing, and asked for.  stopped: some could not travel,
# nothing more is shown until the commit.  lost: what was shown had to be withdrawn.
Standing = Literal["whole", "gap", "stopped", "lost"]


class Preview:
    def __init__(self, kept_bytes: int) -> None:
        self._limit = kept_bytes
        self.episode: Episode | None = None
        self.role: Role = "assistant"
        self.standing: Standing = "whole"
        # The last part that is known; 0: none.
        self.n = 0
        self._kept: deque[tuple[LivePart, int]] = deque()
        self._bytes = 0

    def turn_to(self, episode: Episode | None) -> bool:
        """The chat is at this episode. True: it was at another one, of which nothing is kept."""
        if episode == self.episode:
            return False
        self.episode = episode
        self._forget("whole")
        return True

    def lose(self) -> None:
        """What is missing will not come."""
        self._forget("lost")

    def _forget(self, standing: Standing) -> None:
        self.standing = standing
        self.n = 0
        self._kept.clear()
        self._bytes = 0

    @property
    def open(self) -> bool:
        """Whether parts may still be taken."""
        return self.episode is not None and self.standing in ("whole", "gap")

    def take(self, event: LiveParts) -> Sequence[LivePart]:
        """Those of the parts that go on where the preview ends; the last one's number is `n` afterwards."""
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
        """These parts are too large for the bus, and would be once more: what is shown stays, and what comes
        is seen when it is committed."""
        if event.episode == self.episode and self.open and 0 <= self.n + 1 - event.first < event.count:
            self.standing = "stopped"

    def after(self, n: int) -> list[LivePart] | None:
        """The parts that follow the n-th; None: they are not all kept, or the n-th is not known itself."""
        missing = self.n - n
        if not 0 <= missing <= len(self._kept):
            return None
        return [part for part, _ in list(self._kept)[len(self._kept) - missing :]]


def _size(part: LivePart) -> int:
    if isinstance(part, Text | Reasoning | ToolCallDelta):
        return 64 + len(part.text)
    return 64 + len(encode(part))
