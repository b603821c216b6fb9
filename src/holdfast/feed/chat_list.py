"""The feed of a user's chat list: chats that appear, change or disappear, and what needs the person's
attention. Sub-agents count for the chat they belong to. Each chat is reported at most a few times a second,
whatever happens in it."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from typing_extensions import override

from holdfast.bus.backlog import BASE_WEIGHT
from holdfast.bus.interface import Bus, Listener
from holdfast.core.chats import Chat
from holdfast.core.clock import to_micros
from holdfast.core.errors import StoreClosed, TryAgain
from holdfast.core.events import BusEvent, Hint, Reread
from holdfast.core.feed_events import EventName, RemovedData
from holdfast.core.ids import CallId, ChatId, UserId
from holdfast.feed.cursor import decode_list, encode_list
from holdfast.feed.frames import Frame, data_of
from holdfast.feed.limits import FeedLimits
from holdfast.feed.log import FrameLog
from holdfast.feed.source import FeedSource
from holdfast.feed.watch import NOTHING
from holdfast.feed.watcher import Watcher
from holdfast.store import chat_list_reads
from holdfast.store.chat_list_reads import ListedTurn, ListPosition
from holdfast.store.chats import chats as chats_query
from holdfast.store.interface import Store
from holdfast.store.query import Query, joined

# How many chats a returning client is sent; one that missed more reads the list again.
MOST_MISSED = 200
MOST_AT_ONCE = 200
MOST_SEEN = 2000
# Stands for a hint that only says: look.
NO_CHAT = ChatId("")


@dataclass(frozen=True, slots=True)
class LastTold:
    """What was last reported about a chat."""

    active_at: int
    asked: frozenset[CallId]


def needs_person(chat: Chat, turn: ListedTurn, seen: LastTold | None, opened: int) -> bool:
    """Somebody is asked for something new, or a turn ended by itself. After an interrupt the person already
    knows."""
    if _asked(chat) - (seen.asked if seen else frozenset()):
        return True
    rests = chat.status in ("idle", "error") and turn.active_at > (seen.active_at if seen else opened)
    return rests and turn.outcome in ("finished", "failed") and turn.kind != "compaction"


def _asked(chat: Chat) -> frozenset[CallId]:
    return frozenset(call.call_id for call in chat.action.calls) if chat.action else frozenset()


class ChatList(FeedSource[UserId]):
    def __init__(self, owner_id: UserId, store: Store, bus: Bus, limits: FeedLimits) -> None:
        super().__init__(owner_id, store, bus, limits)
        self.log = FrameLog(limits)
        # All activity up to here was reported, or happened before anybody watched.
        self.place: ListPosition | None = None
        self._opened = ListPosition()
        self._door: dict[Watcher, ListPosition | None] = {}
        self._seen: dict[ChatId, LastTold] = {}
        # Chats that changed or disappeared and have not been reported yet; and whether there may be others.
        self._moved: dict[ChatId, None] = {}
        self._removed: dict[ChatId, None] = {}
        self._missed_some = False

    @override
    def listen(self, bus: Bus) -> Listener:
        return bus.listen(owner_id=self.key)

    # --- watchers ---

    def enter(self, watcher: Watcher, cursor: str | None) -> None:
        found = decode_list(self.key, cursor) if cursor is not None else None
        self.watchers.add(watcher)
        self._door[watcher] = None if found is None else ListPosition(found[0], ChatId(found[1]))

    @override
    def leave(self, watcher: Watcher) -> None:
        super().leave(watcher)
        self._door.pop(watcher, None)
        self.log.leave(watcher)

    @override
    async def catch_up(self, watcher: Watcher) -> None:
        self._poke()
        await watcher.sleep()

    # --- hints ---

    @classmethod
    @override
    def poll(cls, sources: Sequence["ChatList"]) -> Query[Callable[[], None]] | None:
        # Chats that have a position now; others may have one when the answer arrives.
        placed = [(one, one.place) for one in sources if one.place]

        def look(*active: tuple[ListPosition, ...]) -> None:
            for (one, _), places in zip(placed, active, strict=True):
                one._look(places)

        asked = [chat_list_reads.active_since(one.key, place, limit=1) for one, place in placed]
        return joined(*asked, read=lambda *active: partial(look, *active)) if asked else None

    def _look(self, active: tuple[ListPosition, ...]) -> None:
        """These were active since `place`, without a hint."""
        if active:
            self._missed_some = True
            self._poke()

    def _poke(self) -> None:
        hint = Hint(chat_id=NO_CHAT, owner_id=self.key, version=0, history_version=0, status="idle")
        self._listener.put(hint, BASE_WEIGHT)

    @override
    async def hear(self, event: BusEvent) -> None:
        self._note(event)
        try:
            await self._open_door()
            if self._moved or self._removed:
                await asyncio.sleep(self._limits.gather_seconds)
            while (more := self._listener.get_nowait()) is not None:
                self._note(more)
            # One of these may be a watcher that joined meanwhile.
            await self._open_door()
            await self._tell()
        except StoreClosed:
            raise
        except TryAgain as error:
            asyncio.get_running_loop().call_later(error.after_seconds, self._poke)

    def _note(self, event: BusEvent) -> None:
        match event:
            case Hint(chat_id=chat_id, status=None):
                self._moved.pop(chat_id, None)
                self._removed[chat_id] = None
            case Hint(chat_id=chat_id) if chat_id != NO_CHAT:
                self._moved[chat_id] = None
            case Reread():
                self._missed_some = True
            case _:
                pass

    # --- readings ---

    async def _open_door(self) -> None:
        """Admits waiting watchers: they get everything that is reported from now on."""
        if self.place is None:
            newest = await self._store.read(chat_list_reads.active_since(self.key, ListPosition(), limit=1))
            self.place = self._opened = newest[0] if newest else ListPosition()
        for watcher, place in list(self._door.items()):
            missed = await self._missed(place) if place is not None else []
            if watcher not in self._door:
                continue
            del self._door[watcher]
            end = max(self.place, place or ListPosition())
            watcher.give([*missed, Frame("caught_up", self._id(end), data_of(NOTHING))])
            watcher.enter_log(self.log)

    async def _missed(self, place: ListPosition) -> list[Frame]:
        active = await self._store.read(chat_list_reads.active_since(self.key, place, limit=MOST_MISSED))
        found = await self._store.read(chats_query(tuple(one.chat_id for one in reversed(active))))
        places = {one.chat_id: one for one in active}
        return [Frame("changed", self._id(places[chat.id]), data_of(chat)) for chat in found]

    async def _tell(self) -> None:
        if self._missed_some and self.place is not None:
            active = await self._store.read(
                chat_list_reads.active_since(self.key, self.place, limit=MOST_MISSED)
            )
            self._moved.update(dict.fromkeys(one.chat_id for one in reversed(active)))
            self._missed_some = False
        while self._moved:
            some = tuple(self._moved)[:MOST_AT_ONCE]
            self._append(*await self._read(some))
            for chat_id in some:
                self._moved.pop(chat_id, None)
        removed, self._removed = self._removed, {}
        self.log.append(
            [
                Frame("removed", self._id(self.place or ListPosition()), data_of(RemovedData(id=chat_id)))
                for chat_id in removed
            ]
        )

    async def _read(self, moved: tuple[ChatId, ...]) -> tuple[tuple[Chat, ...], dict[ChatId, ListedTurn]]:
        ids = tuple(await self._store.read(chat_list_reads.roots(moved)))
        return await self._store.read(chats_query(ids), chat_list_reads.last_turns(ids))

    def _append(self, chats: tuple[Chat, ...], turns: dict[ChatId, ListedTurn]) -> None:
        frames: list[Frame] = []
        listed_ones = [chat for chat in chats if chat.run_id is None]
        for chat in sorted(listed_ones, key=lambda chat: turns[chat.id].active_at):
            turn = turns[chat.id]
            self.place = max(self.place or ListPosition(), ListPosition(turn.active_at, chat.id))
            data = data_of(chat)
            frames += [Frame(name, self._id(self.place), data) for name in self._events(chat, turn)]
            self._remember(chat, turn)
        self.log.append(frames)

    def _events(self, chat: Chat, turn: ListedTurn) -> list[EventName]:
        seen = self._seen.get(chat.id)
        is_new = seen is None and to_micros(chat.created_at) > self._opened.active_at
        events: list[EventName] = ["created" if is_new else "changed"]
        if needs_person(chat, turn, seen, self._opened.active_at):
            events.append("needs_you")
        return events

    def _remember(self, chat: Chat, turn: ListedTurn) -> None:
        self._seen.pop(chat.id, None)
        self._seen[chat.id] = LastTold(turn.active_at, _asked(chat))
        if len(self._seen) > MOST_SEEN:
            del self._seen[next(iter(self._seen))]

    def _id(self, place: ListPosition) -> str:
        return encode_list(self.key, place.active_at, place.chat_id)
