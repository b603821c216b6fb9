"""A command's output, kept in files: all of it while it fits, then its beginning and its end. The kernel
moves the bytes from the pipe to the file: a gigabyte costs no memory and hardly any of our time."""

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import Literal

from holdfast.core.shapes import Record

SEGMENT = 16 * 1024 * 1024
# Whole segments that stay: the first and the last ones.
FIRST = 2
LAST = 2
CHUNK = 256 * 1024

Taken = Literal["some", "nothing", "end"]


class Piece(Record, frozen=True, kw_only=True):
    """Bytes as they were printed, and the offset of the first of them."""

    start: int
    data: bytes


class Recorder:
    """Writes one command's output. A file is named by the offset at which it starts."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(mode=0o700)
        self._directory = directory
        self._starts: list[int] = []
        self._file = -1
        # Once the disk is full, the rest is counted and dropped.
        self.lost_from: int | None = None
        self.total = 0
        self._splices = hasattr(os, "splice")
        self._begin()

    def take(self, pipe: int) -> Taken:
        """Moves what waits in the pipe, at most a chunk."""
        room = min(CHUNK, SEGMENT - self.total % SEGMENT)
        try:
            count = self._move(pipe, room)
        except BlockingIOError:
            return "nothing"
        if count == 0:
            return "end"
        self.total += count
        if self.total % SEGMENT == 0:
            self._begin()
        return "some"

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _move(self, pipe: int, room: int) -> int:
        if self._splices and self.lost_from is None:
            try:
                return os.splice(pipe, self._file, room, flags=os.SPLICE_F_NONBLOCK)
            except BlockingIOError:
                raise
            except OSError as error:
                if error.errno == errno.EINVAL:  # not every file system can
                    self._splices = False
                else:
                    self.lost_from = self.total
        data = os.read(pipe, room)
        if self.lost_from is None:
            try:
                _write_all(self._file, data)
            except OSError:
                self.lost_from = self.total
        return len(data)

    def _begin(self) -> None:
        """The next file, and the end of the oldest one between the first and the last."""
        self.close()
        kept = self._starts[FIRST:]
        for start in kept[: len(kept) - LAST + 1]:
            self._starts.remove(start)
            with suppress(OSError):
                (self._directory / str(start)).unlink()
        self._starts.append(self.total)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            self._file = os.open(self._directory / str(self.total), flags, 0o600)
        except OSError:
            self.lost_from = self.total


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def append(directory: Path, text: str) -> None:
    """A note of ours after the output of a command that has ended."""
    if segments := _segments(directory):
        with (directory / str(segments[-1][0])).open("ab") as file:
            file.write(text.encode())


def printed(directory: Path) -> int:
    """How many bytes there have been in total, also while more arrive."""
    return max((start + size for start, size in _segments(directory)), default=0)


def stored(directory: Path) -> int:
    return sum(size for _, size in _segments(directory))


def read(directory: Path, start: int, count: int) -> Piece:
    """At most `count` bytes from `start` on, or from the next byte that was kept."""
    data = bytearray()
    first = start
    for begin, size in _segments(directory):
        if begin + size <= first + len(data) or len(data) == count:
            continue
        if begin > first + len(data):
            if data:
                break
            first = begin
        with suppress(FileNotFoundError), (directory / str(begin)).open("rb") as file:
            file.seek(first + len(data) - begin)
            data += file.read(count - len(data))
    return Piece(start=first, data=bytes(data))


def _segments(directory: Path) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    with suppress(FileNotFoundError):
        for entry in os.scandir(directory):
            with suppress(FileNotFoundError):
                found.append((int(entry.name), entry.stat().st_size))
    return sorted(found)
