"""The live stream of one chat as frames: live parts without a gap, the step in progress, its usage so far.
Missing parts are requested over the bus; if nobody can repeat them, the preview is withdrawn."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from holdfast.core.events import BusEvent, Episode, LiveParts, LiveStep, Repeat, Skipped
from holdfast.core.feed_events import PartData
from holdfast.core.ids import ChatId
from holdfast.core.parts import LivePart
from holdfast.core.usage import Usage
from holdfast.feed.cursor import Position, Stem
from holdfast.feed.frames import Frame, data_of, join_parts, part_frame
from holdfast.feed.limits import FeedLimits
from holdfast.feed.preview import Preview
from holdfast.feed.watch import NOTHING
from holdfast.telemetry.spans import under_way


class Live:
    def __init__(
        self,
        chat_id: ChatId,
        publish: Callable[[BusEvent], None],
        give_up: Callable[[], None],
        limits: FeedLimits,
    ) -> None:
        """`give_up` is called when the missing parts will not come."""
        self.preview = Preview(limits.kept_bytes)
        self._chat_id = chat_id
        self._publish = publish
        self._give_up = give_up
        self._limits = limits
        self._stem = Stem(chat_id, Position())
        self._asking: asyncio.TimerHandle | None = None
        self._asked = 0

    def stand_at(self, position: Position, episode: Episode | None) -> None:
        """A reading found the chat at this position."""
        if self.preview.turn_to(episode):
            self._stop_asking()
        self._stem = Stem(self._chat_id, replace(position, episode=episode))

    def place(self, position: Position) -> Position:
        """The position, with the preview of a watcher that has seen everything."""
        return replace(position, episode=self.preview.episode, n=self.preview.n)

    @property
    def event_id(self) -> str:
        """For an event that comes now and moves no position."""
        return self._stem.id(self.preview.n)

    # --- parts ---

    def take(self, event: LiveParts) -> list[Frame]:
        preview = self.preview
        fresh = preview.take(event)
        if preview.standing == "gap":
            self._ask_later()
        elif self._asking is not None:
            self._stop_asking()
        if not fresh:
            return []
        if len(fresh) == 1:
            return [self._frame(preview.n, preview.n, fresh[0])]
        return self._frames(preview.n + 1 - len(fresh), fresh)

    def after(self, n: int) -> list[Frame] | None:
        """For a watcher that has seen the parts up to the n-th; None: there is a gap that cannot be closed
        from here."""
        parts = self.preview.after(n)
        return None if parts is None else self._frames(n + 1, parts)

    def withdrawn(self) -> Frame:
        return Frame("preview_reset", self._stem.id(0), data_of(NOTHING))

    def _frames(self, first: int, parts: Sequence[LivePart]) -> list[Frame]:
        return [self._frame(begin, end, part) for begin, end, part in join_parts(first, parts)]

    def _frame(self, first: int, n: int, part: LivePart) -> Frame:
        episode = self.preview.episode
        assert episode is not None
        data = PartData(
            history_version=episode.history_version,
            attempt=episode.attempt,
            n=n,
            first=msgspec.UNSET if first == n else first,
            role=self.preview.role,
            part=part,
        )
        return part_frame(data, self._stem.id(n))

    # --- the step ---

    def step(self, event: LiveStep, spent: Usage) -> list[Frame]:
        """The spans of the step in progress, and its usage."""
        if event.episode != self.preview.episode:
            return []
        frames = [Frame("span", self.event_id, data_of(span)) for span in under_way(event)]
        return [*frames, Frame("usage", self.event_id, data_of(spent + event.usage))]

    # --- missing parts ---

    def skip(self, event: Skipped) -> None:
        self.preview.skip(event)
        if not self.preview.open:
            self._stop_asking()

    def ask(self) -> None:
        """The chat's owner repeats the parts that are not known here, if there are any."""
        episode = self.preview.episode
        if episode is not None and self.preview.open:
            self._publish(Repeat(chat_id=self._chat_id, episode=episode, first=self.preview.n + 1))

    def _ask_later(self) -> None:
        """Requests them now, and again until the gap is closed or no answer is expected."""
        if self._asking is None:
            self._asked = 0
            self._ask_again()

    def _ask_again(self) -> None:
        self._asked += 1
        if self._asked > self._limits.asks:
            self._stop_asking()
            self._give_up()
            return
        self._asking = asyncio.get_running_loop().call_later(self._limits.ask_seconds, self._ask_again)
        self.ask()

    def _stop_asking(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None

    def close(self) -> None:
        self._stop_asking()
