"""What a watcher is shown: everything once, in order, whatever streams, breaks off and begins again."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.cli.entries import (
    Begun,
    CallEntry,
    Entry,
    FailureEntry,
    Interrupted,
    Said,
    TextEntry,
    Thought,
    UserEntry,
    Withdrawn,
)
from holdfast.cli.events import Event, Lost, Reconnected
from holdfast.cli.terminal.markdown import finished
from holdfast.cli.transcript import Transcript
from holdfast.core.failures import Failure
from holdfast.core.feed_events import CaughtUp, HistoryReset, PreviewReset, StatusData
from holdfast.core.parts import Notice, Reasoning, ToolCallDelta
from holdfast.core.spans import Span
from tests.cli.making import (
    CHAT_ID,
    NOW,
    RETRY,
    Streaming,
    call,
    chat,
    message,
    result,
    said,
    thought,
)

RUNNING, IDLE, ERROR = StatusData(status="running"), StatusData(status="idle"), StatusData(status="error")
BLOCKS = st.sampled_from(
    ["# A", "one two", "- a\n- b", "```\nx\n\ny\n```", "> q", "| a |\n|---|\n| 1 |", "1. x"]
)


def shown(transcript: Transcript, *events: Event) -> list[Entry]:
    return [entry for event in events for entry in transcript.apply(event)]


def prose(entries: list[Entry]) -> str:
    return "".join(entry.text for entry in entries if isinstance(entry, TextEntry))


def test_text_streams_and_its_message_repeats_nothing() -> None:
    transcript, live = Transcript(), Streaming()
    entries = shown(
        transcript, RUNNING, live.text("Hel"), live.text("lo"), message("assistant", said("Hello")), IDLE
    )
    assert entries == [TextEntry("Hel", goes_on=False), TextEntry("lo", goes_on=True)]


def test_the_end_that_did_not_stream_comes_with_the_message() -> None:
    transcript, live = Transcript(), Streaming()
    entries = shown(transcript, live.text("Hel"), message("assistant", said("Hello")), IDLE)
    assert prose(entries) == "Hello"


@given(st.lists(BLOCKS, min_size=1, max_size=6), st.data())
def test_however_it_streams_it_is_shown_once(blocks: list[str], data: st.DataObject) -> None:
    """With markdown's blocks, at any cut, and with any part of it lost."""
    text = "\n\n".join(blocks)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    streamed = data.draw(st.integers(0, len(pieces)))
    transcript, live = Transcript(finished), Streaming()
    entries = shown(transcript, RUNNING, *(live.text(piece) for piece in pieces[:streamed] if piece))
    assert prose(entries) + transcript.tail == "".join(pieces[:streamed])
    entries += shown(transcript, message("assistant", said(text)), IDLE)
    assert prose(entries) == text
    assert transcript.tail == ""
    assert Withdrawn() not in entries


def test_an_attempt_that_says_the_same_again_goes_on_where_the_other_broke_off() -> None:
    transcript, first, second = Transcript(), Streaming(1), Streaming(2)
    entries = shown(transcript, RUNNING, first.text("One "), first.text("two"), PreviewReset())
    entries += shown(transcript, second.text("One"), second.text(" two th"), second.text("ree"))
    entries += shown(transcript, message("assistant", said("One two three")), IDLE)
    assert prose(entries) == "One two three"
    assert Withdrawn() not in entries


def test_an_attempt_that_says_something_else_is_announced() -> None:
    transcript, first, second = Transcript(), Streaming(1), Streaming(2)
    entries = shown(transcript, RUNNING, first.text("One two"), PreviewReset(), second.text("Another"))
    entries += shown(transcript, message("assistant", said("Another thing")), IDLE)
    assert entries == [
        TextEntry("One two", goes_on=False),
        Withdrawn(),
        TextEntry("Another", goes_on=False),
        TextEntry(" thing", goes_on=True),
    ]


def test_text_that_nothing_replaced_is_withdrawn_at_the_end() -> None:
    transcript, live = Transcript(), Streaming()
    failure = Failure(kind="auth", message="No key.")
    entries = shown(transcript, RUNNING, live.text("Half"), PreviewReset(), ERROR, failure, failure)
    assert entries == [TextEntry("Half", goes_on=False), Withdrawn(), FailureEntry(failure)]


def test_a_failure_is_told_once_and_again_when_it_happens_again() -> None:
    transcript = Transcript()
    failure = Failure(kind="auth", message="No key.")
    assert shown(transcript, ERROR, failure, chat("error"), failure) == [FailureEntry(failure)]
    assert shown(transcript, RUNNING, ERROR, failure) == [FailureEntry(failure)]


def test_parts_that_come_twice_count_once() -> None:
    transcript, live = Transcript(), Streaming()
    part = live.text("once")
    assert prose(shown(transcript, part, part)) == "once"


def test_thoughts_texts_and_calls_in_their_order() -> None:
    transcript, live = Transcript(), Streaming()
    entries = shown(
        transcript,
        RUNNING,
        live.part(Reasoning(text="hm")),
        live.part(Reasoning(text=" so")),
        live.text("Let me look."),
        live.part(ToolCallDelta(call_id=call().call_id, name="execute", text='{"comm')),
    )
    assert entries == [Thought("hm so", None), TextEntry("Let me look.", goes_on=False)]
    assert [one.name for one in transcript.calls] == ["execute"]
    entries = shown(
        transcript, message("assistant", thought("hm so"), said("Let me look."), call(command="ls"))
    )
    assert entries == []
    assert [one.input for one in transcript.calls] == [{"command": "ls"}]
    entries = shown(transcript, message("tool", result()))
    assert entries == [CallEntry(result(), {"command": "ls"})]
    assert transcript.calls == ()


def test_a_call_under_way_is_known_by_its_span() -> None:
    transcript = Transcript()
    shown(transcript, RUNNING, message("assistant", call()))
    span = Span(
        id="call-c1",
        parent_id=None,
        chat_id=CHAT_ID,
        turn=1,
        kind="tool_call",
        name="execute",
        started_at=NOW,
    )
    shown(transcript, span)
    (open_call,) = transcript.calls
    assert open_call.started_at == NOW


def test_texts_that_follow_each_other_are_one() -> None:
    transcript, live = Transcript(), Streaming()
    entries = shown(transcript, live.text("One. "), live.text("Two."))
    entries += shown(transcript, message("assistant", said("One. "), said("Two.")), IDLE)
    assert prose(entries) == "One. Two."


def test_an_interrupted_message_says_so() -> None:
    transcript, live = Transcript(), Streaming()
    entries = shown(transcript, live.text("Half a"), message("assistant", said("Half"), interrupted=True))
    assert entries == [TextEntry("Half a", goes_on=False), Interrupted()]


def test_what_people_and_the_server_say() -> None:
    entries = shown(
        Transcript(),
        message("user", said("hello")),
        message("system", Notice(code="budget", text="The budget is spent.")),
    )
    assert entries == [UserEntry("hello", NOW), Said("The budget is spent.")]


def test_a_message_that_comes_again_is_not_shown_again_unless_history_begins_anew() -> None:
    transcript = Transcript()
    event = message("user", said("hello"))
    assert len(shown(transcript, event, event)) == 1
    assert shown(transcript, HistoryReset(), event) == [Begun(), UserEntry("hello", NOW)]


def test_state_is_kept_as_it_is_now() -> None:
    transcript = Transcript()
    shown(transcript, chat("running"), RETRY, CaughtUp(), Lost("gone"))
    assert (transcript.status, transcript.retry, transcript.caught_up) == ("running", RETRY, True)
    assert transcript.lost == "gone"
    shown(transcript, Reconnected(), Streaming().text("again"))
    assert (transcript.lost, transcript.retry) == (None, None)
    shown(transcript, chat("idle"))
    assert not transcript.busy
