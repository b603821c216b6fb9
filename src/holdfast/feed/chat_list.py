"""The feed of a user's chat list: what appears, changes or goes, and what needs the person. Sub-agents count
for the chat they belong to. A chat is told of at most a few times a second, whatever happens in it."""

import asyncio
from dataclasses import dataclass

import structlog

from holdfast.bus.backlog import BASE_WEIGHT
from holdfast.bus.interface import Bus
from holdfast.core.chats import Chat
from holdfast.core.clock import to_micros
from holdfast.core.errors import Bug, StoreClosed, TryAgain
from holdfast.core.events import BusEvent, Hint, Reread
from holdfast.core.ids import CallId, ChatId, UserId
from holdfast.core.shapes import Record
from holdfast.feed.cursor import Position, decode_list, encode_list
from holdfast.feed.frames import EventName, Frame, data_of
from holdfast.feed.limits import Limits
from holdfast.feed.log import Log
from holdfast.feed.watch import NOTHING
from holdfast.feed.watcher import Ending, Watcher
from holdfast.store import listed
from holdfast.store.chats import chats as chats_query
from holdfast.store.interface import Store
from holdfast.store.listed import LastTurn, Place

logger = structlog.get_logger(__name__)

# Chats that are told of to who comes back; one that missed more reads the list.
MOST_MISSED = 200
MOST_AT_ONCE = 200
MOST_SEEN = 2000
# What a hint is about that only says: look.
NO_CHAT = ChatId("")


class RemovedData(Record, frozen=True, kw_only=True):
    id: ChatId


@dataclass(frozen=True, slots=True)
class Seen:
    """What was told of a chat last."""

    active_at: int
    asked: frozenset[CallId]


def needs_person(chat: Chat, turn: LastTurn, seen: Seen | None, opened: int) -> bool:
    """Somebody is asked for something new, or a turn came to its end by itself. Who interrupts knows."""
    if _asked(chat) - (seen.asked if seen else frozenset()):
        return True
    rests = chat.status in ("idle", "error") and turn.active_at > (seen.active_at if seen else opened)
    return rests and turn.outcome in ("finished", "failed") and turn.kind != "compaction"


def _asked(chat: Chat) -> frozenset[CallId]:
    return frozenset(call.call_id for call in chat.action.calls) if chat.action else frozenset()


class ChatList:
    def __init__(self, owner_id: UserId, store: Store, bus: Bus, limits: Limits) -> None:
        self.owner_id = owner_id
        self.log = Log(limits)
        self.watchers: set[Watcher] = set()
        self.closed = False
        # Every activity until here was told, or was before anybody watched.
        self.place: Place | None = None
        self._opened = Place()
        self._store = store
        self._listener = bus.listen(owner_id=owner_id)
        self._gather_seconds = limits.gather_seconds
        self._door: dict[Watcher, Place | None] = {}
        self._seen: dict[ChatId, Seen] = {}
        # Chats that moved or went, and are not told of yet; and whether there may be others.
        self._moved: dict[ChatId, None] = {}
        self._removed: dict[ChatId, None] = {}
        self._missed_some = False

    # --- watchers ---

    def enter(self, watcher: Watcher, cursor: str | None) -> None:
        found = decode_list(self.owner_id, cursor) if cursor is not None else None
        self.watchers.add(watcher)
        self._door[watcher] = None if found is None else Place(found[0], ChatId(found[1]))

    def leave(self, watcher: Watcher) -> None:
        self.watchers.discard(watcher)
        self._door.pop(watcher, None)
        self.log.leave(watcher)

    async def catch_up(self, watcher: Watcher) -> None:
        self._poke()
        await watcher.sleep()

    def go_back(self, watcher: Watcher, position: Position) -> None:
        raise Bug("a list has no history to go back in")

    def end(self, ending: Ending) -> None:
        self.closed = True
        for watcher in list(self.watchers):
            watcher.end(ending)
        self._listener.close()

    # --- what is heard ---

    async def run(self) -> None:
        try:
            async with self._listener:
                while (event := await self._listener.get()) is not None:
                    await self._hear(event)
            self.end("closing")
        except StoreClosed:
            self.end("closing")
        except Exception:
            logger.exception("feed of a chat list failed")
            self.end("failed")

    def look(self, active: tuple[Place, ...]) -> None:
        """A poll found these to be active since `place`: there was no hint of it."""
        if active:
            self._missed_some = True
            self._poke()

    def _poke(self) -> None:
        hint = Hint(chat_id=NO_CHAT, owner_id=self.owner_id, version=0, history_version=0, status="idle")
        self._listener.put(hint, BASE_WEIGHT)

    async def _hear(self, event: BusEvent | None) -> None:
        self._note(event)
        try:
            await self._open_door()
            if self._moved or self._removed:
                await asyncio.sleep(self._gather_seconds)
            while (event := self._listener.get_nowait()) is not None:
                self._note(event)
            # One of these may have been the knock of somebody who came meanwhile.
            await self._open_door()
            await self._tell()
        except StoreClosed:
            raise
        except TryAgain as error:
            asyncio.get_running_loop().call_later(error.after_seconds, self._poke)

    def _note(self, event: BusEvent | None) -> None:
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

    # --- what is read ---

    async def _open_door(self) -> None:
        """Lets in who waits: what is told from here on, it is told too."""
        if self.place is None:
            newest = await self._store.read(listed.active_since(self.owner_id, Place(), limit=1))
            self.place = self._opened = newest[0] if newest else Place()
        for watcher, place in list(self._door.items()):
            missed = await self._missed(place) if place is not None else []
            if watcher not in self._door:
                continue
            del self._door[watcher]
            end = max(self.place, place or Place())
            watcher.give([*missed, Frame("caught_up", self._id(end), data_of(NOTHING))])
            watcher.enter_log()

    async def _missed(self, place: Place) -> list[Frame]:
        active = await self._store.read(listed.active_since(self.owner_id, place, limit=MOST_MISSED))
        found = await self._store.read(chats_query(tuple(one.chat_id for one in reversed(active))))
        places = {one.chat_id: one for one in active}
        return [Frame("changed", self._id(places[chat.id]), data_of(chat)) for chat in found]

    async def _tell(self) -> None:
        if self._missed_some and self.place is not None:
            active = await self._store.read(listed.active_since(self.owner_id, self.place, limit=MOST_MISSED))
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
                Frame("removed", self._id(self.place or Place()), data_of(RemovedData(id=chat_id)))
                for chat_id in removed
            ]
        )

    async def _read(self, moved: tuple[ChatId, ...]) -> tuple[tuple[Chat, ...], dict[ChatId, LastTurn]]:
        ids = tuple(await self._store.read(listed.roots(moved)))
        return await self._store.read(chats_query(ids), listed.last_turns(ids))

    def _append(self, chats: tuple[Chat, ...], turns: dict[ChatId, LastTurn]) -> None:
        frames: list[Frame] = []
        listed_ones = [chat for chat in chats if chat.run_id is None]
        for chat in sorted(listed_ones, key=lambda chat: turns[chat.id].active_at):
            turn = turns[chat.id]
            self.place = max(self.place or Place(), Place(turn.active_at, chat.id))
            data = data_of(chat)
            frames += [Frame(name, self._id(self.place), data) for name in self._events(chat, turn)]
            self._remember(chat, turn)
        self.log.append(frames)

    def _events(self, chat: Chat, turn: LastTurn) -> list[EventName]:
        seen = self._seen.get(chat.id)
        is_new = seen is None and to_micros(chat.created_at) > self._opened.active_at
        events: list[EventName] = ["created" if is_new else "changed"]
        if needs_person(chat, turn, seen, self._opened.active_at):
            events.append("needs_you")
        return events

    def _remember(self, chat: Chat, turn: LastTurn) -> None:
        self._seen.pop(chat.id, None)
        self._seen[chat.id] = Seen(turn.active_at, _asked(chat))
        if len(self._seen) > MOST_SEEN:
            del self._seen[next(iter(self._seen))]

    def _id(self, place: Place) -> str:
        return encode_list(self.owner_id, place.active_at, place.chat_id)
