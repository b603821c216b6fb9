"""How events are packed for sending between processes."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from holdfast.bus.interface import Counters
from holdfast.bus.outbox import PAYLOAD_BYTES, Outbox, unpack
from holdfast.core.events import BusEvent, Hint, LiveParts, LiveStep, Repeat, Reread, Skipped
from holdfast.core.failures import Failure
from holdfast.core.parts import Text, ToolResult
from holdfast.core.usage import Usage
from tests.bus.events import CHAT, EPISODE, OTHER, chat, hint, parts


def sent_by(outbox: Outbox) -> list[BusEvent]:
    events: list[BusEvent] = []
    while (payload := outbox.pack()) is not None:
        assert len(payload.encode()) <= PAYLOAD_BYTES
        assert payload.startswith("me:")
        events.extend(unpack(payload, Counters()))
    return events


def test_parts_that_follow_each_other_travel_as_one_event() -> None:
    outbox = Outbox("me", Counters())
    for number in range(1, 11):
        outbox.put(parts(number, f"word{number} "))
    outbox.put(parts(1, "elsewhere", chat_id=OTHER))
    assert sent_by(outbox) == [
        parts(1, *(f"word{number} " for number in range(1, 11))),
        parts(1, "elsewhere", chat_id=OTHER),
    ]


def test_a_part_too_large_to_travel_is_named_and_its_neighbours_travel() -> None:
    counters = Counters()
    outbox = Outbox("me", counters)
    result = ToolResult(call_id="c", name="t", output="y" * 10_000, outcome="succeeded")  # pyright: ignore[reportArgumentType]
    small = Text(text="a")
    outbox.put(LiveParts(chat_id=CHAT, episode=EPISODE, first=4, role="tool", parts=(small, result, small)))
    assert sent_by(outbox) == [
        LiveParts(chat_id=CHAT, episode=EPISODE, first=4, role="tool", parts=(small,)),
        Skipped(chat_id=CHAT, episode=EPISODE, first=5, count=1),
        LiveParts(chat_id=CHAT, episode=EPISODE, first=6, role="tool", parts=(small,)),
    ]
    assert counters.too_large == 1


def test_parts_far_too_large_and_parts_no_payload_can_carry_are_named_too() -> None:
    outbox = Outbox("me", Counters())
    outbox.put(parts(1, "z" * 5_000_000))
    outbox.put(parts(2, "lone \ud800"))
    outbox.put(parts(3, "after"))
    assert sent_by(outbox) == [
        Skipped(chat_id=CHAT, episode=EPISODE, first=1, count=1),
        Skipped(chat_id=CHAT, episode=EPISODE, first=2, count=1),
        parts(3, "after"),
    ]


def test_hints_overtake_parts_and_are_joined() -> None:
    outbox = Outbox("me", Counters())
    outbox.put(parts(1, "text"))
    outbox.put(hint(1))
    outbox.put(hint(2))
    outbox.put(Repeat(chat_id=CHAT, episode=EPISODE, first=1))
    assert sent_by(outbox) == [hint(2), Repeat(chat_id=CHAT, episode=EPISODE, first=1), parts(1, "text")]


def test_too_much_to_send_drops_parts_first_and_keeps_hints() -> None:
    counters = Counters()
    outbox = Outbox("me", counters)
    for number in range(1, 3000):
        outbox.put(parts(number, "x" * 1000))
        outbox.put(hint(number))
    events = sent_by(outbox)
    assert events[0] == hint(2999)
    assert 0 < sum(isinstance(event, LiveParts) for event in events) < 1500
    assert counters.live_dropped > 1000
    assert counters.rereads_sent == 0


def test_hints_of_too_many_chats_become_one_word_to_read_again() -> None:
    counters = Counters()
    outbox = Outbox("me", counters)
    for number in range(20_000):
        outbox.put(hint(1, chat(number)))
    events = sent_by(outbox)
    assert events[0] == Reread(reason="overflow")
    assert all(isinstance(event, Hint) for event in events[1:])
    assert len(events) < 10_000
    assert counters.rereads_sent > 0


def test_what_cannot_be_understood_is_counted_and_the_rest_is_taken() -> None:
    counters = Counters()
    assert unpack("them:not json", counters) == ()
    assert unpack("nothing at all", counters) == ()
    assert unpack('them:{"t":"h"}', counters) == ()
    assert counters.garbled == 3
    outbox = Outbox("them", Counters())
    outbox.put(hint(3))
    payload = outbox.pack()
    assert payload is not None
    newer = payload.replace("[", '[{"t":"zz","chat_id":"x"},{"t":"h","chat_id":5},', 1)
    assert unpack(newer, counters) == (hint(3),)
    assert counters.garbled == 5


@given(st.lists(st.lists(st.text(max_size=4000) | st.text(max_size=5), max_size=8), max_size=12))
def test_every_part_arrives_in_order_or_is_named(batches: list[list[str]]) -> None:
    outbox = Outbox("me", Counters())
    number = 1
    for texts in batches:
        outbox.put(parts(number, *texts))
        number += len(texts)
    expected = dict(enumerate((text for texts in batches for text in texts), 1))
    seen = 1
    for event in sent_by(outbox):
        assert isinstance(event, LiveParts | Skipped)
        assert event.first == seen
        if isinstance(event, Skipped):
            seen += event.count
            continue
        for part in event.parts:
            assert isinstance(part, Text)
            assert part.text == expected[seen]
            seen += 1
    assert seen == number


def test_a_step_under_way_travels_with_the_parts() -> None:
    """It may be dropped like them: the next one says more."""
    step = LiveStep(
        chat_id=CHAT,
        episode=EPISODE,
        turn=3,
        number=2,
        kind="model",
        model="default",
        failures=(Failure(kind="overloaded", message="Too much to do.", retryable=True),),
        usage=Usage(output=12, tokens_per_second=33.5),
        started_at=datetime(2026, 1, 2, 3, 4, 5, 678901, UTC),
    )
    outbox = Outbox("me", Counters())
    outbox.put(parts(1, "a"))
    outbox.put(step)
    outbox.put(hint(7))
    assert sent_by(outbox) == [hint(7), parts(1, "a"), step]
