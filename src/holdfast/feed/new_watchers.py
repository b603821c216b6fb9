"""The watchers of a room that do not read its log yet: they are joining, they missed more than a page and
read for themselves, or they wait for live parts that they can continue from. A watcher is admitted when it
knows what the last reading found: from then on it reads what everybody reads."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from holdfast.core.errors import Bug, StoreClosed, TryAgain
from holdfast.core.ids import ChatId
from holdfast.feed.chat_reads import event_frames, reading, state_frames
from holdfast.feed.cursor import Position
from holdfast.feed.limits import FeedLimits
from holdfast.feed.live import Live
from holdfast.feed.log import FrameLog
from holdfast.feed.watch import NOTHING, ChatState, Event, Rest, beginning, tell
from holdfast.feed.watcher import Watcher
from holdfast.store.feed_reads import MissedPage, tail
from holdfast.store.interface import Store

# How many are served by one reading.
AT_ONCE = 16


@dataclass(slots=True)
class Outside:
    """Where a watcher is, and the state it was last told."""

    position: Position
    # Start with this many of the newest messages instead.
    tail: int | None = None
    state: ChatState | None = None
    # It missed more than a page and reads this for itself.
    rest: Rest = "nothing"
    greeted: bool = False
    # It has everything but live parts, which cannot be provided now.
    held: bool = False


class NewWatchers:
    def __init__(
        self,
        chat_id: ChatId,
        store: Store,
        live: Live,
        log: FrameLog,
        limits: FeedLimits,
        knock: Callable[[], None],
    ) -> None:
        """`knock` requests a reading."""
        self._chat_id = chat_id
        self._store = store
        self._live = live
        self._log = log
        self._limits = limits
        self._knock = knock
        self._outside: dict[Watcher, Outside] = {}
        self._knocked: dict[Watcher, None] = {}

    def enter(self, watcher: Watcher, outside: Outside) -> None:
        self._outside[watcher] = outside

    def leave(self, watcher: Watcher) -> None:
        self._outside.pop(watcher, None)
        self._knocked.pop(watcher, None)

    def _go_back(self, watcher: Watcher, position: Position) -> None:
        """It has left the log and continues from this position."""
        self._outside[watcher] = Outside(position, greeted=True)

    async def catch_up(self, watcher: Watcher, state: ChatState | None) -> None:
        """Reads on, or requests a reading; a held watcher that knows this state only has to wait."""
        outside = self._outside.get(watcher)
        if outside is None:
            raise Bug("a watcher is neither in the log nor outside of it")
        if outside.rest != "nothing" or outside.tail is not None:
            await self._read_for(watcher, outside)
            return
        if not outside.held or outside.state is not state:
            self._knocked[watcher] = None
            self._knock()
        await watcher.sleep()

    # --- results of a reading ---

    def waiting(self) -> list[tuple[Watcher, Position]]:
        """Whom the next reading is for: watchers that requested one, and held ones that have read what they
        were given."""
        knocked = list(self._knocked)[:AT_ONCE]
        held = [one for one, outside in self._outside.items() if outside.held and one.sleeps]
        return [(one, self._outside[one].position) for one in dict.fromkeys([*knocked, *held])]

    def is_served(self, state: ChatState) -> bool:
        """Whether every waiting watcher knows this state: one may have requested a reading meanwhile, or gone
        to sleep, held, believing that there was nothing new."""
        return not self._knocked and not any(
            outside.held and outside.state is not state and watcher.sleeps
            for watcher, outside in self._outside.items()
        )

    def serve(self, watcher: Watcher, state: ChatState, page: MissedPage) -> None:
        """What this watcher missed; if it is no more than this, it is admitted."""
        self._knocked.pop(watcher, None)
        outside = self._outside.get(watcher)
        if outside is None:
            return
        told = tell(outside.position, state, page)
        frames = event_frames(self._chat_id, told.events)
        outside.position = told.after
        outside.rest = told.rest
        outside.held = False
        if told.rest != "nothing":
            watcher.give(frames)
            return
        frames += state_frames(outside.state, state, told.after)
        outside.state = state
        if not outside.greeted:
            frames += event_frames(self._chat_id, [Event("caught_up", NOTHING, told.after)])
            outside.greeted = True
        watcher.give(frames)
        self._let_in(watcher, outside)

    def let_in_held(self, state: ChatState | None) -> None:
        """There are more live parts: perhaps watchers that have everything else can continue now."""
        for watcher, outside in list(self._outside.items()):
            if outside.held and outside.state is state:
                self._let_in(watcher, outside)

    def _let_in(self, watcher: Watcher, outside: Outside) -> None:
        """Admits the watcher to the log, after the live parts it lacks. If these cannot be provided it is
        held: it is only sent what is committed, until newer live parts come."""
        preview, position = self._live.preview, outside.position
        shown = position.n if position.episode == preview.episode else 0
        frames = self._live.after(shown)
        if shown and (preview.standing == "lost" or (frames is None and shown < preview.n)):
            watcher.give([self._live.withdrawn()])
            shown, frames = 0, self._live.after(0)
        outside.position = replace(position, n=shown)
        outside.held = frames is None
        if frames is not None:
            del self._outside[watcher]
            watcher.give(frames)
            watcher.enter_log(self._log, self._go_back)

    # --- watchers that read for themselves ---

    async def _read_for(self, watcher: Watcher, outside: Outside) -> None:
        try:
            if outside.tail is not None:
                outside.position = beginning(await self._store.read(tail(self._chat_id, outside.tail)))
                outside.tail = None
                return
            spans = outside.rest == "spans"
            found = await self._store.read(
                reading(self._chat_id, [outside.position], self._limits.own_page, spans=spans)
            )
        except StoreClosed:
            watcher.end("closing")
            return
        except TryAgain as error:
            await asyncio.sleep(error.after_seconds)
            return
        if found is None:
            watcher.end("deleted")
            return
        told = tell(outside.position, found[0], found[1][0])
        outside.position = told.after
        outside.rest = told.rest
        watcher.give(event_frames(self._chat_id, told.events))
