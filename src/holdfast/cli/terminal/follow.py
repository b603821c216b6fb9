"""A turn on a terminal, watched without typing."""

import asyncio
from datetime import UTC, datetime
from typing import TextIO

from holdfast.cli.entries import Entry, UserEntry
from holdfast.cli.events import Event, Received
from holdfast.cli.terminal.live import live_lines
from holdfast.cli.terminal.markdown import finished
from holdfast.cli.terminal.pretty import Pretty
from holdfast.cli.terminal.screen import Region, Screen
from holdfast.cli.transcript import Transcript
from holdfast.cli.turn_record import TurnRecord

_FRAME_SECONDS = 0.1


class Followed:
    shows_problems = True

    def __init__(self, out: TextIO, *, with_questions: bool = False) -> None:
        """`with_questions`: what people say is shown too."""
        self._left_out = () if with_questions else (UserEntry,)
        self.transcript = Transcript(finished)
        self.record = TurnRecord()
        self._screen = Screen(out)
        self._pretty = Pretty()
        self._timer: asyncio.TimerHandle | None = None

    def received(self, received: Received) -> None:
        """Whatever it was: the picture changes soon, and goes on changing while there is work."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_FRAME_SECONDS, self._frame)

    def show(self, entries: list[Entry]) -> None:
        shown = [entry for entry in entries if not isinstance(entry, self._left_out)]
        if shown:
            self._draw(self._pretty.show(shown, self._screen.columns))

    def tell(self, event: Event, turn: int | None) -> None:
        """Notices and waits are in the picture already."""
        self.record.apply(event, turn)

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._screen.clear()

    def _frame(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_FRAME_SECONDS, self._frame)
        self._draw("")

    def _draw(self, above: str) -> None:
        lines = live_lines(self.transcript, datetime.now(UTC), self._screen.columns)
        self._screen.draw(above, Region(tuple(lines)))
