"""Live parts: their numbers, what is repeated, and how much is kept for that."""

import pytest

from holdfast.core.events import BusEvent, Episode, LiveParts, Repeat
from holdfast.core.parts import Text
from holdfast.worker.live import KEPT_BYTES, LiveText
from tests.chats.making import CHAT, tool_call

FIRST, SECOND = Episode(history_version=5, attempt=1), Episode(history_version=5, attempt=2)


class Sent:
    def __init__(self) -> None:
        self.events: list[LiveParts] = []
        self.live = LiveText(CHAT, self._take)

    def _take(self, event: BusEvent) -> None:
        assert isinstance(event, LiveParts)
        self.events.append(event)

    def numbered(self) -> list[tuple[int, str]]:
        """Every part with its number, as it was sent."""
        return [
            (event.first + n, part.text if isinstance(part, Text) else "")
            for event in self.events
            for n, part in enumerate(event.parts)
        ]

    def repeated(self, episode: Episode, first: int) -> list[tuple[int, str]]:
        self.events.clear()
        self.live.repeat(Repeat(chat_id=CHAT, episode=episode, first=first))
        return self.numbered()


@pytest.fixture
def sent() -> Sent:
    return Sent()


def test_parts_are_numbered_from_one_in_each_episode(sent: Sent) -> None:
    sent.live.begin(FIRST)
    sent.live.send(Text(text="a"))
    sent.live.send(Text(text="b"))
    sent.live.begin(SECOND)
    sent.live.send(Text(text="c"))
    assert [(event.episode, event.first, event.role) for event in sent.events] == [
        (FIRST, 1, "assistant"),
        (FIRST, 2, "assistant"),
        (SECOND, 1, "assistant"),
    ]


def test_what_a_watcher_misses_is_repeated(sent: Sent) -> None:
    sent.live.begin(FIRST)
    for letter in "abcd":
        sent.live.send(Text(text=letter))
    assert sent.repeated(FIRST, 3) == [(3, "c"), (4, "d")]
    assert sent.repeated(FIRST, 1) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    assert sent.repeated(FIRST, -5) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    assert sent.repeated(FIRST, 5) == []
    assert sent.repeated(FIRST, 99) == []


def test_many_parts_are_repeated_in_pieces(sent: Sent) -> None:
    sent.live.begin(FIRST)
    for n in range(1000):
        sent.live.send(Text(text=str(n)))
    assert sent.repeated(FIRST, 1) == [(n + 1, str(n)) for n in range(1000)]
    assert len(sent.events) > 1


def test_another_episode_is_not_repeated(sent: Sent) -> None:
    sent.live.begin(FIRST)
    sent.live.send(Text(text="a"))
    sent.live.begin(SECOND)
    assert sent.repeated(FIRST, 1) == []
    assert sent.repeated(SECOND, 1) == []


def test_what_is_committed_or_given_up_is_not_repeated(sent: Sent) -> None:
    sent.live.begin(FIRST)
    sent.live.send(Text(text="a"))
    sent.live.end()
    assert sent.repeated(FIRST, 1) == []
    sent.live.send(Text(text="too late"))
    assert sent.events == []


@pytest.mark.parametrize("text", ["x" * 10_000, "ä" * 5_000])
def test_no_more_than_a_mebibyte_is_kept(sent: Sent, text: str) -> None:
    sent.live.begin(FIRST)
    for _ in range(300):
        sent.live.send(Text(text=text))
    again = sent.repeated(FIRST, 1)
    assert sum(len(text.encode()) for _, text in again) <= KEPT_BYTES
    assert again[-1][0] == 300
    assert [number for number, _ in again] == list(range(again[0][0], 301))


def test_large_calls_weigh_what_they_are(sent: Sent) -> None:
    sent.live.begin(FIRST)
    for _ in range(5):
        call = tool_call("c1")
        sent.live.send(type(call)(call_id=call.call_id, name="write", input={"content": "x" * 300_000}))
    assert len(sent.repeated(FIRST, 1)) == 3
