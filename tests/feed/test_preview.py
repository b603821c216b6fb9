"""Live parts as a process knows them: without a gap, each once, and no more kept than allowed."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.events import Episode, LiveParts, Skipped
from holdfast.core.parts import LivePart, Text
from holdfast.feed.preview import Preview
from tests.bus.events import CHAT, EPISODE, parts

LATER = Episode(history_version=3, attempt=2)


def begun(kept_bytes: int = 10_000) -> Preview:
    preview = Preview(kept_bytes)
    assert preview.turn_to(EPISODE)
    return preview


def texts(found: list[LivePart] | None) -> list[str] | None:
    return None if found is None else [part.text for part in found if isinstance(part, Text)]


def test_parts_go_on_where_the_last_ended() -> None:
    preview = begun()
    assert len(preview.take(parts(1, "a", "b"))) == 2
    assert len(preview.take(parts(3, "c"))) == 1
    assert preview.n == 3
    assert texts(preview.after(0)) == ["a", "b", "c"]
    assert texts(preview.after(2)) == ["c"]
    assert preview.after(3) == []


def test_what_is_known_is_not_taken_again() -> None:
    preview = begun()
    preview.take(parts(1, "a", "b"))
    assert preview.take(parts(1, "a", "b")) == ()
    assert texts(list(preview.take(parts(2, "b", "c")))) == ["c"]


def test_a_gap_is_seen_and_closed() -> None:
    preview = begun()
    preview.take(parts(1, "a"))
    assert preview.take(parts(3, "c")) == ()
    assert preview.standing == "gap"
    assert len(preview.take(parts(2, "b", "c"))) == 2
    assert preview.standing == "whole"


def test_another_episode_is_not_taken() -> None:
    preview = begun()
    assert preview.take(parts(1, "a", episode=LATER)) == ()
    assert preview.turn_to(LATER)
    assert preview.take(parts(1, "a")) == ()
    assert not preview.turn_to(LATER)
    assert len(preview.take(parts(1, "a", episode=LATER))) == 1


def test_nothing_is_taken_when_nothing_streams() -> None:
    preview = begun()
    preview.take(parts(1, "a"))
    preview.turn_to(None)
    assert preview.take(parts(2, "b")) == ()
    assert preview.n == 0


def test_the_oldest_parts_are_let_go() -> None:
    preview = begun(kept_bytes=300)
    for n in range(1, 11):
        preview.take(parts(n, "x" * 36))
    assert preview.after(0) is None
    assert preview.after(7) is not None
    assert preview.after(11) is None


def test_parts_too_large_for_the_bus_end_the_preview_until_the_commit() -> None:
    preview = begun()
    preview.take(parts(1, "a"))
    preview.skip(Skipped(chat_id=CHAT, episode=EPISODE, first=5, count=1))
    assert preview.standing == "whole"
    preview.skip(Skipped(chat_id=CHAT, episode=EPISODE, first=2, count=3))
    assert preview.standing == "stopped"
    assert preview.take(parts(2, "b")) == ()
    assert texts(preview.after(0)) == ["a"]


def test_a_lost_preview_takes_nothing_more() -> None:
    preview = begun()
    preview.take(parts(1, "a"))
    preview.lose()
    assert preview.take(parts(1, "a")) == ()
    assert preview.after(0) == []
    assert preview.turn_to(LATER)
    assert preview.standing == "whole"


@given(pieces=st.lists(st.tuples(st.integers(1, 30), st.integers(1, 10)), max_size=40))
def test_whatever_comes_it_is_a_beginning_of_what_was_said(pieces: list[tuple[int, int]]) -> None:
    said = [str(n) for n in range(1, 51)]
    preview = begun()
    taken: list[LivePart] = []
    for first, count in pieces:
        piece = said[first - 1 : first - 1 + count]
        taken += preview.take(parts(first, *piece))
    assert texts(taken) == said[: preview.n]
    assert texts(preview.after(0)) == said[: preview.n]


def test_roles_come_with_the_parts() -> None:
    preview = begun()
    preview.take(LiveParts(chat_id=CHAT, episode=EPISODE, first=1, role="tool", parts=(Text(text="a"),)))
    assert preview.role == "tool"
