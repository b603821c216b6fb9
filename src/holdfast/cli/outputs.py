"""Where the text of a turn goes: to a pipe as it is said, to a program as events."""

import sys
from typing import Protocol, TextIO

from holdfast.cli.entries import Entry, Prose, Withdrawn
from holdfast.cli.events import Received
from holdfast.cli.lines import JsonLines
from holdfast.cli.neutral import neutral
from holdfast.cli.transcript import Transcript


class Output(Protocol):
    @property
    def transcript(self) -> Transcript: ...
    def received(self, received: Received) -> None: ...
    def show(self, entries: list[Entry]) -> None: ...
    def end(self) -> None: ...


class TurnAsJson(JsonLines):
    def __init__(self) -> None:
        self.transcript = Transcript()


class PlainText:
    """What the model says and nothing else. Texts of one turn stand apart; the last one ends its line."""

    def __init__(self, out: TextIO) -> None:
        self.transcript = Transcript()
        self._out = out
        self._written = ""

    def received(self, received: Received) -> None:
        pass

    def show(self, entries: list[Entry]) -> None:
        for entry in entries:
            match entry:
                case Prose():
                    if not entry.goes_on:
                        self._stand_apart()
                    self._write(neutral(entry.text))
                case Withdrawn():
                    print("holdfast: The last text was not kept: its attempt broke off.", file=sys.stderr)
                case _:
                    pass
        self._out.flush()

    def end(self) -> None:
        if self._written and not self._written.endswith("\n"):
            self._write("\n")
        self._out.flush()

    def _stand_apart(self) -> None:
        if self._written:
            missing = 2 - (len(self._written) - len(self._written.rstrip("\n")))
            self._write("\n" * max(missing, 0))

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._written = (self._written + text)[-2:]
