"""Where a turn goes: its text to a pipe as it is said, its events to a program, or only what came of it."""

import sys
from datetime import UTC, datetime
from typing import Protocol, TextIO

from holdfast.cli.entries import Entry, TextEntry, Withdrawn
from holdfast.cli.events import Event, Received
from holdfast.cli.lines import JsonLines
from holdfast.cli.plain import plain
from holdfast.cli.safe_text import neutral, neutral_line
from holdfast.cli.transcript import Transcript
from holdfast.cli.turn_record import TurnRecord
from holdfast.cli.wording import retrying
from holdfast.core.failures import Retry


class TurnOutput(Protocol):
    @property
    def transcript(self) -> Transcript: ...
    @property
    def record(self) -> TurnRecord: ...
    @property
    def shows_problems(self) -> bool:
        """Whether a person has seen on the terminal what went wrong."""
        ...

    def received(self, received: Received) -> None: ...
    def show(self, entries: list[Entry]) -> None: ...
    def tell(self, event: Event, turn: int | None) -> None: ...
    def end(self) -> None: ...


class _Told:
    """Tells problems and waits on standard error."""

    shows_problems = False

    def __init__(self) -> None:
        self.transcript = Transcript()
        self.record = TurnRecord()

    def tell(self, event: Event, turn: int | None) -> None:
        for problem in self.record.apply(event, turn):
            print(f"holdfast: {neutral_line(problem, 500)}", file=sys.stderr)
        if isinstance(event, Retry):
            told = retrying(event, datetime.now(UTC))
            print(f"holdfast: {told[:1].upper()}{told[1:]}", file=sys.stderr)


class TurnAsJson(_Told, JsonLines):
    pass


class Quiet(_Told):
    """Nothing while it goes on."""

    def received(self, received: Received) -> None:
        pass

    def show(self, entries: list[Entry]) -> None:
        pass

    def end(self) -> None:
        pass


class PlainLog(_Told):
    """Everything that is shown for good, one entry below the other; what is being said, while it is said."""

    def __init__(self, out: TextIO) -> None:
        super().__init__()
        self._out = out
        self._is_open = False
        self._is_whole = False

    def received(self, received: Received) -> None:
        self._is_whole = received.name == "message"

    def show(self, entries: list[Entry]) -> None:
        for entry in entries:
            if isinstance(entry, TextEntry) and entry.goes_on and self._is_open:
                self._out.write(neutral(entry.text))
                continue
            self.end()
            if isinstance(entry, TextEntry):
                self._out.write(neutral(entry.text))
                self._is_open = True
            else:
                self._out.write(f"{plain(entry)}\n")
        if self._is_whole:
            self.end()
        self._out.flush()

    def end(self) -> None:
        if self._is_open:
            self._out.write("\n")
            self._out.flush()
        self._is_open = False


class PlainText(_Told):
    """What the model says and nothing else. Texts of one turn stand apart; the last one ends its line."""

    def __init__(self, out: TextIO) -> None:
        super().__init__()
        self._out = out
        self._written = ""

    def received(self, received: Received) -> None:
        pass

    def show(self, entries: list[Entry]) -> None:
        for entry in entries:
            match entry:
                case TextEntry():
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
