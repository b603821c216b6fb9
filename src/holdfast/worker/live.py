"""What watchers of a chat see of a step in progress. Its parts are numbered from 1 within an episode, sent as
they come, and kept (up to 1 MiB) to be repeated for a watcher that missed some. None of this is
authoritative; the commit is."""

from collections import deque
from collections.abc import Callable

from holdfast.chats.commands import NewStep
from holdfast.core.events import BusEvent, Episode, LiveParts, LiveStep, Repeat
from holdfast.core.ids import ChatId
from holdfast.core.messages import Role
from holdfast.core.parts import LivePart, Reasoning, Text, ToolCallDelta
from holdfast.core.shapes import encode

KEPT_BYTES = 1024 * 1024
# A repetition is sent in pieces, so that one late watcher does not fill everybody's backlog at once.
REPEATED_AT_ONCE = 200


class LiveText:
    def __init__(self, chat_id: ChatId, publish: Callable[[BusEvent], None]) -> None:
        self._chat_id = chat_id
        self._publish = publish
        self._episode: Episode | None = None
        self._role: Role = "assistant"
        self._next = 1
        self._kept: deque[tuple[LivePart, int]] = deque()
        self._kept_bytes = 0

    def begin(self, episode: Episode, role: Role = "assistant") -> None:
        self._episode, self._role, self._next = episode, role, 1
        self._kept.clear()
        self._kept_bytes = 0

    def end(self) -> None:
        """The episode was committed or given up: there is nothing left to repeat."""
        self._episode = None
        self._kept.clear()
        self._kept_bytes = 0

    def send(self, part: LivePart) -> None:
        episode = self._episode
        if episode is None:
            return
        size = _size(part)
        self._kept.append((part, size))
        self._kept_bytes += size
        while self._kept_bytes > KEPT_BYTES:
            self._kept_bytes -= self._kept.popleft()[1]
        first, self._next = self._next, self._next + 1
        self._publish(
            LiveParts(chat_id=self._chat_id, episode=episode, first=first, role=self._role, parts=(part,))
        )

    def step(self, turn: int, number: int, step: NewStep) -> None:
        """The step's current state. It is not repeated, because the next update supersedes it."""
        if self._episode is not None:
            self._publish(
                LiveStep(
                    chat_id=self._chat_id,
                    episode=self._episode,
                    turn=turn,
                    number=number,
                    kind=step.kind,
                    model=step.model,
                    failures=step.failures,
                    usage=step.usage,
                    started_at=step.started_at,
                )
            )

    def repeat(self, request: Repeat) -> None:
        """Sends again what a watcher misses, as far as it is still kept."""
        episode = self._episode
        if episode is None or request.episode != episode:
            return
        first = max(request.first, self._next - len(self._kept))
        parts = [part for part, _ in self._kept][len(self._kept) - (self._next - first) :]
        for start in range(0, len(parts), REPEATED_AT_ONCE):
            self._publish(
                LiveParts(
                    chat_id=self._chat_id,
                    episode=episode,
                    first=first + start,
                    role=self._role,
                    parts=tuple(parts[start : start + REPEATED_AT_ONCE]),
                )
            )


def _size(part: LivePart) -> int:
    if not isinstance(part, (Text, Reasoning, ToolCallDelta)):
        return len(encode(part))
    text = part.text
    return 64 + (len(text) if text.isascii() else len(text.encode()))
