"""A reading of one chat: its state and a page for every position asked about, all from one snapshot; and the
frames made from it."""

from collections.abc import Iterable

from holdfast.chats.view import Queued
from holdfast.core.changes import ChangedFile
from holdfast.core.chats import Chat
from holdfast.core.collisions import Collision
from holdfast.core.debug_runs import DebugRun
from holdfast.core.ids import ChatId
from holdfast.feed import cursor
from holdfast.feed.cursor import Position
from holdfast.feed.frames import Frame, data_of
from holdfast.feed.limits import PageSize
from holdfast.feed.watch import ChatState, Event, state_events
from holdfast.store import changes, collisions, debug_runs, feed_reads
from holdfast.store.chats import chat as chat_query
from holdfast.store.feed_reads import ChatHead, MissedPage
from holdfast.store.query import Query, joined
from holdfast.store.queue import item_of
from holdfast.store.queue import queue as queue_query

# How many debug records a watcher hears of: more than move at the same time.
DEBUG_RUNS = 5

Reading = tuple[ChatState, tuple[MissedPage, ...]]


def reading(
    chat_id: ChatId, positions: Iterable[Position], size: PageSize, *, spans: bool = True
) -> Query[Reading | None]:
    """None: the chat was deleted. Without `spans` the pages have only messages."""

    def read(
        head: ChatHead | None,
        chat: Chat | None,
        queue: tuple[Queued, ...],
        collided: tuple[Collision, ...],
        changed: tuple[ChangedFile, ...],
        recorded: tuple[DebugRun, ...],
        *pages: MissedPage,
    ) -> Reading | None:
        if head is None or chat is None:
            return None
        items = tuple(item_of(item, place) for place, item in enumerate(queue))
        return ChatState(head, chat, items, collided, changed, recorded), pages

    return joined(
        feed_reads.head(chat_id),
        chat_query(chat_id),
        queue_query(chat_id),
        collisions.of_chat(chat_id),
        changes.of_turn(chat_id),
        debug_runs.moved_last(chat_id, DEBUG_RUNS),
        *(
            feed_reads.page(
                chat_id,
                version=position.version,
                message_id=position.message_id,
                spans_from=position.spans_from if spans else None,
                limit=size.messages,
                limit_bytes=size.bytes,
                limit_spans=size.spans,
            )
            for position in positions
        ),
        read=read,
    )


def event_frames(chat_id: ChatId, events: Iterable[Event]) -> list[Frame]:
    return [
        Frame(event.name, cursor.encode(chat_id, event.position), data_of(event.payload)) for event in events
    ]


def state_frames(before: ChatState | None, after: ChatState, position: Position) -> list[Frame]:
    event_id = cursor.encode(after.chat.id, position)
    return [Frame(name, event_id, data_of(payload)) for name, payload in state_events(before, after)]
