"""The effect ledger: one fsynced line per execution of a test tool, in a file that the server never touches.
Beside the effects it notes which calls are recorded as finished, so that a later effect of one shows, and
when a worker registers: a second time in one process means that its lease was lost."""

import os
from pathlib import Path
from typing import Literal

import msgspec

from holdfast.core.ids import CallId, ChatId
from holdfast.core.shapes import Record, encode


class Line(Record, frozen=True, kw_only=True):
    event: Literal["effect", "finished", "registered"]
    pid: int
    tool: str = ""
    chat_id: ChatId = ChatId("")
    call_id: CallId = CallId("")
    run: int = 0
    # Of an effect: what the tool answers with, so that a result can be matched with its line.
    receipt: str = ""


class Ledger:
    def __init__(self, path: Path) -> None:
        self._path = path
        # A file whose being there lets waiting calls go on.
        self.gate = path.with_name("gate")

    def append(self, line: Line) -> None:
        """A line is there whole or not at all: one write of a few bytes at the end of a file."""
        fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, encode(line) + b"\n")
            os.fsync(fd)
        finally:
            os.close(fd)

    def lines(self) -> list[Line]:
        """All of them, in the order they happened."""
        if not self._path.exists():
            return []
        return [msgspec.json.decode(line, type=Line) for line in self._path.read_bytes().splitlines()]

    def leases_lost(self) -> int:
        workers = [line.pid for line in self.lines() if line.event == "registered"]
        return len(workers) - len(set(workers))

    def effects(self, tool: str | None = None) -> list[Line]:
        return [line for line in self.lines() if line.event == "effect" and tool in (None, line.tool)]
