"""Frames for all watchers of one thing, stored once: each watcher only knows how far it has read. A watcher
that is too far behind is cut; a slow one gets live parts joined; one that does not read costs nothing."""

from collections.abc import Iterable
from typing import Protocol

from holdfast.feed.frames import Batch, Frame, join_frames
from holdfast.feed.limits import LIMITS, FeedLimits


class LogReader(Protocol):
    # The number of the next frame to read.
    at: int
    spans: bool

    def wake(self) -> None: ...

    def fall_behind(self) -> None:
        """It did not read and was removed; its client may reconnect."""
        ...


class FrameLog:
    def __init__(self, limits: FeedLimits = LIMITS) -> None:
        self._limits = limits
        self._frames: list[Frame] = []
        # Total bytes of all frames ever written, up to each kept frame, and before the first of them.
        self._ends: list[int] = []
        self._before = 0
        # The number of the first kept frame.
        self._base = 0
        self._readers: set[LogReader] = set()
        self._idle: set[LogReader] = set()
        # The readers are checked again after this many bytes.
        self._look_at = limits.batch_bytes
        self._newest: tuple[int, bool, Batch] | None = None

    @property
    def end(self) -> int:
        return self._base + len(self._frames)

    @property
    def readers(self) -> set[LogReader]:
        return self._readers

    @property
    def bytes(self) -> int:
        """The bytes kept."""
        return self._written - self._before

    @property
    def _written(self) -> int:
        return self._ends[-1] if self._ends else self._before

    def enter(self, reader: LogReader) -> None:
        """From the next frame on."""
        reader.at = self.end
        self._readers.add(reader)

    def leave(self, reader: LogReader) -> None:
        self._readers.discard(reader)
        self._idle.discard(reader)
        self._forget_read()

    def append(self, frames: Iterable[Frame]) -> None:
        if not self._readers:
            return
        written = self._written
        for frame in frames:
            written += frame.size
            self._frames.append(frame)
            self._ends.append(written)
        self._newest = None
        # The readers no longer all have everything, so frames must be kept.
        idle, self._idle = self._idle, set()
        if written > self._look_at:
            self._look(written)
        for reader in idle:
            reader.wake()

    def take(self, reader: LogReader) -> Batch | None:
        """What the reader reads next; None: nothing yet, it will be woken."""
        start = reader.at - self._base
        if start >= len(self._frames):
            self._idle.add(reader)
            self._forget_read()
            return None
        newest = self._newest
        if newest is not None and newest[0] == reader.at and newest[1] == reader.spans:
            batch = newest[2]
            reader.at = self.end
            return batch
        before = self._ends[start - 1] if start else self._before
        if self._written - before > self._limits.slow_bytes:
            return self._take_joined(reader, start)
        return self._take_some(reader, start, before)

    def _take_some(self, reader: LogReader, start: int, before: int) -> Batch:
        stop = start + 1
        ends = self._ends
        while (
            stop < len(ends)
            and ends[stop] - before <= self._limits.batch_bytes
            and not self._frames[stop - 1].leave
        ):
            stop += 1
        batch = _batch(self._frames[start:stop], reader)
        if stop == len(ends):
            self._newest = (reader.at, reader.spans, batch)
        reader.at = self._base + stop
        return batch

    def _take_joined(self, reader: LogReader, start: int) -> Batch:
        """As much of the waiting frames as makes one batch when joined."""
        stop = start
        size = 0
        for frame in self._frames[start:]:
            follows = stop > start and frame.live is not None and self._frames[stop - 1].live is not None
            # The size of joined parts is about that of their text.
            size += _text_size(frame) if follows else frame.size
            if stop > start and size > self._limits.batch_bytes:
                break
            stop += 1
            if frame.leave:
                break
        reader.at = self._base + stop
        return _batch(self._frames[start:stop], reader, join=True)

    def _forget_read(self) -> None:
        """When everybody has read everything, nothing is kept."""
        if len(self._idle) == len(self._readers) and self._frames:
            self._base, self._before = self.end, self._written
            self._frames, self._ends, self._newest = [], [], None
            self._look_at = self._before + self._limits.batch_bytes

    def _look(self, written: int) -> None:
        """Cuts watchers that are too far behind, and forgets what all others have read."""
        self._look_at = written + self._limits.batch_bytes
        late = [
            reader for reader in self._readers if written - self._read_by(reader) > self._limits.backlog_bytes
        ]
        for reader in late:
            self._readers.discard(reader)
            self._idle.discard(reader)
            reader.fall_behind()
        read = min((reader.at for reader in self._readers), default=self.end) - self._base
        if read > 0:
            self._before = self._ends[read - 1]
            del self._frames[:read], self._ends[:read]
            self._base += read

    def _read_by(self, reader: LogReader) -> int:
        at = reader.at - self._base
        return self._ends[at - 1] if at else self._before


def _batch(frames: list[Frame], reader: LogReader, *, join: bool = False) -> Batch:
    leave = frames[-1].leave
    if not reader.spans:
        frames = [frame for frame in frames if frame.event != "span"]
    return Batch(join_frames(frames) if join else frames, leave)


def _text_size(frame: Frame) -> int:
    return max(frame.size - 150, 16)
