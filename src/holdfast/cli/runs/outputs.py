"""Where the progress of a run goes: live on a terminal, plain lines beside a pipe, events to a program."""

import asyncio
import sys
from datetime import UTC, datetime
from typing import Protocol, TextIO

from rich.console import Group
from rich.text import Text

from holdfast.cli.events import Received
from holdfast.cli.lines import JsonLines
from holdfast.cli.runs.progress import (
    CallEnded,
    Entry,
    NeedsYou,
    Noted,
    PhaseBegan,
    RunOver,
    RunProgress,
    label_of,
)
from holdfast.cli.runs.telling import LABEL, asked, outcome, plain, spent, state, summary, took
from holdfast.cli.safe_text import neutral, neutral_line
from holdfast.cli.terminal.markdown import rendered
from holdfast.cli.terminal.screen import Region, Screen
from holdfast.cli.wording import duration
from holdfast.core.run_shapes import CallShown, LineShown

_FRAME_SECONDS = 0.125
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TURNS_PER_SECOND = 8
# Calls that are at work and shown at once.
_OPEN_LINES = 12


class RunOutput(Protocol):
    @property
    def progress(self) -> RunProgress: ...
    def received(self, received: Received) -> None: ...
    def show(self, entries: list[Entry]) -> None: ...
    def end(self) -> None: ...


class RunAsJson(JsonLines):
    def __init__(self) -> None:
        self.progress = RunProgress()


class PlainLines:
    """Beside the pipe, in which there is nothing but the result."""

    def __init__(self, out: TextIO = sys.stderr) -> None:
        self.progress = RunProgress()
        self._out = out

    def received(self, received: Received) -> None:
        pass

    def show(self, entries: list[Entry]) -> None:
        self._out.writelines(f"{plain(entry)}\n" for entry in entries)
        self._out.flush()

    def end(self) -> None:
        pass


class LiveProgress:
    """What has happened scrolls away above; below it, what is at work and one line that says how it
    stands."""

    def __init__(self, out: TextIO) -> None:
        self.progress = RunProgress()
        self._screen = Screen(out)
        self._timer: asyncio.TimerHandle | None = None

    def received(self, received: Received) -> None:
        if self._timer is None:
            self._frame()

    def show(self, entries: list[Entry]) -> None:
        if entries:
            columns = self._screen.columns
            self._draw("".join(f"{rendered(coloured(entry), columns)}\n" for entry in entries))

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._screen.clear()

    def _frame(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_FRAME_SECONDS, self._frame)
        self._draw("")

    def _draw(self, above: str) -> None:
        lines = live_lines(self.progress, datetime.now(UTC), self._screen.columns)
        self._screen.draw(above, Region(tuple(lines)))


def coloured(entry: Entry) -> Text:
    match entry:
        case PhaseBegan():
            return Text.assemble(("▸ ", "cyan"), (neutral_line(entry.title, 200), "bold"))
        case CallEnded():
            return _ended(entry.call)
        case LineShown(kind="warning"):
            return Text(f"  ⚠ {neutral(entry.text)}", "yellow")
        case LineShown():
            return Text(f"  · {neutral(entry.text)}")
        case NeedsYou():
            return Text(f"  ? {asked(entry.call)}", "bold yellow")
        case Noted():
            return Text(f"⚡ {entry.text}", "yellow")
        case RunOver():
            mark, colour = _MARKS[entry.run.status]
            return Text.assemble((f"{mark} ", colour), (summary(entry), "dim"))


_MARKS: dict[str, tuple[str, str]] = {
    "succeeded": ("✓", "green"),
    "failed": ("✗", "red"),
    "cancelled": ("■", "yellow"),
}


def _ended(call: CallShown) -> Text:
    label = neutral_line(label_of(call), LABEL)
    if call.reused:
        return Text(f"  ↺ {label} · reused", "dim")
    mark, colour = _MARKS[call.status]
    style = "dim" if call.status == "succeeded" else colour
    return Text.assemble((f"  {mark} ", colour), label, (f" · {outcome(call)}", style))


def live_lines(progress: RunProgress, now: datetime, columns: int) -> list[str]:
    at_work = progress.open
    shown = [_at_work(call, now) for call in at_work[:_OPEN_LINES]]
    if len(at_work) > _OPEN_LINES:
        shown.append(Text(f"  … and {len(at_work) - _OPEN_LINES} more", "dim"))
    return rendered(Group(*shown, status_line(progress, now)), columns).split("\n")


def _at_work(call: CallShown, now: datetime) -> Text:
    if call.started_at is None:
        how = "queued"
    else:
        how = duration((now - call.started_at).total_seconds())
    mark, colour = ("?", "bold yellow") if call.needs_you else ("◌", "cyan")
    label = neutral_line(label_of(call), LABEL)
    needs = " · needs you" if call.needs_you else ""
    return Text.assemble((f"  {mark} ", colour), label, (f" · {how}{needs}", "dim"))


def status_line(progress: RunProgress, now: datetime) -> Text:
    run = progress.run
    if run is None:
        return Text("…", "dim")
    words = [neutral_line(run.name, 40), state(run.status)]
    if progress.phase is not None:
        words.append(neutral_line(progress.phase, 40))
    if progress.calls:
        words.append(f"{progress.ended} of {len(progress.calls)} agents")
    if progress.reused:
        words.append(f"{progress.reused} reused")
    if cost := spent(progress.budget):
        words.append(cost)
    if run.started_at is not None:
        words.append(took(run, now))
    spin = _SPINNER[int(now.timestamp() * _TURNS_PER_SECOND) % len(_SPINNER)]
    return Text.assemble((f"{spin} ", "cyan"), (" · ".join(words), "dim"))
