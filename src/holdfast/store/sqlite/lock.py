"""One server process per file. The lock is the operating system's (flock), so a dead owner holds nothing; the
content of the lock file only says who the owner is."""

import fcntl
import os
import socket
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from holdfast.core.errors import DatabaseInUse
from holdfast.core.shapes import Record, encode


class Owner(Record, frozen=True, kw_only=True):
    pid: int
    host: str
    started_at: datetime


class FileLock:
    def __init__(self, file: Path) -> None:
        """Takes the lock of a database file, or raises DatabaseInUse with the name of the holder."""
        path = file.with_name(file.name + ".lock")
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._say_who()
        except BlockingIOError:
            owner = _described(os.pread(self._fd, 4096, 0))
            os.close(self._fd)
            raise DatabaseInUse(
                f"{file} is in use by another Holdfast server ({owner}). Stop that one first, "
                "or start this one with another data directory."
            ) from None
        except BaseException:
            os.close(self._fd)
            raise

    def _say_who(self) -> None:
        owner = Owner(pid=os.getpid(), host=socket.gethostname(), started_at=datetime.now(UTC))
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, encode(owner), 0)

    def release(self) -> None:
        """The file stays: removing it would let two processes lock two files of the same name."""
        if self._fd >= 0:
            os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = -1


def _described(content: bytes) -> str:
    try:
        owner = msgspec.json.decode(content, type=Owner)
    except msgspec.DecodeError:
        return "which has not said who it is"
    started = owner.started_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return f"process {owner.pid} on {owner.host}, started {started}"
