"""The frames all watchers share: stored once, read by each at its own pace, and never kept for one that does
not read."""

from holdfast.core.feed_events import PartData
from holdfast.core.parts import Text
from holdfast.feed.cursor import START
from holdfast.feed.frames import Batch, Frame, part_frame
from holdfast.feed.limits import FeedLimits
from holdfast.feed.log import FrameLog

LIMITS = FeedLimits(backlog_bytes=10_000, slow_bytes=3_000, batch_bytes=1_000)


class Reading:
    """A reader that remembers what it got."""

    def __init__(self, log: FrameLog, *, spans: bool = True) -> None:
        self.at = 0
        self.spans = spans
        self.woken = 0
        self.is_out = False
        self.batches: list[Batch] = []
        self._log = log
        log.enter(self)

    def wake(self) -> None:
        self.woken += 1

    def fall_behind(self) -> None:
        self.is_out = True

    def read(self) -> list[str]:
        got: list[str] = []
        while (batch := self._log.take(self)) is not None:
            self.batches.append(batch)
            got += [frame.id for frame in batch.frames]
        return got

    @property
    def text(self) -> str:
        frames = [frame for batch in self.batches for frame in batch.frames]
        return "".join(f.live.part.text for f in frames if f.live and isinstance(f.live.part, Text))


def frame(name: str, size: int = 10) -> Frame:
    return Frame("span" if name.startswith("s") else "chat", name, b"x" * size)


def part(n: int, text: str = "word ") -> Frame:
    data = PartData(history_version=1, attempt=1, n=n, role="assistant", part=Text(text=text))
    return part_frame(data, str(n))


def test_readers_get_what_comes_after_they_entered() -> None:
    log = FrameLog(LIMITS)
    log.append([frame("nobody is there")])
    one = Reading(log)
    log.append([frame("a"), frame("b")])
    other = Reading(log)
    log.append([frame("c")])
    assert one.read() == ["a", "b", "c"]
    assert other.read() == ["c"]


def test_a_reader_is_woken_once_for_all_that_came() -> None:
    log = FrameLog(LIMITS)
    one = Reading(log)
    log.append([frame("a")])
    assert one.woken == 0  # it has not asked yet
    assert one.read() == ["a"]
    log.append([frame("b"), frame("c")])
    log.append([frame("d")])
    assert one.woken == 1
    assert one.read() == ["b", "c", "d"]


def test_readers_at_the_same_place_share_the_batch() -> None:
    log = FrameLog(LIMITS)
    readers = [Reading(log) for _ in range(3)]
    log.append([frame("a"), frame("b")])
    for reader in readers:
        reader.read()
    assert len({id(reader.batches[0]) for reader in readers}) == 1


def test_what_everybody_has_read_is_let_go() -> None:
    log = FrameLog(LIMITS)
    one, other = Reading(log), Reading(log)
    log.append([frame("a", 500)])
    one.read()
    assert log.bytes > 500
    other.read()
    assert log.bytes == 0
    log.append([frame("b", 500)])
    one.read()
    log.leave(other)
    assert log.bytes == 0
    log.append([frame("c")])
    assert one.read() == ["c"]


def test_batches_are_small_unless_one_frame_is_large() -> None:
    log = FrameLog(LIMITS)
    one = Reading(log)
    log.append([frame(name, 400) for name in "abcde"])
    log.append([frame("large", 2_500)])
    assert one.read() == [*"abcde", "large"]
    assert [len(batch.frames) for batch in one.batches] == [2, 2, 1, 1]


def test_who_does_not_read_is_cut_and_harms_nobody() -> None:
    log = FrameLog(LIMITS)
    deaf, reading = Reading(log), Reading(log)
    got: list[str] = []
    for n in range(100):
        log.append([frame(str(n), 500)])
        got += reading.read()
        assert log.bytes <= LIMITS.backlog_bytes + 2 * LIMITS.batch_bytes
    assert deaf.is_out
    assert not reading.is_out
    assert got == [str(n) for n in range(100)]
    assert log.bytes == 0


def test_who_waits_is_told_even_when_another_is_cut_at_that_moment() -> None:
    log = FrameLog(LIMITS)
    deaf, waiting = Reading(log), Reading(log)
    log.append([frame("a", 9_000)])
    assert waiting.read() == ["a"]
    log.append([frame("b", 3_000)])
    assert deaf.is_out
    assert waiting.woken == 1
    assert waiting.read() == ["b"]


def test_a_slow_reader_gets_parts_joined() -> None:
    log = FrameLog(LIMITS)
    slow, quick = Reading(log), Reading(log)
    for n in range(1, 31):
        log.append([part(n)])
        quick.read()
    log.append([frame("end")])
    slow.read()
    quick.read()
    assert slow.text == quick.text == "word " * 30
    assert sum(len(batch.frames) for batch in slow.batches) < 10
    assert sum(len(batch.frames) for batch in quick.batches) == 31


def test_who_may_not_see_spans_does_not() -> None:
    log = FrameLog(LIMITS)
    one, other = Reading(log), Reading(log, spans=False)
    log.append([frame("a"), frame("s1"), frame("b")])
    assert other.read() == ["a", "b"]
    assert one.read() == ["a", "s1", "b"]


def test_a_frame_to_leave_at_ends_its_batch() -> None:
    log = FrameLog(LIMITS)
    one, other = Reading(log), Reading(log, spans=False)
    leaving = frame("s1")
    leaving.leave = START
    log.append([frame("a"), leaving])
    log.append([frame("b")])
    first = log.take(one)
    assert first is not None
    assert [f.id for f in first.frames] == ["a", "s1"]
    assert first.leave == START
    unseen = log.take(other)
    assert unseen is not None
    assert [f.id for f in unseen.frames] == ["a"]
    assert unseen.leave == START
