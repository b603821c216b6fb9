"""How far a run is, folded from its events. Pure: an event in, what is to be shown for good out."""

from dataclasses import dataclass

from holdfast.cli.events import Lost, Reconnected
from holdfast.cli.runs.events import RunEvent
from holdfast.core.run_shapes import CallShown, LineShown, RunData
from holdfast.core.runs import OVER, RunPhase
from holdfast.core.usage import Budget

_OPEN = ("pending", "running")


@dataclass(frozen=True, slots=True)
class PhaseBegan:
    title: str


@dataclass(frozen=True, slots=True)
class CallEnded:
    call: CallShown


@dataclass(frozen=True, slots=True)
class NeedsYou:
    """An agent waits for a person, or somebody below it does."""

    call: CallShown


@dataclass(frozen=True, slots=True)
class Noted:
    """About the connection."""

    text: str


@dataclass(frozen=True, slots=True)
class RunOver:
    """The run is; so many calls it had, so many of them reused."""

    run: RunData
    calls: int
    reused: int


Entry = PhaseBegan | CallEnded | LineShown | NeedsYou | Noted | RunOver


class RunProgress:
    def __init__(self) -> None:
        self.run: RunData | None = None
        self.budget = Budget()
        self.phase: str | None = None
        self.calls: dict[str, CallShown] = {}

    @property
    def open(self) -> list[CallShown]:
        """Those that are at work, or wait for a place; the longest first."""
        return [call for call in self.calls.values() if call.status in _OPEN]

    @property
    def ended(self) -> int:
        return len(self.calls) - len(self.open)

    @property
    def reused(self) -> int:
        return sum(call.reused for call in self.calls.values())

    def apply(self, event: RunEvent) -> list[Entry]:
        match event:
            case RunData():
                self.run, self.budget = event, event.budget
                if event.status in OVER:
                    return [RunOver(event, len(self.calls), self.reused)]
            case Budget():
                self.budget = event
            case RunPhase(started_at=started) if started is not None:
                self.phase = event.title
                return [PhaseBegan(event.title)]
            case LineShown():
                return [event]
            case CallShown():
                return self._called(event)
            case Lost():
                return [Noted("Connection lost. Reconnecting…")]
            case Reconnected():
                return [Noted("Reconnected.")]
            case _:
                pass
        return []

    def _called(self, call: CallShown) -> list[Entry]:
        """An end is told once, and that it needs somebody once for as long as it does."""
        known = self.calls.get(call.id)
        self.calls[call.id] = call
        if call.status in _OPEN:
            asked = known is not None and known.needs_you
            return [NeedsYou(call)] if call.needs_you and not asked else []
        return [CallEnded(call)] if known is None or known.status in _OPEN else []


def label_of(call: CallShown) -> str:
    """What it is called; without a label, by its place in the script."""
    return call.label or f"{call.kind} {call.id.rpartition('.')[2]}"
