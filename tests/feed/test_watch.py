"""What one watcher is told, from plain data: where it was, what was read, what follows."""

from dataclasses import replace
from typing import Any

import msgspec

from holdfast.core.chats import Chat
from holdfast.core.events import Episode
from holdfast.core.failures import Retry
from holdfast.core.feed_events import MessageData
from holdfast.core.ids import MessageId
from holdfast.core.origins import PERSON
from holdfast.core.parts import Reasoning
from holdfast.core.steps import Turn
from holdfast.core.usage import Usage
from holdfast.feed.cursor import START, Position
from holdfast.feed.watch import ChatState, state_events, tell
from holdfast.store.feed_reads import ChatHead, Missed, MissedPage, SpanRows
from tests.chats.making import CHAT, FAILURE, NOW, OWNER, message, numbered, text

LAST = MessageId(numbered(0x900))
EPISODE = Episode(history_version=6, attempt=1)
NO_SPANS = SpanRows(turns=(), steps=(), calls=(), parents=(), messages=(), upto=None)
NO_PAGE = MissedPage(found=True, removed=False, messages=(), more=False, spans=NO_SPANS)
HEAD = ChatHead(
    chat_id=CHAT,
    version=9,
    history_version=6,
    queue_version=4,
    retry_version=2,
    status="running",
    attempt=1,
    between_attempts=False,
    last_message_id=LAST,
    marks=(),
)


def state(head: ChatHead = HEAD, **chat: Any) -> ChatState:
    fields: dict[str, Any] = {
        "id": CHAT,
        "title": "",
        "summary": "",
        "status": head.status,
        "waiting": None,
        "archived": False,
        "model": None,
        "effort": None,
        "owner_id": OWNER,
        "parent_id": None,
        "parent_call_id": None,
        "root_id": CHAT,
        "run_id": None,
        "origin": PERSON,
        "workspace_id": None,
        "labels": (),
        "pinned": False,
        "version": head.version,
        "history_version": head.history_version,
        "queue_length": 0,
        "last_error": None,
        "retry": None,
        "action": None,
        "budget": None,
        "usage": Usage(),
        "created_at": NOW,
        "updated_at": NOW,
        **chat,
    }
    return ChatState(head, Chat(**fields), ())


def missed(n: int, replaces: Episode | None = None) -> Missed:
    return Missed(message(n, text(f"message {n}"), "assistant"), replaces)


def names(before: Position, page: MissedPage, now: ChatState | None = None) -> list[str]:
    return [event.name for event in tell(before, now or state(), page).events]


AT = Position(version=8, message_id=LAST, spans=8)
SHOWING = replace(AT, episode=EPISODE, n=3)


def test_nothing_missed_is_nothing_told() -> None:
    told = tell(AT, state(), NO_PAGE)
    assert told.events == ()
    assert told.rest == "nothing"
    assert told.after == Position(version=9, message_id=LAST, spans=9)


def test_a_preview_that_goes_on_is_left_alone() -> None:
    told = tell(SHOWING, state(), NO_PAGE)
    assert told.events == ()
    assert (told.after.episode, told.after.n) == (EPISODE, 3)


def test_the_message_of_a_preview_replaces_it() -> None:
    later = replace(HEAD, version=10, history_version=10, attempt=0)
    told = tell(SHOWING, state(later), replace(NO_PAGE, messages=(missed(1, EPISODE), missed(2))))
    assert [event.name for event in told.events] == ["message", "message"]
    assert (told.after.episode, told.after.n) == (None, 0)
    assert [event.position.n for event in told.events] == [0, 0]


def test_a_preview_that_came_to_nothing_is_withdrawn_first() -> None:
    later = replace(HEAD, version=10, history_version=10, attempt=0)
    other = Episode(history_version=6, attempt=2)
    page = replace(NO_PAGE, messages=(missed(1, other),))
    assert names(SHOWING, page, state(later)) == ["preview_reset", "message"]
    for ended in (
        replace(HEAD, attempt=2),
        replace(HEAD, between_attempts=True),
        replace(HEAD, status="error"),
        replace(HEAD, status="idle"),
    ):
        assert names(SHOWING, NO_PAGE, state(ended)) == ["preview_reset"]


def test_a_preview_of_which_nothing_was_shown_is_not_withdrawn() -> None:
    ended = state(replace(HEAD, status="error"))
    assert names(replace(SHOWING, n=0), NO_PAGE, ended) == []


def test_an_interrupt_does_not_withdraw_before_its_end() -> None:
    assert names(SHOWING, NO_PAGE, state(replace(HEAD, status="interrupting"))) == []


def test_removed_history_begins_anew_and_keeps_the_spans() -> None:
    told = tell(SHOWING, state(), replace(NO_PAGE, removed=True))
    assert [event.name for event in told.events] == ["history_reset"]
    assert told.after == Position(version=9, spans=8)
    assert told.rest == "messages"


def test_a_place_in_another_history_begins_anew_with_everything() -> None:
    for before, page in (
        (AT, replace(NO_PAGE, found=False)),
        (replace(AT, version=10), NO_PAGE),
        (replace(AT, spans=10), NO_PAGE),
    ):
        told = tell(before, state(), page)
        assert [event.name for event in told.events] == ["history_reset"]
        assert told.after == Position(version=9)
        assert told.rest == "messages"


def test_every_message_has_its_place() -> None:
    page = replace(NO_PAGE, messages=(missed(1), missed(2)), more=True)
    told = tell(START, state(), page)
    assert [event.position.message_id for event in told.events] == [numbered(0x501), numbered(0x502)]
    assert told.after == told.events[-1].position
    assert told.rest == "messages"


def test_spans_come_after_all_messages() -> None:
    turn = Turn(number=1, kind="message", started_at=NOW, revision=9)
    page = replace(NO_PAGE, messages=(missed(1),), spans=replace(NO_SPANS, turns=(turn,)))
    assert names(AT, page) == ["message", "span"]
    assert names(AT, replace(page, more=True)) == ["message"]
    assert tell(AT, state(), replace(page, spans=None)).rest == "spans"
    # One that was seen is not told again, when the place is within its version.
    seen = replace(AT, spans=9, span="0turn-1")
    assert names(seen, replace(page, messages=())) == []


def test_what_is_for_providers_alone_is_not_told() -> None:
    thought = message(1, (Reasoning(text="Hm.", provider_data={"signature": "secret"}),), "assistant")
    (event,) = tell(AT, state(), replace(NO_PAGE, messages=(Missed(thought, None),))).events
    assert isinstance(event.payload, MessageData)
    assert b"secret" not in msgspec.json.encode(event.payload)
    assert b"Hm." in msgspec.json.encode(event.payload)


# --- the state ---


def changed(before: ChatState | None, after: ChatState) -> list[str]:
    return [name for name, _ in state_events(before, after)]


def test_who_knows_nothing_is_told_everything() -> None:
    retry = Retry(kind="server", message="no", attempt=1, delay_ms=5, next_at=NOW)
    assert changed(None, state()) == ["chat", "status", "queue", "usage"]
    everything = state(last_error=FAILURE, retry=retry)
    assert changed(None, everything) == ["chat", "status", "queue", "retry", "failed", "usage"]


def test_who_knows_something_is_told_what_moved() -> None:
    retry = Retry(kind="server", message="no", attempt=1, delay_ms=5, next_at=NOW)
    assert changed(state(), state()) == []
    assert changed(state(), state(title="new")) == ["chat"]
    assert changed(state(), state(waiting="capacity")) == ["chat", "status"]
    assert changed(state(), state(replace(HEAD, queue_version=9))) == ["queue"]
    assert changed(state(), state(replace(HEAD, retry_version=9), retry=retry)) == ["chat", "retry"]
    assert changed(state(last_error=FAILURE), state()) == ["chat"]
    assert changed(state(), state(last_error=FAILURE)) == ["chat", "failed"]
    assert changed(state(), state(usage=Usage(total=5))) == ["chat", "usage"]
