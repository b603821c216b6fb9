"""What one watcher is sent: pure functions from its position and what was read to events, each with the
position of a client that has seen it. A page comes from one snapshot. Committed text is never sent twice, and
a preview is replaced by its message or withdrawn, never left."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace as replaced

from holdfast.core.changes import ChangedFile
from holdfast.core.chats import Chat
from holdfast.core.collisions import Collision
from holdfast.core.debug_runs import DebugRun
from holdfast.core.events import Episode
from holdfast.core.feed_events import (
    ChangesData,
    DebugData,
    EventName,
    MessageData,
    QueueData,
    Replaces,
    StatusData,
)
from holdfast.core.ids import ChatId, MessageId
from holdfast.core.messages import Message, QueueItem
from holdfast.core.parts import Part, Reasoning, Text, ToolCall
from holdfast.core.spans import Span
from holdfast.feed.cursor import Position
from holdfast.store.feed_reads import ChatHead, Missed, MissedPage, SpanRows
from holdfast.telemetry.spans import (
    agent_span_id,
    call_span_id,
    check_span_id,
    hook_span_id,
    spans,
    started_by,
    step_id,
    turn_id,
)


class Event(NamedTuple):
    name: EventName
    payload: object
    # The position of a client that has seen it.
    position: Position


NOTHING: dict[str, object] = {}


@dataclass(frozen=True, slots=True)
class ChatState:
    """The state of the chat, from one snapshot."""

    head: ChatHead
    chat: Chat
    queue: tuple[QueueItem, ...]
    collisions: tuple[Collision, ...] = ()
    changes: tuple[ChangedFile, ...] = ()
    # Those that moved last, the newest first.
    debug_runs: tuple[DebugRun, ...] = ()


# What is left to read from a watcher's position.
Rest = Literal["nothing", "messages", "spans"]


@dataclass(frozen=True, slots=True)
class WatcherEvents:
    events: tuple[Event, ...]
    after: Position
    rest: Rest


def tell(before: Position, state: ChatState, page: MissedPage) -> WatcherEvents:
    """What a watcher at this position missed, as far as the page goes."""
    head = state.head
    if not page.found or max(before.version, before.spans) > head.version:
        # Not a position in this history: the client has another one.
        return _begin_anew(Position(version=head.version))
    if page.removed:
        return _begin_anew(Position(version=head.version, spans=before.spans, span=before.span))
    events: list[Event] = []
    at = replace(before, version=head.version)
    if before.episode != head.live and not _is_replaced(before, page):
        at = replace(at, episode=None, n=0)
        if before.n:
            events.append(Event("preview_reset", NOTHING, at))
    for missed in page.messages:
        preview = (None, 0) if missed.replaces == at.episode else (at.episode, at.n)
        at = replace(at, message_id=missed.message.id, episode=preview[0], n=preview[1])
        events.append(Event("message", _message_data(missed), at))
    if page.more:
        return WatcherEvents(tuple(events), at, "messages")
    if page.spans is None:
        return WatcherEvents(tuple(events), at, "spans")
    for span, revision, key in _missed_spans(state.chat.id, before, page.spans):
        at = replace(at, spans=revision, span=key)
        events.append(Event("span", span, at))
    if page.spans.upto is not None:
        return WatcherEvents(tuple(events), replace(at, spans=page.spans.upto, span=""), "spans")
    return WatcherEvents(tuple(events), place_of(head, at), "nothing")


def place_of(head: ChatHead, preview: Position) -> Position:
    """The position of a watcher that has everything, with this preview."""
    return Position(
        version=head.version,
        message_id=head.last_message_id,
        spans=head.version,
        episode=preview.episode,
        n=preview.n,
    )


def _begin_anew(start: Position) -> WatcherEvents:
    return WatcherEvents((Event("history_reset", NOTHING, start),), start, "messages")


def _is_replaced(before: Position, page: MissedPage) -> bool:
    """The message of a preview is the first that follows, so it is on the first page."""
    return before.n > 0 and any(missed.replaces == before.episode for missed in page.messages)


def _message_data(missed: Missed) -> MessageData:
    episode = missed.replaces
    return MessageData(
        message=shown(missed.message),
        replaces=msgspec.UNSET
        if episode is None
        else Replaces(history_version=episode.history_version, attempt=episode.attempt),
    )


def shown(message: Message) -> Message:
    """The message without `provider_data`, which is only for the provider that sent it."""
    parts = tuple([_shown_part(part) for part in message.parts])
    return message if parts == message.parts else replaced(message, parts=parts)


def _shown_part(part: Part) -> Part:
    if isinstance(part, Text | Reasoning | ToolCall) and part.provider_data is not msgspec.UNSET:
        return replaced(part, provider_data=msgspec.UNSET)
    return part


# --- spans ---


def _missed_spans(chat_id: ChatId, before: Position, rows: SpanRows) -> list[tuple[Span, int, str]]:
    """The spans that the rows changed, by version, parents first, with their key within it."""
    versions: dict[str, tuple[int, str]] = {}
    for turn in rows.turns:
        versions[turn_id(turn.number)] = (turn.revision, "0")
    for step in rows.steps:
        versions[step_id(step)] = (step.revision, "1")
        versions[f"model-{step.turn}-{step.number}"] = (step.revision, "2")
    for call in rows.calls:
        versions[call_span_id(call.call_id)] = (call.revision, "3")
        if (agent_id := started_by(call)) is not None:
            versions[agent_span_id(agent_id)] = (call.revision, "4")
    for message in rows.checks:
        versions[check_span_id(message)] = (message.revision, "5")
    for run in rows.hooks:
        versions[hook_span_id(run)] = (run.revision, "6")
    steps = {step.id: step for step in (*rows.parents, *rows.steps)}
    said = (*rows.messages, *rows.checks)
    found = [
        (span, versions[span.id][0], versions[span.id][1] + span.id)
        for span in spans(chat_id, rows.turns, steps.values(), rows.calls, said, rows.hooks)
        if span.id in versions
    ]
    found.sort(key=lambda one: one[1:])
    return [one for one in found if one[1:] > (before.spans_from, before.span)]


# --- the current state ---


def state_events(before: ChatState | None, after: ChatState) -> Iterator[tuple[EventName, object]]:
    """All of it for a watcher that knows nothing, else what changed. The end of an error or a wait is
    reported by `chat`."""
    chat, old = after.chat, before.chat if before else None
    if chat != old:
        yield "chat", chat
    if old is None or (chat.status, chat.waiting) != (old.status, old.waiting):
        yield "status", StatusData(status=chat.status, waiting=chat.waiting)
    if before is None or before.head.queue_version != after.head.queue_version:
        yield "queue", QueueData(items=after.queue)
    if chat.retry is not None and (before is None or before.head.retry_version != after.head.retry_version):
        yield "retry", chat.retry
    if chat.last_error is not None and (old is None or chat.last_error != old.last_error):
        yield "failed", chat.last_error
    if chat.action is not None and (old is None or chat.action != old.action):
        yield "action_required", chat.action
    if old is None or chat.usage != old.usage:
        yield "usage", chat.usage
    known = before.collisions if before else ()
    for collision in after.collisions:
        if collision not in known:
            yield "collision", collision
    seen = before.changes if before else ()
    if new := tuple(one for one in after.changes if one not in seen):
        yield "changes", ChangesData(items=new)
    recorded = before.debug_runs if before else ()
    for run in reversed(after.debug_runs):
        if run not in recorded:
            yield "debug", DebugData(debug_run=run)


def is_newer(episode: Episode, known: ChatHead) -> bool:
    """Whether the episode started after this was read."""
    return (episode.history_version, episode.attempt) > (known.history_version, known.attempt)


def beginning(tail: tuple[int, MessageId | None, int] | None) -> Position:
    """The starting position of a watcher that wants only the newest messages."""
    if tail is None:
        return Position()
    version, message_id, revision = tail
    return Position(version=version, message_id=message_id, spans=revision)
