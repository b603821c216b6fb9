"""What a watcher of a run is sent: pure functions from a page to frames, each with the position of a client
that has seen it. Phases, lines and calls are sent once per change; the run and its budget in their current
state."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

from msgspec.structs import replace

from holdfast.core.feed_events import EventName
from holdfast.core.ids import RunId
from holdfast.core.run_shapes import RunListed, call_shown, line_shown, run_data, run_listed
from holdfast.core.runs import Run, RunCall, RunLine, RunPhase
from holdfast.core.usage import Budget
from holdfast.feed.frames import Frame, data_of
from holdfast.store.run_feed_reads import SAID, RunPage, RunPlace

# Before the phases that the script plans, which count as part of version 0.
START = RunPlace(0, 0)

Event = tuple[EventName, object, RunPlace]


@dataclass(frozen=True, slots=True)
class RunFrames:
    """A page as frames, the same for everybody at its position."""

    run: Run
    frames: tuple[Frame, ...]
    after: RunPlace
    more: bool


def tell(before: RunPlace, page: RunPage) -> RunFrames:
    run = page.run
    events = [*_planned(before, run), *_missed(page)]
    frames = [Frame(name, encode(run.id, place), data_of(payload)) for name, payload, place in events]
    # Nothing is left of this version and of earlier ones.
    after = page.missed[-1][0] if page.more else RunPlace(run.version)
    return RunFrames(run, tuple(frames), after, page.more)


@dataclass(frozen=True, slots=True)
class Known:
    """What a watcher was last told about the run itself. The budget changes with every call and is sent
    separately."""

    run: RunListed
    budget: Budget


def known_of(run: Run) -> Known:
    return Known(replace(run_listed(run), budget=Budget()), run.budget)


def state_frames(known: Known | None, run: Run, place: RunPlace) -> list[Frame]:
    """What is new about the run itself for a watcher that knows this much. If anything is, the run must have
    been read in full."""
    event_id, now = encode(run.id, place), known_of(run)
    frames: list[Frame] = []
    if known is None or known.budget != now.budget:
        frames.append(Frame("budget", event_id, data_of(run.budget)))
    if known is None or known.run != now.run:
        # Last: a client that sees that the run is over need not read on.
        frames.append(Frame("run", event_id, data_of(run_data(run))))
    return frames


def _planned(before: RunPlace, run: Run) -> Iterator[Event]:
    for number, phase in enumerate(run.phases, 1):
        if (place := RunPlace(0, SAID, 0, number)) > before:
            yield "phase", phase, place


def _missed(page: RunPage) -> Iterator[Event]:
    planned = {phase.title: phase for phase in page.run.phases}
    for place, row in page.missed:
        match row:
            case RunLine(kind="phase"):
                phase = planned.get(row.text) or RunPhase(title=row.text)
                yield "phase", replace(phase, started_at=row.at), place
            case RunLine():
                yield "log", line_shown(row), place
            case RunCall():
                yield "call", call_shown(row), place


# --- ids ---


def encode(run_id: RunId, place: RunPlace) -> str:
    """Checked, not secret, like those of a chat's feed."""
    text = ".".join(map(str, place))
    return f"1.{text}.{_sum(run_id, text)}"


def decode(run_id: RunId, cursor: str) -> RunPlace | None:
    """None: it is not an id of this run's feed."""
    match = _CURSOR.fullmatch(cursor)
    if match is None or match["sum"] != _sum(run_id, match["text"]):
        return None
    return RunPlace(*map(int, match["text"].split(".")))


def _sum(run_id: RunId, text: str) -> str:
    return f"{crc32(text.encode(), crc32(run_id.encode())):08x}"


_CURSOR = re.compile(r"1\.(?P<text>[0-9]{1,18}\.[0-3](?:\.[0-9]{1,10}){2})\.(?P<sum>[0-9a-f]{8})")
